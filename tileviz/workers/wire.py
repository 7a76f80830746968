"""Frames over a pipe: a length, a JSON header, then the raw bytes of the arrays in order.

Never pickle: one side has compiled and run unknown code, and what it sends is only data. Both
sides check every size before they allocate.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

# NumPy is loaded when a frame is sent: a worker can then be started before it is.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]
else:
    Array = Any

Header = dict[str, Any]

MAX_HEADER_BYTES = 1 << 22
MAX_ARRAYS = 4096
MAX_ARRAY_BYTES = 1 << 30

_MAX_DIMENSIONS = 8
_LENGTH = struct.Struct("<I")
_CODES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")


@lru_cache(maxsize=1)
def _dtypes() -> dict[str, np.dtype[Any]]:
    import numpy as np

    return {code: np.dtype(code) for code in _CODES}


class WireError(ValueError):
    """Bytes that are no frame, or a frame over the limits."""


class Reader(Protocol):
    """What frames are read from: a blocking binary stream."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Read up to ``len(buffer)`` bytes; 0 at the end."""


class Writer(Protocol):
    """What frames are written to: a blocking binary stream."""

    def write(self, data: bytes | memoryview, /) -> int | None:
        """Write, and return the number of bytes written."""

    def flush(self) -> None:
        """Push out what is buffered."""


def send(
    stream: Writer,
    header: Mapping[str, Any],
    arrays: Sequence[Array] = (),
    *,
    most: int = MAX_ARRAY_BYTES,
) -> None:
    """Write one frame.

    Args:
        stream: A binary stream.
        header: JSON data; the key ``arrays`` is taken.
        arrays: Any shapes; dtypes bool, (u)int8 to (u)int64, float16 to float64.
        most: Bytes that all arrays together may take.

    Raises:
        WireError: Over the limits, or an array of another dtype.

    Example:
        >>> import io, numpy as np
        >>> pipe = io.BytesIO()
        >>> send(pipe, {"op": "double"}, [np.arange(3)])
        >>> _ = pipe.seek(0)
        >>> receive(pipe)
        ({'op': 'double'}, [array([0, 1, 2])])
    """
    import numpy as np

    packed = [np.asarray(array, order="C") for array in arrays]
    for array in packed:
        if array.dtype.str not in _CODES:
            raise WireError(f"arrays of {array.dtype} cannot be sent")
    if len(packed) > MAX_ARRAYS or sum(a.nbytes for a in packed) > most:
        raise WireError(f"more than {MAX_ARRAYS} arrays or {most >> 20} MiB to send")
    described = [[array.dtype.str, list(array.shape)] for array in packed]
    text = json.dumps({**header, "arrays": described}, ensure_ascii=False)
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) > MAX_HEADER_BYTES:
        raise WireError(f"a header of {len(encoded)} bytes; at most {MAX_HEADER_BYTES}")
    _write(stream, _LENGTH.pack(len(encoded)) + encoded)
    for array in packed:
        if array.size:
            _write(stream, array.reshape(-1).view(np.uint8).data)
    stream.flush()


def receive(stream: Reader, *, most: int = MAX_ARRAY_BYTES) -> tuple[Header, list[Array]]:
    """Read one frame; the arrays are writable.

    Args:
        stream: A binary stream.
        most: Bytes that all arrays together may take.

    Raises:
        EOFError: The stream ended.
        WireError: What came is no frame, or over the limits.
    """
    import numpy as np

    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    if not 2 <= length <= MAX_HEADER_BYTES:
        raise WireError(f"a header of {length} bytes; at most {MAX_HEADER_BYTES}")
    try:
        header = json.loads(_exactly(stream, length))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise WireError(f"the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise WireError("the header is no object")
    described = _described(header.pop("arrays", None), most)
    arrays: list[Array] = []
    for kind, shape in described:
        array: Array = np.empty(shape, kind)
        if array.size:
            _fill(stream, array.reshape(-1).view(np.uint8).data)
        arrays.append(array)
    return header, arrays


def _described(described: object, most: int) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
    """Check the list of dtypes and shapes before anything is allocated."""
    if not isinstance(described, list) or len(described) > MAX_ARRAYS:
        raise WireError(f"the header lists no arrays, or more than {MAX_ARRAYS}")
    found, total = [], 0
    for item in described:
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[1], list)):
            raise WireError("an array is described by a dtype and a shape")
        kind = _dtypes().get(item[0]) if isinstance(item[0], str) else None
        if kind is None:
            raise WireError("an array of a dtype that cannot be sent")
        if len(item[1]) > _MAX_DIMENSIONS or not all(
            type(extent) is int and 0 <= extent <= most for extent in item[1]
        ):
            raise WireError("an array with an impossible shape")
        size = kind.itemsize
        for extent in item[1]:
            size *= extent
        total += size
        if total > most:
            raise WireError(f"arrays of more than {most >> 20} MiB")
        found.append((kind, tuple(item[1])))
    return found


def _write(stream: Writer, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while len(view):
        view = view[stream.write(view) or 0 :]


def _exactly(stream: Reader, count: int) -> bytes:
    buffer = bytearray(count)
    _fill(stream, memoryview(buffer))
    return bytes(buffer)


def _fill(stream: Reader, view: memoryview) -> None:
    while len(view):
        count = stream.readinto(view)
        if not count:
            raise EOFError
        view = view[count:]
