"""Requests to the emulator's worker and its answers, as a JSON header and arrays.

What comes back was made by a process that compiled and ran unknown code: every field is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.diagnostics import Resources
from tileviz.cuda.kernel import Array, Buffer, Scalar
from tileviz.dtypes import dtype
from tileviz.emulator.emulation import StaticAccess, Statistics
from tileviz.emulator.limits import Limits
from tileviz.emulator.problems import Coordinates, Kind, Problem
from tileviz.memory import LANES, Accesses
from tileviz.workers.wire import Header

EMULATED_ARCH = "compute_80"

_MAX_TEXT = 1000


@dataclass(frozen=True)
class Request:
    """One run: the text, the launch, and what to observe.

    Attributes:
        source: CUDA C++ text.
        entry: Name of the kernel.
        grid: Blocks in x, y, z.
        block: Threads in x, y, z.
        parameters: Buffers and scalars in parameter order.
        shared_bytes: Dynamic shared memory per block.
        resource_arch: Also compile to machine code for this architecture, or None.
        limits: What the run may use.
        compile_seconds: Wall-clock seconds for each compile.
        trace: Whether to record accesses.
        races: Whether to check shared memory for races.
        blocks: Run these blocks alone; None for all.
    """

    source: str
    entry: str
    grid: Coordinates
    block: Coordinates
    parameters: tuple[Buffer | Scalar, ...]
    shared_bytes: int = 0
    resource_arch: str | None = "sm_80"
    limits: Limits = field(default_factory=Limits)
    compile_seconds: float = 30.0
    trace: bool = True
    races: bool = True
    blocks: tuple[Coordinates, ...] | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """What the worker found.

    Attributes:
        outputs: Flat content of every ``out`` and ``inout`` buffer; empty when nothing ran.
        accesses: Measured accesses of the traced blocks.
        problems: What went wrong.
        traced_blocks: Blocks traced; None for all.
        static: Memory instructions in the PTX.
        statistics: What was executed, or None when nothing ran.
        resources: Of the machine code, or None.
        compiler: Name and version of the compiler.
        trace_full: Whether the trace reached its limit.
    """

    outputs: Mapping[str, Array] = field(default_factory=dict)
    accesses: tuple[Accesses, ...] = ()
    problems: tuple[Problem, ...] = ()
    traced_blocks: tuple[Coordinates, ...] | None = None
    static: tuple[StaticAccess, ...] = ()
    statistics: Statistics | None = None
    resources: Resources | None = None
    compiler: str = ""
    trace_full: bool = False


@dataclass(frozen=True)
class Texts:
    """What the compiler made of a source.

    Attributes:
        ptx: The PTX, "" when it does not compile.
        log: Warnings of that compile.
        image: Machine code, b"" when none was asked for or it failed.
        image_log: Log of that compile, with what ptxas reports.
        resources: Registers, shared memory and spills of the machine code.
        problems: Why there is no PTX or no machine code.
        compiler: Name and version of the compiler.
    """

    ptx: str = ""
    log: str = ""
    image: bytes = b""
    image_log: str = ""
    resources: Resources | None = None
    problems: tuple[Problem, ...] = ()
    compiler: str = ""


def pack_texts(texts: Texts) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays: PTX, log, machine code and its log as bytes."""
    parts = [texts.ptx.encode(), texts.log.encode(), texts.image, texts.image_log.encode()]
    header = {
        "problems": [asdict(problem) for problem in texts.problems],
        "resources": None if texts.resources is None else asdict(texts.resources),
        "compiler": texts.compiler,
    }
    return header, [np.frombuffer(part, np.uint8) for part in parts]


def unpack_texts(header: Header, arrays: Sequence[Array]) -> Texts:
    """Return the texts.

    Raises:
        ValueError, TypeError, KeyError: It is not what was asked for.
    """
    ptx, log, image, image_log = (array.tobytes() for array in arrays)
    return Texts(
        ptx.decode(),
        log.decode(),
        image,
        image_log.decode(),
        _unpack_resources(header["resources"]),
        tuple(_unpack_problem(item) for item in header["problems"]),
        str(header["compiler"])[:_MAX_TEXT],
    )


def pack_request(
    request: Request, arrays: Mapping[str, Array]
) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays; only inputs are sent, the emulator poisons the outputs."""
    header = {**vars(request), "op": "run", "limits": asdict(request.limits)}
    header["parameters"] = [
        {"is": "buffer" if isinstance(item, Buffer) else "scalar", **asdict(item)}
        for item in request.parameters
    ]
    sent = [arrays[b.name] for b in _buffers(request.parameters) if b.role != "out"]
    return header, sent


def unpack_request(header: Header, arrays: Sequence[Array]) -> tuple[Request, dict[str, Array]]:
    """Return the request and the flat content of every input, by name."""
    parameters: list[Buffer | Scalar] = []
    for item in header["parameters"]:
        if item["is"] == "scalar":
            parameters.append(Scalar(item["name"], item["dtype"], item["value"]))
        else:
            shape = tuple(item["shape"])
            parameters.append(Buffer(item["name"], item["dtype"], shape, item["role"]))
    request = Request(
        source=header["source"],
        entry=header["entry"],
        grid=_coordinates(header["grid"]),
        block=_coordinates(header["block"]),
        parameters=tuple(parameters),
        shared_bytes=header["shared_bytes"],
        resource_arch=header["resource_arch"],
        limits=Limits(**header["limits"]),
        compile_seconds=header["compile_seconds"],
        trace=header["trace"],
        races=header["races"],
        blocks=_blocks(header["blocks"]),
    )
    inputs = [buffer.name for buffer in _buffers(parameters) if buffer.role != "out"]
    return request, dict(zip(inputs, arrays, strict=True))


def pack_answer(answer: Answer) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays: the outputs, then addresses, active lanes and warps in one each."""
    kinds = [
        [a.space, a.op, a.bytes, a.line, a.buffer[:_MAX_TEXT], a.executions]
        for a in answer.accesses
    ]
    addresses = [a.addresses for a in answer.accesses] or [np.empty((0, LANES), np.int64)]
    active = [np.packbits(a.active, axis=1) for a in answer.accesses]
    # A measurement always tells its warps.
    warps = [a.warps for a in answer.accesses if a.warps is not None]
    header = {
        "outputs": list(answer.outputs),
        "accesses": kinds,
        "problems": [asdict(problem) for problem in answer.problems],
        "traced_blocks": answer.traced_blocks,
        "static": [list(vars(item).values()) for item in answer.static],
        "statistics": None if answer.statistics is None else asdict(answer.statistics),
        "resources": None if answer.resources is None else asdict(answer.resources),
        "compiler": answer.compiler,
        "trace_full": answer.trace_full,
    }
    packed = np.concatenate(active) if active else np.empty((0, LANES // 8), np.uint8)
    where = np.concatenate([*warps, np.empty(0, np.int64)])
    return header, [*answer.outputs.values(), np.concatenate(addresses), packed, where]


def unpack_answer(
    header: Header, arrays: Sequence[Array], parameters: Sequence[Buffer | Scalar]
) -> Answer:
    """Return the answer to a request with these parameters.

    Raises:
        ValueError, TypeError, KeyError, IndexError: It is not what was asked for.
    """
    *outputs, addresses, active, warps = arrays
    expected = {b.name: b for b in _buffers(parameters) if b.role != "in"}
    names = header["outputs"]
    if names and names != list(expected):
        raise ValueError("the outputs are not those of the kernel")
    for name, array in zip(names, outputs, strict=True):
        kind = dtype(expected[name].dtype)
        if array.dtype != kind.numpy or array.shape != (expected[name].count * kind.lanes,):
            raise ValueError("an output of another size or type")
    return Answer(
        outputs=dict(zip(names, outputs, strict=True)),
        accesses=_unpack_accesses(header["accesses"], addresses, active, warps),
        problems=tuple(_unpack_problem(item) for item in header["problems"]),
        traced_blocks=_blocks(header["traced_blocks"]),
        static=tuple(_unpack_static(item) for item in header["static"]),
        statistics=_unpack_statistics(header["statistics"]),
        resources=_unpack_resources(header["resources"]),
        compiler=str(header["compiler"])[:_MAX_TEXT],
        trace_full=bool(header["trace_full"]),
    )


def _unpack_accesses(
    kinds: Sequence[Sequence[Any]], addresses: Array, active: Array, warps: Array
) -> tuple[Accesses, ...]:
    total = sum(_whole(kind[5]) for kind in kinds)
    if addresses.shape != (total, LANES) or active.shape != (total, LANES // 8):
        raise ValueError("accesses of another count")
    if warps.shape != (total,) or warps.dtype != np.int64 or int(warps.min(initial=0)) < 0:
        raise ValueError("warps of another count")
    where = addresses.astype(np.int64, copy=False)
    who = warps.astype(np.int64, copy=False)
    mask: NDArray[np.bool_] = np.unpackbits(active.view(np.uint8), axis=1).view(np.bool_)
    found, start = [], 0
    for space, op, width, line, buffer, count in kinds:
        if space not in ("shared", "global") or width not in (1, 2, 4, 8, 16):
            raise ValueError("accesses of an unknown kind")
        part = slice(start, start + count)
        found.append(
            Accesses(
                where[part],
                mask[part],
                space,
                str(op)[:_MAX_TEXT],
                width,
                None if line is None else _whole(line),
                buffer=str(buffer)[:_MAX_TEXT],
                warps=who[part],
            )
        )
        start += count
    return tuple(found)


def _unpack_problem(item: Mapping[str, Any]) -> Problem:
    if item["kind"] not in get_args(Kind):
        raise ValueError("a problem of an unknown kind")
    return Problem(
        cast(Kind, item["kind"]),
        " ".join(str(item["message"]).split())[:_MAX_TEXT],
        None if item["line"] is None else _whole(item["line"]),
        None if item["block"] is None else _coordinates(item["block"]),
        None if item["thread"] is None else _coordinates(item["thread"]),
        None if item["buffer"] is None else str(item["buffer"])[:_MAX_TEXT],
    )


def _unpack_static(item: Sequence[Any]) -> StaticAccess:
    line, space, op, width, count = item
    return StaticAccess(
        None if line is None else _whole(line), str(space), str(op), _whole(width), _whole(count)
    )


def _unpack_resources(item: Mapping[str, Any] | None) -> Resources | None:
    if item is None:
        return None
    return Resources(
        _whole(item["registers"]), _whole(item["shared_bytes"]), _whole(item["spill_bytes"])
    )


def _unpack_statistics(item: Mapping[str, Any] | None) -> Statistics | None:
    if item is None:
        return None
    return Statistics(
        _whole(item["thread_instructions"]),
        _whole(item["warp_instructions"]),
        float(item["seconds"]),
        float(item["parse_seconds"]),
    )


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"not a count: {value!r:.40}")
    return value


def _coordinates(value: Sequence[Any]) -> Coordinates:
    x, y, z = value
    return _whole(x), _whole(y), _whole(z)


def _blocks(value: Sequence[Sequence[Any]] | None) -> tuple[Coordinates, ...] | None:
    return None if value is None else tuple(_coordinates(block) for block in value)


def _buffers(parameters: Sequence[Buffer | Scalar]) -> list[Buffer]:
    return [item for item in parameters if isinstance(item, Buffer)]
