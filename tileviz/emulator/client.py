"""Compiling and emulating in a worker process, seen from the caller."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from functools import lru_cache

from tileviz.cuda.kernel import Array
from tileviz.emulator.problems import Kind, Problem
from tileviz.emulator.transport import Answer, Request, pack_request, unpack_answer
from tileviz.errors import DesignError
from tileviz.workers import (
    WorkerCrashed,
    WorkerError,
    WorkerFailed,
    WorkerPool,
    WorkerTimeout,
)

MODULE = "tileviz.emulator.worker"

_GRACE_SECONDS = 5.0


@lru_cache(maxsize=1)
def shared_pool() -> WorkerPool:
    """Return this process's pool of emulator workers; none is started yet."""
    return WorkerPool(MODULE)


def run(request: Request, arrays: Mapping[str, Array], *, pool: WorkerPool | None = None) -> Answer:
    """Compile and emulate a kernel in a worker.

    Whatever the text does to compiler or emulator comes back as a problem: it does not compile,
    loops for ever, asks for too much memory, crashes the worker.

    Args:
        request: What to run.
        arrays: Flat content of every input buffer by name.
        pool: The workers; this process's own by default.

    Raises:
        DesignError: The source includes what it must not.
    """
    header, sent = pack_request(request, arrays)
    seconds = request.limits.seconds + 2 * request.compile_seconds + _GRACE_SECONDS
    try:
        reply = (pool or shared_pool()).call(header, sent, timeout=seconds)
        return unpack_answer(reply.header, reply.arrays, request.parameters)
    except WorkerFailed as error:
        if error.failure == "design":
            raise DesignError(error.field, error.message) from error
        return _problem(*_failure(error))
    except WorkerError as error:
        return _problem(*_ending(error, request))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        return _problem("limit", f"the emulator's answer makes no sense ({error!r:.100})")


def _problem(kind: Kind, message: str) -> Answer:
    return Answer(problems=(Problem(kind, message),))


def _failure(error: WorkerFailed) -> tuple[Kind, str]:
    if error.failure == "memory":
        return "limit", error.message
    return "unsupported", f"the emulator cannot run this kernel ({error.message})"


def _ending(error: WorkerError, request: Request) -> tuple[Kind, str]:
    """Put the end of a worker in the user's words."""
    if isinstance(error, WorkerTimeout):
        return "limit", f"stopped: {error.message}"
    if isinstance(error, WorkerCrashed):
        if error.returncode == -getattr(signal, "SIGALRM", 0):
            seconds = request.compile_seconds
            return "compile", f"compiling takes more than {seconds:g} s; it was stopped"
        if error.returncode == -getattr(signal, "SIGXCPU", 0):
            return "limit", "the kernel takes too much processor time; it was stopped"
        detail = f": {error.stderr.splitlines()[-1][:200]}" if error.stderr else ""
        return "limit", f"compiler or emulator crashed: {error.message}{detail}"
    return "limit", error.message
