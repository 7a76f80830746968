"""What can go wrong with a worker, each its own type with one clear line."""

from __future__ import annotations

import signal


class WorkerError(RuntimeError):
    """A request that got no answer.

    Attributes:
        message: One line.
        stderr: The last lines the worker wrote, for a report; may be empty.
    """

    kind = "error"

    def __init__(self, message: str, *, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.stderr = stderr


class WorkerBusy(WorkerError):
    """The queue is full; nothing was started."""

    kind = "busy"


class WorkerTimeout(WorkerError):
    """No answer within the limit; the worker was killed."""

    kind = "timeout"


class WorkerCrashed(WorkerError):
    """The process ended before it answered.

    Attributes:
        returncode: As of ``subprocess``: negative for a signal.
    """

    kind = "crashed"

    def __init__(self, message: str, *, returncode: int | None, stderr: str = "") -> None:
        super().__init__(message, stderr=stderr)
        self.returncode = returncode


class WorkerGarbled(WorkerError):
    """What came through the pipe is no answer; the worker was killed."""

    kind = "protocol"


class WorkerDisabled(WorkerError):
    """Workers of this kind died again and again; none is started for a while."""

    kind = "disabled"


class WorkerClosed(WorkerError):
    """The pool was closed, or the request was aborted."""

    kind = "closed"


class WorkerFailed(WorkerError):
    """The worker is well, and says that it could not do this request.

    Attributes:
        failure: The kind the worker gave: ``"design"``, ``"memory"`` or ``"error"``.
        field: For ``"design"``: the field at fault.
    """

    kind = "failed"

    def __init__(self, message: str, *, failure: str, field: str = "", stderr: str = "") -> None:
        super().__init__(message, stderr=stderr)
        self.failure = failure
        self.field = field


def ending(returncode: int | None) -> str:
    """Say in words how a process ended.

    Example:
        >>> ending(-9), ending(7)
        ('killed by SIGKILL', 'exit status 7')
    """
    if returncode is None:
        return "still running"
    if returncode < 0:
        try:
            return f"killed by {signal.Signals(-returncode).name}"
        except ValueError:
            return f"killed by signal {-returncode}"
    return f"exit status {returncode}"
