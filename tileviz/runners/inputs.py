"""Contents of a kernel's buffers before a run: seeded inputs and poisoned outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.kernel import Array, Buffer, Kernel
from tileviz.dtypes import DType, dtype
from tileviz.errors import DesignError
from tileviz.runners.launch import MAX_BUFFER_BYTES, check_launch

Pattern = Literal["random", "index", "adversarial"]

POISON = 0xFF

# Largest n such that every integer up to n is exact.
_EXACT = {"float16": 2048, "float32": 1 << 24, "float64": 1 << 53, "bfloat16": 256}
_NAN_MASK = {"float8_e4m3fn": (0x7F, 0x7F), "float8_e5m2": (0x7C, 0x7C)}
# Random bits become a value between 2^-7 and 2: any sign and mantissa, one of eight exponents.
# (bits kept, bits set)
_FINITE = {
    "float16": (0x9FFF, 0x2000),
    "bfloat16": (0x83FF, 0x3C00),
    "float32": (0x83FF_FFFF, 0x3C00_0000),
    "float64": (0x807F_FFFF_FFFF_FFFF, 0x3F80_0000_0000_0000),
}


def make_arrays(
    kernel: Kernel,
    *,
    seed: int = 0,
    pattern: Pattern = "random",
    given: Mapping[str, Array] | None = None,
    memory_bytes: int = MAX_BUFFER_BYTES,
) -> dict[str, Array]:
    """Return the flat content of every buffer of ``kernel``, by name.

    Args:
        kernel: Only its parameters are looked at.
        seed: The same seed gives the same content, on every machine.
        pattern: ``random``: floats of magnitude 2^-7 to 2, any integer; ``index``: element ``i``
            holds ``i``, so that a result tells where it came from; ``adversarial``: infinities,
            NaN, denormals, signed zeros and the extreme integers, shuffled.
        given: Contents for some inputs, of any shape with the right number of elements.
        memory_bytes: Bytes that all buffers together may take.

    Raises:
        DesignError: The launch is over the limits, or a given array does not fit.

    Example:
        >>> kernel = Kernel("", "k", (1, 1, 1), (32, 1, 1), (
        ...     Buffer("x", "float32", (2, 2), "in"), Buffer("y", "uint8", (3,), "out")))
        >>> arrays = make_arrays(kernel, pattern="index")
        >>> arrays["x"].tolist(), arrays["y"].tolist()
        ([0.0, 1.0, 2.0, 3.0], [255, 255, 255])
    """
    check_launch(kernel, memory_bytes=memory_bytes)
    if not 0 <= seed < 1 << 63:
        raise DesignError("seed", "must be between 0 and 2^63 - 1", seed)
    given = given or {}
    unknown = set(given) - {buffer.name for buffer in kernel.buffers if buffer.role != "out"}
    if unknown:
        raise DesignError("input", f"no such input buffer: {sorted(unknown)[0]}", sorted(unknown))
    arrays: dict[str, Array] = {}
    for position, buffer in enumerate(kernel.buffers):
        if buffer.role == "out":
            arrays[buffer.name] = poisoned(buffer)
        elif buffer.name in given:
            arrays[buffer.name] = _fitted(buffer, given[buffer.name])
        else:
            random = np.random.default_rng([seed, position])
            arrays[buffer.name] = make_array(buffer, random, pattern)
    return arrays


def poisoned(buffer: Buffer) -> Array:
    """Return the content of an output before a run: all bytes 0xFF, a NaN in every float type.

    It cannot be written to, and takes no memory: runners only need to know that it is so.
    """
    kind = dtype(buffer.dtype)
    one = np.frombuffer(bytes([POISON]) * kind.numpy.itemsize, kind.numpy)
    return np.broadcast_to(one, (buffer.count * kind.lanes,))


def make_array(buffer: Buffer, random: np.random.Generator, pattern: Pattern) -> Array:
    """Return one input's flat content in the carrier dtype."""
    made = _made(buffer, random, pattern)
    return _positive(made) if buffer.positive else made


def _positive(made: Array) -> Array:
    """Return the same content with nothing zero, negative or NaN."""
    if made.dtype.kind == "f":
        size: Array = np.abs(np.nan_to_num(made)) + made.dtype.type(0.5)
        return size
    # Bit patterns of a carrier: without its sign bit, and never zero.
    sign = 1 << (8 * made.dtype.itemsize - 1)
    bits: Array = (made.astype(np.uint64) & np.uint64(sign - 1)) | np.uint64(1)
    return bits.astype(made.dtype)


def _made(buffer: Buffer, random: np.random.Generator, pattern: Pattern) -> Array:
    kind = dtype(buffer.dtype)
    count = buffer.count * kind.lanes
    base = _base_name(kind)
    if pattern == "index":
        return _indices(base, kind, buffer.count)
    if pattern == "adversarial":
        special = _special(base, kind)
        shuffled: Array = random.permutation(np.resize(special, count))
        return shuffled
    return _random(base, kind, count, random)


def _base_name(kind: DType) -> str:
    """Return the name of one lane's type: ``bfloat16`` for ``bfloat16x2``."""
    name, _, lanes = kind.name.rpartition("x")
    return name if name and lanes.isdigit() else kind.name


def _random(base: str, kind: DType, count: int, random: np.random.Generator) -> Array:
    raw = _random_bits(kind, count, random)
    if base == "bool":
        raw &= np.uint8(1)
    elif base in _FINITE:
        kept, fixed = _FINITE[base]
        raw &= raw.dtype.type(kept)
        raw |= raw.dtype.type(fixed)
    elif base in _NAN_MASK:
        mask, value = _NAN_MASK[base]
        raw[(raw & mask) == value] = 0
    return raw.view(kind.numpy)


def _random_bits(
    kind: DType, count: int, random: np.random.Generator
) -> NDArray[np.unsignedinteger[Any]]:
    """Return random unsigned integers as wide as a type's carrier, eight bytes drawn at once."""
    size = count * kind.numpy.itemsize
    words = random.integers(0, 1 << 64, -(-size // 8), np.uint64)
    return words.view(np.uint8)[:size].view(f"u{kind.numpy.itemsize}")


def _indices(base: str, kind: DType, count: int) -> Array:
    if base == "uint128":
        lanes = np.zeros((count * kind.lanes // 2, 2), np.uint64)
        lanes[:, 0] = np.arange(len(lanes), dtype=np.uint64)
        return lanes.reshape(-1)
    values = np.arange(count * kind.lanes, dtype=np.int64)
    if base == "bool":
        return (values % 2).astype(np.uint8)
    if base in _EXACT:
        exact = values % _EXACT[base]
        if base == "bfloat16":
            return _to_bfloat16(exact.astype(np.float32))
        return exact.astype(kind.numpy)
    return values.astype(kind.numpy)


def _special(base: str, kind: DType) -> Array:
    if base == "bool":
        return np.array([0, 1], np.uint8)
    if base == "bfloat16":
        bits = [0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 1, 0x8001, 0x7F7F, 0xFF7F]
        return np.array(bits, np.uint16)
    if kind.numpy.kind == "f":
        facts = np.finfo(kind.numpy.name)
        values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, facts.max, facts.min]
        values += [facts.tiny, facts.smallest_subnormal, -facts.smallest_subnormal, facts.eps]
        return np.array(values, kind.numpy)
    width = kind.numpy.itemsize * 8
    bits = [0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    bits += [int("01" * (width // 2), 2), int("10" * (width // 2), 2)]
    return np.array(bits, f"u{kind.numpy.itemsize}").view(kind.numpy)


def _to_bfloat16(values: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Array:
    """Round finite float32 to bfloat16, to nearest even, as bits."""
    bits = values.view(np.uint32).astype(np.uint64)
    rounded: Array = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded


def _fitted(buffer: Buffer, array: Array) -> Array:
    kind = dtype(buffer.dtype)
    flat: Array = np.asarray(array).reshape(-1)
    wanted = buffer.count * kind.lanes
    if flat.dtype != kind.numpy:
        message = f"{buffer.name} holds {kind.name}: needs {kind.numpy.name}, not {flat.dtype}"
        raise DesignError("input", message, str(flat.dtype))
    if flat.size != wanted:
        message = f"{buffer.name} has {wanted} elements, not {flat.size}"
        raise DesignError("input", message, flat.size)
    copied: Array = flat.copy()
    return copied
