"""The GPU's worker, seen from the caller: one queue for everybody, and faults in words."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable
from concurrent.futures import wait
from functools import lru_cache

from tileviz.emulator.problems import Kind
from tileviz.runners.gpu.device import Facts
from tileviz.runners.gpu.faults import explain
from tileviz.runners.gpu.settings import FRAME_BYTES
from tileviz.runners.gpu.transport import Answer, Request, pack_request, unpack_answer
from tileviz.runners.protocol import RunnerUnavailable
from tileviz.workers import (
    Job,
    WorkerBusy,
    WorkerClosed,
    WorkerCrashed,
    WorkerDisabled,
    WorkerError,
    WorkerFailed,
    WorkerPool,
    WorkerTimeout,
)
from tileviz.workers.wire import Array, Header

WORKER = "tileviz.runners.gpu.worker"
QUEUE_LIMIT = 32

_START_SECONDS = 60.0
_GRACE_SECONDS = 5.0
_WAIT_SECONDS = 0.2
_SLOW_BYTES_PER_S = 50e6
# What unpacking raises when a worker that ran unknown code answers nonsense.
_SENSELESS = (ValueError, TypeError, KeyError, IndexError, AttributeError)


class Fatal(Exception):
    """The kernel ended the worker; the next request gets a new one.

    Attributes:
        kind: The kind of problem that is.
    """

    def __init__(self, message: str, kind: Kind) -> None:
        super().__init__(message)
        self.kind: Kind = kind


class GpuQueue:
    """One worker process behind one queue, for all sessions of a server. Thread-safe.

    Args:
        pool: Workers to use instead, one at a time; for tests.
    """

    def __init__(self, pool: WorkerPool | None = None) -> None:
        self.pool = pool or WorkerPool(
            WORKER,
            size=1,
            queue_limit=QUEUE_LIMIT,
            start_seconds=_START_SECONDS,
            frame_bytes=FRAME_BYTES,
        )
        self._lock = threading.Lock()
        self._jobs: collections.deque[Job] = collections.deque()
        self._facts: Facts | None = None

    def facts(self) -> Facts:
        """Return what the device says of itself; asked once.

        Raises:
            RunnerUnavailable: There is no device to use, and why.
        """
        if self._facts is None:
            try:
                reply = self.pool.call({"op": "look"}, timeout=_START_SECONDS)
                answer = unpack_answer(reply.header, reply.arrays, Request(()))
            except (WorkerError, *_SENSELESS) as error:
                raise RunnerUnavailable(_words(error)) from error
            self._facts = _usable(answer).facts
        assert self._facts is not None
        return self._facts

    def run(
        self,
        request: Request,
        *,
        on_wait: Callable[[], None] | None = None,
        on_queue: Callable[[int], None] | None = None,
    ) -> Answer:
        """Run programs on the GPU.

        Args:
            request: What to run.
            on_wait: Called a few times a second while waiting; what it raises stops the work.
            on_queue: Called with the number of requests that come first, whenever it changes.

        Raises:
            RunnerUnavailable: Not the kernel's fault: no device, no memory, a full queue.
            Fatal: The kernel hung or crashed the worker, which was killed.
        """
        header, arrays = pack_request(request)
        # Outputs are about as large as inputs, and each goes through the pipe and to the device.
        moving = sum(array.nbytes for array in arrays) / _SLOW_BYTES_PER_S
        seconds = request.settings.total_seconds + moving
        try:
            reply = self._call(header, arrays, seconds, on_wait, on_queue)
            return _usable(unpack_answer(reply[0], reply[1], request))
        except (WorkerTimeout, WorkerCrashed) as error:
            kind: Kind = "limit" if isinstance(error, WorkerTimeout) else "trap"
            raise Fatal(_words(error), kind) from error
        except (WorkerError, *_SENSELESS) as error:
            raise RunnerUnavailable(_words(error)) from error

    def ahead(self, job: Job) -> int:
        """Return how many requests come before one: 0 for the one that runs."""
        with self._lock:
            while self._jobs and self._jobs[0].done():
                self._jobs.popleft()
            waiting = [other for other in self._jobs if not other.done()]
        return waiting.index(job) if job in waiting else 0

    def length(self) -> int:
        """Return the number of requests that run or wait."""
        with self._lock:
            return sum(not job.done() for job in self._jobs)

    def _call(
        self,
        header: Header,
        arrays: list[Array],
        seconds: float,
        on_wait: Callable[[], None] | None,
        on_queue: Callable[[int], None] | None,
    ) -> tuple[Header, list[Array]]:
        with self._lock:  # so that our order is the pool's
            job = self.pool.submit(header, arrays, timeout=seconds + _GRACE_SECONDS)
            self._jobs.append(job)
        told = -1
        try:
            while not wait([job], timeout=_WAIT_SECONDS).done:
                if on_wait is not None:
                    on_wait()
                ahead = self.ahead(job)
                if on_queue is not None and ahead != told:
                    on_queue(ahead)
                    told = ahead
            reply = job.result()
            return reply.header, reply.arrays
        except BaseException:
            job.abort()
            raise


@lru_cache(maxsize=1)
def shared_queue() -> GpuQueue:
    """Return this process's queue for its GPU; no worker is started yet."""
    return GpuQueue()


def _usable(answer: Answer) -> Answer:
    if answer.unavailable or answer.facts is None:
        raise RunnerUnavailable(explain(answer.unavailable).line)
    return answer


def _words(error: Exception) -> str:
    """Say in one line what became of the worker."""
    if isinstance(error, WorkerBusy):
        return f"the GPU is busy: {error.message}"
    if isinstance(error, WorkerTimeout):
        return f"the kernel held the GPU too long: {error.message}"
    if isinstance(error, WorkerCrashed):
        detail = f": {error.stderr.splitlines()[-1][:200]}" if error.stderr else ""
        return f"the GPU worker crashed: {error.message}{detail}"
    if isinstance(error, WorkerFailed):
        return f"the GPU worker cannot do this: {error.message}"
    if isinstance(error, WorkerDisabled):
        return f"the GPU is switched off: {error.message}"
    if isinstance(error, WorkerClosed):
        return error.message
    if isinstance(error, WorkerError):
        return f"the GPU worker: {error.message}"
    return f"the GPU worker's answer makes no sense ({error!r:.100})"
