import sys
from pathlib import Path

import numpy as np
import pytest

from tileviz.workers import (
    Worker,
    WorkerCrashed,
    WorkerFailed,
    WorkerGarbled,
    WorkerTimeout,
)

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="prctl and /proc")

STANDIN = str(Path(__file__).parent / "standin")


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rsplit(")", 1)[1].split()[0] in "ZX"


def test_arrays_go_there_and_come_back(worker):
    header, arrays = worker.call({}, [np.arange(6).reshape(2, 3), np.ones(1, "<f2")], timeout=20)
    assert header == {"pid": worker.pid}
    assert arrays[0].tolist() == [[0, 2, 4], [6, 8, 10]] and arrays[1].tolist() == [2.0]
    assert worker.call({}, timeout=20)[0] == {"pid": worker.pid}


@pytest.mark.parametrize("mode", ["spin", "sleep"])
def test_a_hang_is_a_timeout_and_kills_the_worker(worker, mode):
    worker.wait_ready()
    with pytest.raises(WorkerTimeout, match=r"no answer within 0\.3 s") as caught:
        worker.call({"mode": mode, "seconds": 3600}, timeout=0.3)
    assert caught.value.kind == "timeout" and not worker.alive and gone(worker.pid)


@needs_posix
@pytest.mark.parametrize(
    ("mode", "code", "words"), [("segfault", -11, "killed by SIGSEGV"), ("exit", 7, "status 7")]
)
def test_a_crash_says_how_it_ended(worker, mode, code, words):
    with pytest.raises(WorkerCrashed, match=words) as caught:
        worker.call({"mode": mode}, timeout=20)
    assert caught.value.returncode == code and not worker.alive
    assert caught.value.stderr == ("last words" if mode == "exit" else "")


@needs_linux
def test_garbage_in_the_pipe_is_a_protocol_error(worker):
    with pytest.raises(WorkerGarbled, match="no frame"):
        worker.call({"mode": "garbage"}, timeout=20)
    assert gone(worker.pid)


def test_what_is_printed_never_reaches_the_protocol(worker):
    assert worker.call({"mode": "print"}, timeout=20) == ({}, [])
    assert worker.call({"mode": "flood"}, timeout=20) == ({}, [])
    assert worker.call({}, timeout=20)[0] == {"pid": worker.pid}
    assert len(worker.stderr) <= 4096


def test_an_exception_is_a_failure_of_one_line_and_the_worker_lives(worker):
    with pytest.raises(WorkerFailed, match=r"^ValueError: two lines$") as caught:
        worker.call({"mode": "raise"}, timeout=20)
    assert caught.value.failure == "error"
    with pytest.raises(WorkerFailed, match="not allowed") as caught:
        worker.call({"mode": "design"}, timeout=20)
    assert (caught.value.failure, caught.value.field) == ("design", "source")
    assert worker.call({}, timeout=20)[0] == {"pid": worker.pid}


def test_a_worker_that_cannot_start_says_why(monkeypatch):
    monkeypatch.setenv("BROKEN", "1")
    worker = Worker("misbehaving_worker", search=[STANDIN])
    with pytest.raises(WorkerCrashed) as caught:
        worker.call({}, timeout=20)
    assert caught.value.returncode == 1 and "cannot load the library" in caught.value.stderr


@needs_linux
def test_a_confined_worker_has_no_files_processes_or_privileges(monkeypatch):
    monkeypatch.setenv("CONFINE", "1")
    worker = Worker("misbehaving_worker", search=[STANDIN])
    try:
        tried = worker.call({"mode": "files"}, timeout=20)[0]
        assert tried["uid"] != 0
        assert tried["tried"].pop("fork") == "BlockingIOError"
        assert tried["tried"].pop("root") == "PermissionError"
        assert set(tried["tried"].values()) == {"OSError"}
        assert set(worker.hello["confinement"]["limits"]) >= {"AS", "NOFILE", "FSIZE", "NPROC"}
        with pytest.raises(WorkerFailed, match="more memory") as caught:
            worker.call({"mode": "memory", "bytes": 10 << 30}, timeout=20)
        assert caught.value.failure == "memory"
        assert worker.call({"mode": "memory", "bytes": 1 << 20}, timeout=20)[1][0].size == 1 << 20
    finally:
        worker.close()
    assert gone(worker.pid)


@needs_linux
def test_pipes_that_cannot_be_widened_are_used_as_they_are(monkeypatch):
    import fcntl

    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    worker = Worker("misbehaving_worker", search=[STANDIN])
    try:
        assert worker.call({}, [np.arange(3)], timeout=20)[1][0].tolist() == [0, 2, 4]
    finally:
        worker.close()
