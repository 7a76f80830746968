"""The parent's side of one worker process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import BinaryIO, cast

from tileviz.workers import wire
from tileviz.workers.errors import (
    WorkerCrashed,
    WorkerError,
    WorkerFailed,
    WorkerGarbled,
    WorkerTimeout,
    ending,
)
from tileviz.workers.process import PARENT_VARIABLE
from tileviz.workers.wire import Array, Header

_ROOT = Path(__file__).resolve().parents[2]
_STDERR_TAIL = 4096
_REAP_SECONDS = 5.0
_GRACE_SECONDS = 0.5
_PIPE_BYTES = 1 << 20

Answer = tuple[Header, list[Array]]


class Worker:
    """One child process that answers one request at a time.

    Start it from a thread that outlives it: on Linux the child dies with the *thread* that
    started it. Not thread-safe but for ``kill``.

    Args:
        module: Run as ``python -m module``; it calls ``process.serve``.
        search: Further folders where ``module`` may be found.
        start_seconds: How long the child may take to say hello.
        frame_bytes: Bytes that the arrays of a request, or of an answer, may take.
    """

    def __init__(
        self,
        module: str,
        *,
        search: Sequence[str] = (),
        start_seconds: float = 60.0,
        frame_bytes: int = wire.MAX_ARRAY_BYTES,
    ) -> None:
        self.module = module
        self._frame_bytes = frame_bytes
        self.start_seconds = start_seconds
        self.hello: Header | None = None
        self.served = 0
        self._number = 0
        self._timed_out = False
        self._dead = False
        self._tail = bytearray()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=_ROOT,  # "-m" searches the current folder first: make it ours
            env=_environment(search),
            bufsize=-1,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._given = cast(BufferedWriter, self._process.stdin)
        self._answers = cast(BufferedReader, self._process.stdout)
        for stream in (self._given, self._answers):
            _widen(stream.fileno())
        self._drain = threading.Thread(
            target=self._keep_tail, args=(cast(BinaryIO, self._process.stderr),), daemon=True
        )
        self._drain.start()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child can take a request."""
        return not self._dead and self._process.poll() is None

    @property
    def stderr(self) -> str:
        """The last text the child wrote to stderr or to standard output."""
        return bytes(self._tail).decode(errors="replace").strip()

    def call(
        self, header: Header, arrays: Sequence[Array] = (), *, timeout: float
    ) -> tuple[Header, list[Array]]:
        """Send one request and wait for its answer; the start is waited for first.

        An answer that says ``retire`` is the worker's last: it is still busy, or no longer sound.

        Args:
            header: JSON data.
            arrays: Sent beside it.
            timeout: Seconds, counted from when the child is ready.

        Raises:
            WorkerFailed: The worker answers that it cannot do this; it lives on.
            WorkerTimeout: No answer in time; it is killed.
            WorkerCrashed: It ended.
            WorkerGarbled: It wrote what is no answer; it is killed.
        """
        self.wait_ready()
        self._number += 1
        answer, got = self._within(
            timeout, lambda: self._exchange({**header, "id": self._number}, arrays)
        )
        if answer.pop("id", None) != self._number:
            raise self._garbled("the answer to another request")
        self.served += 1
        if answer.pop("retire", False):
            self.kill()
        if "answer" in answer and isinstance(answer["answer"], dict):
            return answer["answer"], got
        if isinstance(answer.get("failure"), str):
            raise WorkerFailed(
                str(answer.get("message", "")),
                failure=answer["failure"],
                field=str(answer.get("field", "")),
                stderr=self.stderr,
            )
        raise self._garbled("an answer of no known form")

    def wait_ready(self) -> Header:
        """Wait for the child's hello, and return it."""
        if self.hello is None:
            said, _ = self._within(self.start_seconds, lambda: wire.receive(self._answers))
            if not isinstance(said.get("hello"), dict):
                raise self._garbled("no hello")
            self.hello = said["hello"]
        return self.hello

    def kill(self) -> None:
        """End the child at once; from any thread."""
        self._dead = True
        self._process.kill()

    def close(self) -> int | None:
        """End the child, wait for it, and return how it ended; None if it cannot be killed."""
        self.kill()
        try:
            code: int | None = self._process.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        self._drain.join(_REAP_SECONDS)
        for stream in (self._given, self._answers):
            with contextlib.suppress(OSError):  # what was not sent has no reader any more
                stream.close()
        return code

    def _exchange(self, header: Header, arrays: Sequence[Array]) -> Answer:
        try:
            wire.send(self._given, header, arrays, most=self._frame_bytes)
        except wire.WireError as error:
            raise WorkerError(f"the request is too large: {error}") from error
        return wire.receive(self._answers, most=self._frame_bytes)

    def _within(self, seconds: float, action: Callable[[], Answer]) -> Answer:
        """Run ``action`` on the pipes; kill the child when the time is over."""
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            return action()
        except WorkerError:
            raise
        except (EOFError, OSError) as error:
            raise self._ended(seconds) from error
        except wire.WireError as error:
            if self._timed_out:
                raise self._ended(seconds) from error
            raise self._garbled(f"what is no frame ({error})") from error
        except BaseException:
            self.close()  # a half-read pipe is of no use to anyone
            raise
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._timed_out = True
        self.kill()

    def _ended(self, seconds: float) -> WorkerError:
        """Say why the pipe ended: our time-out, or the child's own end."""
        if not self._timed_out:
            # A child that closed its pipe is ending: let it give its own reason.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_SECONDS)
        code = self.close()
        if self._timed_out:
            message = f"no answer within {seconds:g} s; the worker was stopped"
            return WorkerTimeout(message, stderr=self.stderr)
        message = f"the worker ended before it answered ({ending(code)})"
        return WorkerCrashed(message, returncode=code, stderr=self.stderr)

    def _garbled(self, what: str) -> WorkerError:
        self.close()
        message = f"the worker sent {what} and was stopped"
        return WorkerGarbled(message, stderr=self.stderr)

    def _keep_tail(self, stream: BinaryIO) -> None:
        """Drain stderr for ever, so that the child never blocks on it; keep only its end."""
        while chunk := os.read(stream.fileno(), 1 << 14):
            self._tail += chunk
            del self._tail[:-_STDERR_TAIL]
        stream.close()


def _widen(pipe: int) -> None:
    """Let a pipe hold more: of large arrays, half of the time went into switching processes."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # a user may have only so much of it
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _environment(search: Sequence[str]) -> dict[str, str]:
    """Return the child's environment: ours, with the package on its path and one thread."""
    folders = [str(_ROOT), *search, *filter(None, [os.environ.get("PYTHONPATH")])]
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **os.environ,
        **single,  # each thread of a BLAS takes address space, and start time
        "PYTHONPATH": os.pathsep.join(folders),
        PARENT_VARIABLE: str(os.getpid()),
    }
