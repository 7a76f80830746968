"""The child's side: private pipes, a sandbox, and a loop that answers one request at a time."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from io import BufferedReader, BufferedWriter, FileIO

from tileviz.errors import DesignError
from tileviz.workers import wire
from tileviz.workers.wire import Array, Header

Answer = tuple[Header, Sequence[Array]]
Handler = Callable[[Header, list[Array]], Answer]

PARENT_VARIABLE = "TILEVIZ_WORKER_PARENT"

_NOBODY = 65534
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_MAX_MESSAGE = 500


@dataclass(frozen=True)
class Limits:
    """What a worker may use, once everything is loaded.

    Attributes:
        memory_bytes: Address space beyond what is in use when the limits are set.
        cpu_seconds: Processor seconds per request.
        sandbox: Whether to take away files, processes and privileges too.
    """

    memory_bytes: int = 2 << 30
    cpu_seconds: int = 120
    sandbox: bool = True


@dataclass(frozen=True)
class Confinement:
    """What the operating system really granted, for the worker's hello.

    Attributes:
        limits: Names of the resource limits in force.
        uid: The user the worker runs as, or -1 on Windows.
    """

    limits: tuple[str, ...]
    uid: int


def serve(
    handler: Handler,
    *,
    prepare: Callable[[], Header] = dict,
    limits: Limits | None = None,
    frame_bytes: int = wire.MAX_ARRAY_BYTES,
) -> None:
    """Answer requests from standard input until it ends; never returns.

    Args:
        handler: Maps (header, arrays) to (header, arrays); what it raises is sent as a failure.
            A header that holds ``"retire": True`` is the process's last answer.
        prepare: Loads and warms everything *before* the limits close the door; its result is
            the hello.
        limits: What the process may use afterwards; none by default.
        frame_bytes: Bytes that the arrays of a request, or of an answer, may take.
    """
    given, answers = _private_pipes()
    if hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    die_with_parent()
    requests: queue.Queue[tuple[Header, list[Array]]] = queue.Queue(maxsize=1)
    threading.Thread(target=_read, args=(given, requests, frame_bytes), daemon=True).start()
    hello = prepare()
    if limits is not None:
        hello = {**hello, "confinement": asdict(confine(limits))}
    wire.send(answers, {"hello": hello})
    while True:
        header, arrays = requests.get()
        number = header.pop("id", None)
        if limits is not None:
            _allow_cpu(limits.cpu_seconds)
        answer, sent = _answer(handler, header, arrays)
        del arrays
        try:
            wire.send(answers, {**answer, "id": number}, sent, most=frame_bytes)
        except wire.WireError as error:
            wire.send(answers, {**_failure("memory", str(error)), "id": number})


def _answer(handler: Handler, header: Header, arrays: list[Array]) -> Answer:
    try:
        answer, sent = handler(header, arrays)
    except DesignError as error:
        return {**_failure("design", error.message), "field": error.field}, ()
    except MemoryError:
        return _failure("memory", "the request needs more memory than a worker may use"), ()
    except Exception as error:
        return _failure("error", f"{type(error).__name__}: {error}"), ()
    retire = bool(answer.pop("retire", False))
    return {"answer": answer, "retire": retire}, sent


def _failure(kind: str, message: str) -> Header:
    line = " ".join(message.split())[:_MAX_MESSAGE]
    return {"failure": kind, "message": line}


def _read(
    stream: wire.Reader, requests: queue.Queue[tuple[Header, list[Array]]], frame_bytes: int
) -> None:
    """Feed requests to the loop; the pipe's end means that the parent is gone or wants us gone."""
    while True:
        try:
            requests.put(wire.receive(stream, most=frame_bytes))
        except EOFError:
            os._exit(0)
        except (wire.WireError, OSError, MemoryError) as error:
            os.write(2, f"bad request: {error}\n".encode())
            os._exit(3)


def _private_pipes() -> tuple[wire.Reader, wire.Writer]:
    """Keep the pipes for frames only: whatever else writes to standard output goes to stderr."""
    answers = BufferedWriter(FileIO(os.dup(1), "wb"), 1 << 16)
    os.dup2(2, 1)
    given = BufferedReader(FileIO(os.dup(0), "rb"), 1 << 16)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return given, answers


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends (Linux).

    Elsewhere the end of the request pipe does the same, as soon as Python code runs.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        expected = os.environ.get(PARENT_VARIABLE)
        if expected is not None and str(os.getppid()) != expected:
            os._exit(0)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def confine(limits: Limits) -> Confinement:
    """Take away memory, files, processes and privileges from this process, for good.

    On Windows there are no such limits: the parent's time-out and the lexical check of the
    source are what holds there.
    """
    if sys.platform == "win32":
        return Confinement((), -1)
    import resource

    in_force = []
    wanted = [("CORE", 0)]
    if sys.platform == "linux":  # macOS refuses limits on address space
        wanted.append(("AS", _address_space() + limits.memory_bytes))
    if limits.sandbox:
        # NPROC counts threads too; it binds once the process is not root's.
        wanted += [("FSIZE", 0), ("NPROC", 0), ("NOFILE", 0)]
        if sys.platform == "linux":
            prctl = ctypes.CDLL(None).prctl  # loaded while files can still be opened
            _drop_privileges()
            # A change of user clears the death signal: set it again, and look again.
            prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
            die_with_parent()
    for name, value in wanted:
        which = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
        in_force.append(name)
    return Confinement(tuple(in_force), os.getuid())


def _drop_privileges() -> None:
    """Become nobody when started as root; a user namespace without that user keeps root."""
    if os.geteuid() != 0:
        return
    try:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    except OSError as error:
        os.write(2, f"cannot drop root: {error}\n".encode())


def _address_space() -> int:
    """Return the bytes of address space in use."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 (fewer imports)
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _allow_cpu(seconds: int) -> None:
    """Move the processor-time limit ahead: the kernel counts over the process's whole life."""
    if sys.platform != "win32":
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        used = int(usage.ru_utime + usage.ru_stime)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = used + 1 + seconds
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
