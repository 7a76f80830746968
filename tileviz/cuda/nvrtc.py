"""CUDA C++ to PTX or to a cubin, by NVIDIA's NVRTC library bound with ctypes.

One compile path serves the emulator, the resource report and the GPU. A hostile text can make the
compiler loop or eat memory: outside of tests, call these from a worker process only.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tileviz.cuda.diagnostics import (
    CompileError,
    Diagnostic,
    NvrtcNotFound,
    Resources,
    parse_resources,
)
from tileviz.cuda.includes import check_source
from tileviz.cuda.library import find, load, missing_reason
from tileviz.cuda.prelude import PRELUDE_NAME, headers_for

__all__ = [
    "CompileError",
    "Compiled",
    "Cubin",
    "Diagnostic",
    "NvrtcNotFound",
    "Resources",
    "architectures",
    "compile_cubin",
    "compile_ptx",
    "find",
    "missing_reason",
    "version",
]

_DEFAULT_OPTIONS = ("--std=c++17", "-lineinfo", f"--pre-include={PRELUDE_NAME}")


@dataclass(frozen=True)
class Compiled:
    """PTX text, the compiler's log and the seconds it took."""

    ptx: str
    log: str
    seconds: float


@dataclass(frozen=True)
class Cubin:
    """Machine code for one architecture.

    Attributes:
        image: The ELF image, as a driver loads it.
        log: The compiler's log, with what ptxas says of each entry.
        resources: Registers, shared memory and spills of the entry asked for.
        seconds: Time the compile took.
    """

    image: bytes
    log: str
    resources: Resources
    seconds: float


def version() -> tuple[int, int]:
    """Return the NVRTC version as (major, minor).

    Raises:
        NvrtcNotFound: No usable library.
    """
    library, major, minor = load(), ctypes.c_int(), ctypes.c_int()
    _check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def architectures() -> tuple[int, ...]:
    """Return the compute capabilities this NVRTC knows, ascending: ``(50, 52, ..., 121)``.

    Raises:
        NvrtcNotFound: No usable library.
    """
    library, count = load(), ctypes.c_int()
    _check(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _check(library, library.nvrtcGetSupportedArchs(numbers))
    return tuple(sorted(numbers))


def compile_ptx(
    source: str,
    *,
    name: str = "kernel.cu",
    arch: str = "compute_80",
    options: Sequence[str] = (),
) -> Compiled:
    """Compile CUDA C++ to PTX, with source lines.

    Args:
        source: The CUDA text.
        name: The file name in messages and in the PTX's ``.file``.
        arch: A virtual architecture, ``compute_80``.
        options: Further NVRTC options, such as ``--fmad=false``.

    Raises:
        DesignError: The text includes what it must not (see ``includes.check_source``).
        CompileError: It does not compile.
        NvrtcNotFound: No usable library.
    """
    start = time.perf_counter()
    image, log = _compile(source, name, (f"--gpu-architecture={arch}", *options), "PTX")
    return Compiled(image.rstrip(b"\0").decode(), log, time.perf_counter() - start)


def compile_cubin(
    source: str,
    *,
    entry: str | None = None,
    name: str = "kernel.cu",
    arch: str = "sm_80",
    options: Sequence[str] = (),
) -> Cubin:
    """Compile CUDA C++ to machine code for ``arch``, and read what the kernel takes.

    Args:
        source: The CUDA text.
        entry: The kernel whose resources are wanted; the first one by default.
        name: The file name in messages.
        arch: A real architecture, ``sm_80``.
        options: Further NVRTC options.

    Raises:
        DesignError: The text includes what it must not.
        CompileError: It does not compile, or has no such entry.
        NvrtcNotFound: No usable library.
    """
    start = time.perf_counter()
    given = (f"--gpu-architecture={arch}", "--ptxas-options=-v", *options)
    image, log = _compile(source, name, given, "CUBIN")
    resources = parse_resources(log)
    chosen = next(iter(resources), None) if entry is None else entry
    if chosen is None or chosen not in resources:
        raise CompileError(missing_entry(entry, resources))
    return Cubin(image, log, resources[chosen], time.perf_counter() - start)


def missing_entry(entry: str | None, known: Sequence[str] | dict[str, Resources]) -> str:
    """Return the message for a source that lacks the kernel ``entry``.

    Example:
        >>> missing_entry("k", ["scale"])
        'no kernel named "k" in the source; it has: scale'
    """
    listed = ", ".join(list(known)[:8]) or "none"
    wanted = f'named "{entry}" ' if entry else ""
    return f"no kernel {wanted}in the source; it has: {listed}"


def _check(library: ctypes.CDLL, result: int) -> None:
    if result:
        text = library.nvrtcGetErrorString(result)
        raise CompileError(f"NVRTC: {text.decode(errors='replace')}")


def _strings(values: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(values))(*values)


def _read(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _compile(source: str, name: str, options: Sequence[str], what: str) -> tuple[bytes, str]:
    """Compile and return the ``what`` image and the log."""
    check_source(source)
    library, program = load(), ctypes.c_void_p()
    headers = headers_for(source)
    encoded = [option.encode() for option in (*_DEFAULT_OPTIONS, *options)]
    _check(
        library,
        library.nvrtcCreateProgram(
            ctypes.byref(program),
            source.encode(),
            name.encode(),
            len(headers),
            _strings(list(headers.values())),
            _strings([header.encode() for header in headers]),
        ),
    )
    try:
        result = library.nvrtcCompileProgram(program, len(encoded), _strings(encoded))
        # The parts of a log are joined by NUL characters.
        log = _read(library, program, "ProgramLog").replace(b"\0", b"").decode(errors="replace")
        if result:
            reason = library.nvrtcGetErrorString(result).decode(errors="replace")
            raise CompileError.from_log(log, f"NVRTC: {reason}", name=name)
        return _read(library, program, what), log
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
