"""Compiling and emulating in a worker process, seen from the caller."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping

from tileviz.cuda.kernel import Array
from tileviz.emulator.problems import Problem
from tileviz.emulator.transport import (
    EMULATED_ARCH,
    Answer,
    Request,
    Texts,
    pack_request,
    unpack_answer,
    unpack_texts,
)
from tileviz.errors import DesignError
from tileviz.workers import (
    WorkerCrashed,
    WorkerError,
    WorkerFailed,
    WorkerPool,
    WorkerTimeout,
)
from tileviz.workers.shared import EMULATOR, shared_pool
from tileviz.workers.wire import Header

_GRACE_SECONDS = 5.0
# What unpacking raises when a worker that ran unknown code answers nonsense.
_SENSELESS = (ValueError, TypeError, KeyError, IndexError, AttributeError)


def run(
    request: Request,
    arrays: Mapping[str, Array],
    *,
    pool: WorkerPool | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Answer:
    """Compile and emulate a kernel in a worker.

    Whatever the text does to compiler or emulator comes back as a problem: it does not compile,
    loops for ever, asks for too much memory, crashes the worker.

    Args:
        request: What to run.
        arrays: Flat content of every input buffer by name.
        pool: The workers; this process's own by default.
        on_wait: Called while waiting; what it raises stops the work.

    Raises:
        DesignError: The source includes what it must not.
    """
    header, sent = pack_request(request, arrays)
    seconds = request.limits.seconds + 2 * request.compile_seconds + _GRACE_SECONDS
    try:
        workers = pool or shared_pool(EMULATOR)
        reply = workers.call(header, sent, timeout=seconds, on_wait=on_wait)
        return unpack_answer(reply.header, reply.arrays, request.parameters)
    except (WorkerError, *_SENSELESS) as error:
        return Answer(problems=(_explained(error, request.compile_seconds),))


def compile_source(
    source: str,
    *,
    entry: str | None = None,
    arch: str = EMULATED_ARCH,
    image_arch: str | None = None,
    seconds: float = 30.0,
    pool: WorkerPool | None = None,
) -> Texts:
    """Compile in a worker, without running anything.

    Args:
        source: CUDA C++ text.
        entry: The kernel whose resources are wanted; the first by default.
        arch: Virtual architecture of the PTX.
        image_arch: Real architecture of machine code to make too, or None.
        seconds: Wall-clock seconds for each compile.
        pool: The workers; this process's own by default.

    Raises:
        DesignError: The source includes what it must not.
    """
    header: Header = {"op": "compile", "source": source, "entry": entry, "arch": arch}
    header |= {"image_arch": image_arch, "compile_seconds": seconds}
    try:
        reply = (pool or shared_pool(EMULATOR)).call(header, timeout=2 * seconds + _GRACE_SECONDS)
        return unpack_texts(reply.header, reply.arrays)
    except (WorkerError, *_SENSELESS) as error:
        return Texts(problems=(_explained(error, seconds),))


def _explained(error: Exception, compile_seconds: float) -> Problem:
    """Put what went wrong with a worker in the user's words.

    Raises:
        DesignError: The source is at fault.
    """
    if isinstance(error, WorkerFailed):
        if error.failure == "design":
            raise DesignError(error.field, error.message) from error
        if error.failure == "memory":
            return Problem("limit", error.message)
        return Problem("unsupported", f"the emulator cannot run this kernel ({error.message})")
    if isinstance(error, WorkerTimeout):
        return Problem("limit", f"stopped: {error.message}")
    if isinstance(error, WorkerCrashed):
        if error.returncode == -getattr(signal, "SIGALRM", 0):
            message = f"compiling takes more than {compile_seconds:g} s; it was stopped"
            return Problem("compile", message)
        if error.returncode == -getattr(signal, "SIGXCPU", 0):
            message = "the kernel takes too much processor time; it was stopped"
            return Problem("limit", message)
        detail = f": {error.stderr.splitlines()[-1][:200]}" if error.stderr else ""
        return Problem("limit", f"compiler or emulator crashed: {error.message}{detail}")
    if isinstance(error, WorkerError):
        return Problem("limit", error.message)
    return Problem("limit", f"the worker's answer makes no sense ({error!r:.100})")
