import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tileviz.workers import (
    WorkerBusy,
    WorkerClosed,
    WorkerCrashed,
    WorkerDisabled,
    WorkerTimeout,
)

STANDIN = str(Path(__file__).parent / "standin")
SEARCH = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])


def wait_until(condition, seconds=20.0):
    """Poll; fails loudly, and only after far longer than the wait can take."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "never happened"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rsplit(")", 1)[1].split()[0] in "ZX"


def test_requests_are_served_in_order_by_one_worker(make_pool):
    pool = make_pool(size=1)
    jobs = [pool.submit({"mode": "sleep", "seconds": 0}, timeout=20) for _ in range(5)]
    ended = [job.result(30).header["ended"] for job in jobs]
    assert ended == sorted(ended) and len(pool.pids()) == 1


def test_twelve_clients_and_a_short_queue(make_pool):
    pool = make_pool(size=1, queue_limit=8)
    blocker = pool.submit({"mode": "sleep", "seconds": 3600}, timeout=30)
    wait_until(blocker.running)
    outcomes: list[object] = []

    def client() -> None:
        try:
            outcomes.append(pool.call({}, timeout=20))
        except WorkerBusy as error:
            outcomes.append(error)

    clients = [threading.Thread(target=client) for _ in range(11)]
    for thread in clients:
        thread.start()
    wait_until(lambda: len(outcomes) == 3)  # the refusals come at once, the others wait
    assert all(isinstance(outcome, WorkerBusy) for outcome in outcomes)
    assert "try again" in str(outcomes[0])
    blocker.abort()
    for thread in clients:
        thread.join(30)
    assert sum(not isinstance(outcome, WorkerBusy) for outcome in outcomes) == 8
    with pytest.raises(WorkerClosed, match="stopped"):
        blocker.result(30)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_dead_worker_is_replaced(make_pool):
    pool = make_pool(size=1)
    first = pool.call({}, timeout=20).header["pid"]
    with pytest.raises(WorkerCrashed):
        pool.call({"mode": "segfault"}, timeout=20)
    second = pool.call({}, timeout=20).header["pid"]
    with pytest.raises(WorkerTimeout):
        pool.call({"mode": "spin"}, timeout=0.2)
    third = pool.call({}, timeout=20).header["pid"]
    assert len({first, second, third}) == 3
    os.kill(third, signal.SIGKILL)  # also one that dies between two requests
    wait_until(lambda: not pool.pids())
    assert pool.call({}, timeout=20).header["pid"] != third


def test_a_worker_is_replaced_after_its_share_of_requests(make_pool):
    pool = make_pool(size=1, recycle_after=2)
    pids = [pool.call({}, timeout=20).header["pid"] for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_a_worker_that_retires_is_replaced(make_pool):
    pool = make_pool(size=1)
    reply = pool.call({"mode": "retire"}, timeout=20)
    assert "retire" not in reply.header
    assert pool.call({}, timeout=20).header["pid"] != reply.header["pid"]


def test_a_crash_loop_is_stopped_until_reset(make_pool):
    pool = make_pool(size=1, max_failures=2, cooldown_seconds=3600)
    for _ in range(2):
        with pytest.raises(WorkerCrashed):
            pool.call({"mode": "exit"}, timeout=20)
    with pytest.raises(WorkerDisabled, match="2 times in a row"):
        pool.call({}, timeout=20)
    pool.reset()
    assert pool.call({}, [np.ones(1)], timeout=20).arrays[0].tolist() == [2.0]


def test_answers_between_crashes_keep_the_pool_open(make_pool):
    pool = make_pool(size=1, max_failures=2, cooldown_seconds=3600)
    for _ in range(3):
        with pytest.raises(WorkerCrashed):
            pool.call({"mode": "exit"}, timeout=20)
        pool.call({}, timeout=20)


def test_a_queued_request_can_be_cancelled(make_pool):
    pool = make_pool(size=1)
    blocker = pool.submit({"mode": "sleep", "seconds": 3600}, timeout=60)
    queued = pool.submit({}, timeout=20)
    assert queued.cancel()
    wait_until(blocker.running)
    blocker.abort()
    assert pool.call({}, timeout=20).header["pid"]
    assert queued.cancelled()


class Left(Exception):
    """The visitor closed the page."""


def test_a_visitor_who_leaves_stops_the_work(make_pool):
    pool = make_pool(size=1)
    calls = []

    def on_wait():
        calls.append(pool.pids())
        if len(calls) == 2:
            raise Left

    with pytest.raises(Left):
        pool.call({"mode": "spin"}, timeout=60, on_wait=on_wait)
    stopped = calls[-1]
    wait_until(lambda: all(gone(pid) for pid in stopped))
    assert pool.call({}, timeout=20).header["pid"] not in stopped


def test_warm_starts_a_worker_before_the_first_request(make_pool):
    pool = make_pool(size=2)
    pool.warm()
    wait_until(lambda: len(pool.pids()) == 1)
    (pid,) = pool.pids()
    assert pool.call({}, timeout=20).header["pid"] == pid


def test_close_stops_everything_and_refuses_more(make_pool):
    pool = make_pool(size=1)
    running = pool.submit({"mode": "spin"}, timeout=60)
    queued = pool.submit({}, timeout=20)
    wait_until(running.running)
    wait_until(pool.pids)
    pids = pool.pids()
    pool.close()
    for job in (running, queued):
        with pytest.raises(WorkerClosed):
            job.result(30)
    with pytest.raises(WorkerClosed):
        pool.call({}, timeout=20)
    wait_until(lambda: all(gone(pid) for pid in pids))
    pool.close()


PARENT = """
import sys
from tileviz.workers import WorkerPool
pool = WorkerPool("misbehaving_worker", size=1, search=[sys.argv[1]])
print(pool.call({{}}, timeout=30).header["pid"], flush=True)
job = pool.submit({{"mode": "{mode}", "seconds": 3600}}, timeout=3600)
{ending}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("mode", ["spin", "sleep"])
@pytest.mark.parametrize("confined", ["", "1"])
def test_a_killed_parent_leaves_no_orphan(mode, confined):
    environment = {**os.environ, "PYTHONPATH": SEARCH}
    if confined:
        environment["CONFINE"] = confined
    script = PARENT.format(mode=mode, ending="import time; time.sleep(3600)")
    parent = subprocess.Popen(
        [sys.executable, "-c", script, STANDIN], stdout=subprocess.PIPE, env=environment
    )
    try:
        pid = int(parent.stdout.readline())
        assert not gone(pid)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_until(lambda: gone(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_parent_that_ends_normally_leaves_no_orphan():
    script = PARENT.format(mode="spin", ending="")
    done = subprocess.run(
        [sys.executable, "-c", script, STANDIN],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": SEARCH},
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    wait_until(lambda: gone(int(done.stdout)))
