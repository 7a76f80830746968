"""Kernel arguments and module variables, allocated in global memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.dtypes import dtype
from tileviz.emulator.errors import LaunchError
from tileviz.emulator.layout import Layout, plain_name
from tileviz.emulator.limits import Limits
from tileviz.emulator.memory import GlobalMemory, aligned
from tileviz.emulator.numerics import float_to_bfloat
from tileviz.emulator.problems import Problem, Stop
from tileviz.emulator.ptx import Function, Module, Parameter, Variable

Array = NDArray[Any]


def global_memory(
    function: Function,
    module: Module,
    layout: Layout,
    parameters: Sequence[Buffer | Scalar],
    arrays: Mapping[str, Array],
    limits: Limits,
) -> tuple[GlobalMemory, bytes]:
    """Allocate buffers and module variables; return them and the kernel's parameter block.

    Raises:
        LaunchError: The arguments do not fit the kernel's parameters.
        Stop: The buffers are over the limit.
    """
    if len(parameters) != len(function.parameters):
        raise LaunchError(
            f"{function.name} takes {len(function.parameters)} parameters, {len(parameters)} given"
        )
    total = sum(_buffer_bytes(p) for p in parameters if isinstance(p, Buffer))
    total += sum(v.size for v in module.variables.values())
    if total > limits.arena_bytes:
        message = f"buffers of {total:,} bytes, over the limit of {limits.arena_bytes:,}"
        raise Stop(Problem("limit", message))
    memory = GlobalMemory()
    pending = [v for v in module.variables.values() if v.space in ("global", "const")]
    needed = _closure({v.name: v for v in pending}, layout.used)
    for variable in needed:
        content = aligned(-(-variable.size // 16) * 16, np.uint8, 0)[: variable.size]
        content[: len(variable.initial)] = np.frombuffer(variable.initial, np.uint8)
        buffer = memory.add(plain_name(variable.name), variable.size, content)
        layout.symbols[variable.name] = (variable.space, buffer.address)
    for variable in needed:
        _relocate(variable, memory, layout)
    block = bytearray(sum(p.size for p in function.parameters) + 64)
    for given, formal in zip(parameters, function.parameters, strict=True):
        value = _argument(given, formal, memory, arrays)
        block[formal.offset : formal.offset + formal.size] = value
        layout.symbols[formal.name] = ("param", formal.offset)
    return memory, bytes(block)


def _closure(variables: dict[str, Variable], names: set[str]) -> list[Variable]:
    """Return the variables that are named, and those whose address their initialisers need."""
    found: dict[str, Variable] = {}
    work = [name for name in variables if name in names]
    while work:
        name = work.pop()
        if name in variables and name not in found:
            found[name] = variables[name]
            work.extend(variables[name].references.values())
    return list(found.values())


def _relocate(variable: Variable, memory: GlobalMemory, layout: Layout) -> None:
    """Put addresses into an initialiser that names other variables."""
    if not variable.references:
        return
    address = layout.symbols[variable.name][1]
    buffer = next(b for b in memory.buffers if b.address == address)
    buffer.own()
    for offset, name in variable.references.items():
        if name not in layout.symbols:
            raise LaunchError(f"the initialiser of {variable.name[:60]} names {name[:60]}")
        buffer.data[offset : offset + 8] = np.frombuffer(
            layout.symbols[name][1].to_bytes(8, "little"), np.uint8
        )


def _buffer_bytes(buffer: Buffer) -> int:
    kind = dtype(buffer.dtype)
    return buffer.count * kind.lanes * kind.numpy.itemsize


def _argument(
    given: Buffer | Scalar, formal: Parameter, memory: GlobalMemory, arrays: Mapping[str, Array]
) -> bytes:
    kind = dtype(given.dtype)
    if isinstance(given, Scalar):
        return _scalar(given, formal)
    size = _buffer_bytes(given)
    if formal.size != 8:
        raise LaunchError(f"{given.name} is a buffer, but the kernel's parameter is no pointer")
    content = None
    if given.role != "out":
        array = arrays.get(given.name)
        if array is None:
            raise LaunchError(f"no array for the buffer {given.name}")
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if len(content) != size:
            raise LaunchError(
                f"the array for {given.name} has {len(content)} bytes; {given.count} x "
                f"{kind.name} need {size}"
            )
    buffer = memory.add(given.name, size, content)
    if given.role == "inout":
        buffer.own()
    return buffer.address.to_bytes(8, "little")


def _scalar(given: Scalar, formal: Parameter) -> bytes:
    kind = dtype(given.dtype)
    if kind.lanes != 1 or kind.bytes != formal.size:
        raise LaunchError(
            f"{given.name} is {kind.name}, but the kernel's parameter has {formal.size} bytes"
        )
    if kind.name == "bfloat16" and isinstance(given.value, float):
        return float_to_bfloat(np.array([given.value], np.float32)).tobytes()
    try:
        value = np.array(given.value).astype(kind.numpy, casting="unsafe")
        whole = kind.numpy.kind in "iu" and kind.name != "bool"
        if whole and int(value) != given.value:
            raise OverflowError
    except (OverflowError, ValueError, TypeError) as error:
        raise LaunchError(f"{given.name} = {given.value!r:.40} is no {kind.name}") from error
    return value.tobytes()
