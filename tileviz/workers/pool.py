"""A pool of worker processes behind one first-in, first-out queue."""

from __future__ import annotations

import atexit
import collections
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

from tileviz.workers.errors import (
    WorkerBusy,
    WorkerClosed,
    WorkerCrashed,
    WorkerDisabled,
    WorkerFailed,
    WorkerGarbled,
)
from tileviz.workers.wire import MAX_ARRAY_BYTES, Array, Header
from tileviz.workers.worker import Worker

_MAX_SIZE = 8
_JOIN_SECONDS = 5.0
_WAIT_SECONDS = 0.2


@dataclass(frozen=True)
class Reply:
    """A worker's answer: JSON data and the arrays sent beside it."""

    header: Header
    arrays: list[Array]


class Job(Future[Reply]):
    """A queued or running request: a future whose work can be stopped at any time."""

    def __init__(self, header: Mapping[str, Any], arrays: Sequence[Array], timeout: float) -> None:
        super().__init__()
        self.header, self.arrays, self.timeout = header, arrays, timeout
        self.aborted = False
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    def abort(self) -> None:
        """Drop the request if it waits; kill its worker if it runs."""
        self.cancel()
        with self._lock:
            self.aborted = True
            if self._worker is not None:
                self._worker.kill()

    def assign(self, worker: Worker | None) -> None:
        """Note which worker runs this now; one that comes after ``abort`` is killed at once."""
        with self._lock:
            self._worker = worker
            if self.aborted and worker is not None:
                worker.kill()


class WorkerPool:
    """Worker processes of one kind, started when needed, replaced when they die. Thread-safe.

    Each worker has a thread that starts it, feeds it and lives as long as the pool: on Linux a
    child dies with the thread that started it.

    Args:
        module: Run as ``python -m module``.
        size: Most workers at once; by default one a processor, up to 8.
        queue_limit: Most requests waiting; further ones are told at once that it is busy.
        start_seconds: How long a worker may take to say hello.
        recycle_after: Requests after which a worker is replaced by a fresh one.
        max_failures: Deaths in a row, with no answer between, after which none is started.
        cooldown_seconds: For how long.
        search: Further folders where ``module`` may be found.
        frame_bytes: Bytes that the arrays of a request, or of an answer, may take.
    """

    def __init__(
        self,
        module: str,
        *,
        size: int | None = None,
        queue_limit: int = 32,
        start_seconds: float = 60.0,
        recycle_after: int = 500,
        max_failures: int = 5,
        cooldown_seconds: float = 30.0,
        search: Sequence[str] = (),
        frame_bytes: int = MAX_ARRAY_BYTES,
    ) -> None:
        self.module = module
        self.size = max(1, size if size is not None else min(os.cpu_count() or 1, _MAX_SIZE))
        self.queue_limit = queue_limit
        self._start_seconds, self._search = start_seconds, tuple(search)
        self._frame_bytes = frame_bytes
        self._recycle_after = recycle_after
        self._max_failures, self._cooldown = max_failures, cooldown_seconds
        self._ready = threading.Condition()
        self._waiting: collections.deque[Job] = collections.deque()
        self._threads: list[threading.Thread] = []
        self._workers: dict[threading.Thread, Worker] = {}
        self._idle = 0
        self._to_warm = 0
        self._failures = 0
        self._disabled_until = 0.0
        self._closed = False
        _pools.add(self)

    def warm(self, count: int = 1) -> None:
        """Start ``count`` workers now, so that they load while the caller still works."""
        with self._ready:
            self._check_open()
            missing = min(count, self.size) - len(self._threads)
            for _ in range(max(0, missing)):
                self._to_warm += 1
                self._add_thread()

    def submit(
        self, header: Mapping[str, Any], arrays: Sequence[Array] = (), *, timeout: float
    ) -> Job:
        """Queue a request.

        Args:
            header: JSON data.
            arrays: Sent beside it; not to be changed before the answer.
            timeout: Seconds the worker may take, not counting the wait in the queue.

        Returns:
            A future of the reply; its errors are those of ``Worker.call``.

        Raises:
            WorkerBusy: The queue is full.
            WorkerDisabled: Workers died again and again.
            WorkerClosed: The pool is closed.
        """
        job = Job(header, arrays, timeout)
        with self._ready:
            self._check_open()
            left = self._disabled_until - time.monotonic()
            if left > 0:
                message = f"workers died {self._failures} times in a row; retry in {left:.0f} s"
                raise WorkerDisabled(message)
            free = self._idle + self.size - len(self._threads)
            if len(self._waiting) >= self.queue_limit + free:
                message = f"all {self.size} workers are busy and {self.queue_limit} requests wait"
                raise WorkerBusy(f"{message}; try again in a moment")
            self._waiting.append(job)
            if self._idle < len(self._waiting) and len(self._threads) < self.size:
                self._add_thread()
            self._ready.notify()
        return job

    def call(
        self,
        header: Mapping[str, Any],
        arrays: Sequence[Array] = (),
        *,
        timeout: float,
        on_wait: Callable[[], None] | None = None,
    ) -> Reply:
        """Queue a request and wait for its reply; an interrupted wait stops the work.

        Args:
            header: JSON data.
            arrays: Sent beside it.
            timeout: Seconds the worker may take.
            on_wait: Called five times a second; what it raises stops the work. For a page whose
                visitor may have left.
        """
        job = self.submit(header, arrays, timeout=timeout)
        try:
            while on_wait is not None and not wait([job], timeout=_WAIT_SECONDS).done:
                on_wait()
            return job.result()
        except BaseException:
            job.abort()
            raise

    def reset(self) -> None:
        """Allow workers again after they were disabled."""
        with self._ready:
            self._failures, self._disabled_until = 0, 0.0

    def pids(self) -> list[int]:
        """Return the process ids of the workers alive now."""
        with self._ready:
            return [worker.pid for worker in self._workers.values() if worker.alive]

    def close(self) -> None:
        """Kill every worker and refuse what waits; safe to call again."""
        with self._ready:
            self._closed = True
            waiting, threads = list(self._waiting), list(self._threads)
            self._waiting.clear()
            for worker in self._workers.values():
                worker.kill()
            self._ready.notify_all()
        for job in waiting:
            if job.set_running_or_notify_cancel():
                job.set_exception(WorkerClosed("the pool was closed"))
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(_JOIN_SECONDS)

    def _check_open(self) -> None:
        if self._closed:
            raise WorkerClosed("the pool was closed")

    def _add_thread(self) -> None:
        name = f"{self.module}-{len(self._threads)}"
        thread = threading.Thread(target=self._dispatch, name=name, daemon=True)
        self._threads.append(thread)
        self._idle += 1  # one that is still starting will take the next request, too
        thread.start()

    def _dispatch(self) -> None:
        """Own one worker: start it, feed it, replace it."""
        worker: Worker | None = None
        with self._ready:
            if self._to_warm:
                self._to_warm -= 1
                worker = self._start()
        while (job := self._next()) is not None:
            if job.set_running_or_notify_cancel():
                worker = self._run(job, worker)
            del job  # its arrays need not outlive it
            with self._ready:
                self._idle += 1
        if worker is not None:
            worker.close()

    def _next(self) -> Job | None:
        with self._ready:
            while not self._waiting and not self._closed:
                self._ready.wait()
            self._idle -= 1
            return self._waiting.popleft() if self._waiting else None

    def _start(self) -> Worker | None:
        """Start a worker, unless the pool is closed; called under the lock."""
        if self._closed:
            return None
        worker = Worker(
            self.module,
            search=self._search,
            start_seconds=self._start_seconds,
            frame_bytes=self._frame_bytes,
        )
        self._workers[threading.current_thread()] = worker
        return worker

    def _run(self, job: Job, worker: Worker | None) -> Worker | None:
        """Run one job; return the worker for the next one."""
        try:
            if worker is not None and (not worker.alive or worker.served >= self._recycle_after):
                worker.close()
                worker = None
            if worker is None:
                with self._ready:
                    worker = self._start()
            if worker is None:
                raise WorkerClosed("the pool was closed")
            job.assign(worker)
            reply = Reply(*worker.call(dict(job.header), job.arrays, timeout=job.timeout))
        except BaseException as error:
            job.assign(None)
            self._count(error, job)
            stopped = job.aborted or self._closed
            job.set_exception(WorkerClosed("the request was stopped") if stopped else error)
        else:
            job.assign(None)
            self._failures = 0
            job.set_result(reply)
        return worker

    def _count(self, error: BaseException, job: Job) -> None:
        """Count deaths in a row; too many, and no worker is started for a while."""
        if isinstance(error, WorkerFailed):
            self._failures = 0
        elif isinstance(error, WorkerCrashed | WorkerGarbled | OSError) and not job.aborted:
            with self._ready:
                self._failures += 1
                if self._failures >= self._max_failures:
                    self._disabled_until = time.monotonic() + self._cooldown


_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        pool.close()
