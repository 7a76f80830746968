"""What every compile gets in memory: a prelude before line 1, and the half-precision headers.

NVRTC has no standard headers and no search path. The prelude defines what people expect without
any ``#include``; passed by ``--pre-include``, it leaves the source's line numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tileviz.cuda import library
from tileviz.cuda.diagnostics import CompileError

PRELUDE_NAME = "tileviz_prelude.h"

# __builtin_bit_cast is a constant expression, unlike __int_as_float.
PRELUDE = """\
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fffffff)
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
"""

# Their useful content is built into NVRTC or stands in the prelude.
EMPTY_HEADERS: tuple[str, ...] = (
    "cfloat",
    "climits",
    "cmath",
    "cstddef",
    "cstdint",
    "cuda.h",
    "cuda_runtime.h",
    "device_launch_parameters.h",
    "float.h",
    "limits.h",
    "math.h",
    "stddef.h",
    "stdint.h",
    "vector_types.h",
)

_HALF_HEADERS: tuple[str, ...] = ("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h")
_HALF_WHEEL = "pip install nvidia-cuda-runtime-cu12==12.9.79"
_HALF_PARTS: tuple[str, ...] = ("cuda_fp16.hpp", "cuda_bf16.hpp", "cuda_fp8.hpp")

ALLOWED_INCLUDES: frozenset[str] = frozenset(EMPTY_HEADERS + _HALF_HEADERS)


def _include_folders() -> Iterator[Path]:
    """Where the half-precision headers may be: their wheel, or beside the compiler."""
    spec = find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(root, "cuda_runtime", "include")
        yield Path(root, "cu13", "include")
    found = library.find()
    if found is not None:
        folder = found.resolve().parent
        yield folder.parent / "include"
        yield folder.parent.parent / "cuda_runtime" / "include"
        yield folder.parent.parent / "include"


@lru_cache(maxsize=1)
def half_headers() -> dict[str, bytes]:
    """Return the half-precision headers by name, or nothing where there are none.

    Read once and kept: a sandboxed worker cannot open files later.
    """
    for folder in _include_folders():
        if (folder / "cuda_fp16.h").is_file():
            found = ((name, folder / name) for name in _HALF_HEADERS + _HALF_PARTS)
            return {name: path.read_bytes() for name, path in found if path.is_file()}
    return {}


def headers_for(source: str) -> dict[str, bytes]:
    """Return the in-memory headers that ``source`` may include, the prelude first.

    Raises:
        CompileError: A half-precision header is wanted, and there is none on this machine.

    Example:
        >>> list(headers_for("__global__ void k() {}"))
        ['tileviz_prelude.h']
    """
    headers = {PRELUDE_NAME: PRELUDE.encode()}
    if "include" in source:
        headers.update(dict.fromkeys(EMPTY_HEADERS, b"\n"))
        wanted = [name for name in _HALF_HEADERS if name in source]
        if wanted and not half_headers():
            message = f"{wanted[0]} is not on this machine; it comes with: {_HALF_WHEEL}"
            raise CompileError(message)
        if wanted:
            headers.update(half_headers())
    return headers
