"""The whole protocol over real processes: faults are survived, and the next request works."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tileviz.cuda.kernel import Buffer
from tileviz.runners.gpu.client import Fatal, GpuQueue, shared_queue
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.gpu.transport import Images, Program, Request
from tileviz.runners.protocol import RunnerUnavailable

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

COUNT = 64
X = np.arange(COUNT, dtype=np.float32)
PLAIN = Settings(timing=False, limit_seconds=20.0)


def request(entry, settings=PLAIN):
    parameters = (Buffer("x", "float32", (COUNT,), "in"), Buffer("y", "float32", (COUNT,), "out"))
    images = Images(b"", b"text")
    return Request(
        (Program(entry, (1, 1, 1), (64, 1, 1), parameters, 0, images, {"x": X}),), settings
    )


def works(queue):
    (outcome,) = queue.run(request("double")).outcomes
    return outcome.problems == () and outcome.outputs["y"].tolist() == (2 * X).tolist()


def wait_until(condition, seconds=30.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "never happened"
        time.sleep(0.01)


def gone(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return state.rsplit(")", 1)[1].split()[0] in "ZX"


def test_one_worker_serves_request_after_request(make_queue):
    queue = make_queue()
    assert queue.facts().name == "Stand-in GPU" and queue.facts().arch == "sm_90"
    pids = queue.pool.pids()
    assert works(queue) and works(queue) and queue.pool.pids() == pids
    assert queue.length() == 0


@pytest.mark.parametrize(
    ("entry", "kind"), [("illegal", "out_of_bounds"), ("failure", "trap"), ("hang", "limit")]
)
def test_a_poisoned_context_ends_the_worker_and_the_next_request_works(make_queue, entry, kind):
    queue = make_queue()
    assert works(queue)
    before = queue.pool.pids()
    quick = replace(PLAIN, limit_seconds=0.05)
    (outcome,) = queue.run(request(entry, quick)).outcomes
    assert outcome.problems[0].kind == kind
    assert works(queue) and queue.pool.pids() != before


def test_a_fault_that_is_not_sticky_keeps_the_worker(make_queue):
    queue = make_queue()
    assert works(queue)
    before = queue.pool.pids()
    assert queue.run(request("resources")).outcomes[0].problems[0].kind == "limit"
    assert works(queue) and queue.pool.pids() == before


@needs_posix
@pytest.mark.parametrize(
    ("entry", "words"), [("segfault", "killed by SIGSEGV"), ("exit", "exit status 7")]
)
def test_a_crash_is_told_in_words_and_the_next_request_works(make_queue, entry, words):
    queue = make_queue()
    with pytest.raises(Fatal, match=words) as caught:
        queue.run(request(entry))
    assert caught.value.kind == "trap"
    if entry == "exit":
        assert "last words" in str(caught.value)
    assert works(queue)


def test_a_worker_that_does_not_answer_is_killed(make_queue, monkeypatch):
    queue = make_queue()
    assert works(queue)
    (pid,) = queue.pool.pids()
    monkeypatch.setattr("tileviz.runners.gpu.client._GRACE_SECONDS", 0.2)
    monkeypatch.setattr(Settings, "total_seconds", property(lambda self: 0.2))
    with pytest.raises(Fatal, match="held the GPU too long") as caught:
        queue.run(request("spin"))
    assert caught.value.kind == "limit"
    monkeypatch.undo()
    if sys.platform == "linux":
        wait_until(lambda: gone(pid))
    assert works(queue)


@needs_linux
def test_garbage_in_the_pipe_is_no_answer(make_queue):
    queue = make_queue()
    with pytest.raises(RunnerUnavailable, match=r"the GPU worker: .*no frame"):
        queue.run(request("garbage"))
    assert works(queue)


def test_device_printf_never_reaches_the_protocol(make_queue):
    (outcome,) = make_queue().run(request("print")).outcomes
    assert outcome.outputs["y"].tolist() == (2 * X).tolist()


def test_an_answer_that_makes_no_sense_is_said_to(make_queue, monkeypatch):
    queue = make_queue()
    real = queue.pool.submit

    def submit(header, arrays, *, timeout):
        header["programs"][0]["parameters"][1]["dtype"] = "float64"  # the worker answers this
        return real(header, arrays, timeout=timeout)

    monkeypatch.setattr(queue.pool, "submit", submit)
    with pytest.raises(RunnerUnavailable, match="makes no sense"):
        queue.run(request("half"))


@needs_posix
def test_a_worker_killed_between_requests_is_replaced(make_queue):
    queue = make_queue()
    assert works(queue)
    (pid,) = queue.pool.pids()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not queue.pool.pids())
    assert works(queue)


def test_a_worker_that_dies_again_and_again_is_switched_off(make_queue, monkeypatch):
    monkeypatch.setenv("STANDIN_BROKEN", "1")
    queue = make_queue(max_failures=2, cooldown_seconds=3600)
    for _ in range(2):
        with pytest.raises(RunnerUnavailable, match="cannot load the library"):
            queue.facts()
    with pytest.raises(RunnerUnavailable, match="switched off"):
        queue.facts()
    monkeypatch.delenv("STANDIN_BROKEN")
    queue.pool.reset()
    assert works(queue)


def test_twenty_people_are_served_in_order_and_see_their_place(make_queue):
    queue = make_queue(queue_limit=32)
    blocker = threading.Thread(target=lambda: queue.run(request("slow")))
    assert works(queue)
    places: dict[int, list[int]] = {number: [] for number in range(20)}
    served, lock = [], threading.Lock()

    def person(number):
        queue.run(request("slow"), on_queue=places[number].append)
        with lock:
            served.append(number)

    blocker.start()
    people = []
    for number in range(20):
        people.append(threading.Thread(target=person, args=(number,)))
        people[-1].start()
        wait_until(lambda number=number: queue.length() == number + 2 or served)
    for thread in (*people, blocker):
        thread.join(60)
    assert sorted(served) == list(range(20)) and queue.length() == 0
    seen = [places[number] for number in range(20)]
    assert max(seen[19]) > 0
    for mine in seen:  # a place in the queue only gets better
        assert mine == sorted(mine, reverse=True)


def test_a_full_queue_says_busy_at_once(make_queue):
    queue = make_queue(queue_limit=1)
    assert works(queue)
    left = threading.Event()

    class Left(Exception):
        pass

    def wait_for_it():
        if left.is_set():
            raise Left

    def hold():
        with pytest.raises(Left):
            queue.run(request("spin"), on_wait=wait_for_it)

    holder = threading.Thread(target=hold)
    holder.start()
    wait_until(lambda: queue.length() == 1)
    waiter = threading.Thread(target=lambda: queue.run(request("double")))
    waiter.start()
    wait_until(lambda: queue.length() == 2)
    with pytest.raises(RunnerUnavailable, match="the GPU is busy"):
        queue.run(request("double"))
    left.set()
    for thread in (holder, waiter):
        thread.join(30)
    assert works(queue)


def test_a_visitor_who_leaves_stops_the_kernel(make_queue):
    queue = make_queue()
    assert works(queue)
    (pid,) = queue.pool.pids()

    class Left(Exception):
        pass

    def leave():
        raise Left

    with pytest.raises(Left):
        queue.run(request("spin"), on_wait=leave)
    if sys.platform == "linux":
        wait_until(lambda: gone(pid))
    assert works(queue)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cuInit failed: no CUDA-capable device is detected", "the driver finds no GPU"),
        ("cuInit failed: CUDA driver is a stub library", "stub"),
        ("x.so: undefined symbol: cuCtxCreate_v4", "--force"),
        ("cuDevicePrimaryCtxRetain failed: devices are busy or unavailable", "another process"),
        ("cuDevicePrimaryCtxRetain failed: out of memory", "no memory left"),
    ],
)
def test_a_machine_without_a_usable_device_says_why(make_queue, monkeypatch, text, words):
    monkeypatch.setenv("STANDIN_FAULT", text)
    queue = make_queue()
    with pytest.raises(RunnerUnavailable, match=words):
        queue.run(request("double"))
    monkeypatch.delenv("STANDIN_FAULT")
    assert works(queue)  # looked for again: a driver can come


def test_too_large_for_the_device_is_refused(make_queue, monkeypatch):
    monkeypatch.setenv("STANDIN_FREE", str(1 << 19))
    with pytest.raises(RunnerUnavailable, match=r"the buffers take 0\.3 MiB"):
        make_queue().run(request("double"))


PARENT = """
import sys, threading, time
sys.path.insert(0, sys.argv[2])
from tileviz.workers import WorkerPool
from tileviz.runners.gpu.client import GpuQueue
import test_gpu_worker as here
queue = GpuQueue(WorkerPool("gpu_standin", size=1, search=[sys.argv[1]]))
assert here.works(queue)
print(queue.pool.pids()[0], flush=True)
threading.Thread(target=lambda: queue.run(here.request("spin")), daemon=True).start()
{ending}
"""


@needs_linux
@pytest.mark.parametrize("ending", ["time.sleep(3600)", "time.sleep(0.3)"])
def test_no_worker_outlives_its_server(ending):
    here = Path(__file__).parent
    script = PARENT.format(ending=ending)
    root = str(here.parents[1])
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(here / "standin"), str(here)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": root},
        cwd=root,
    )
    try:
        pid = int(parent.stdout.readline())
        if ending == "time.sleep(3600)":
            parent.kill()
        parent.wait(60)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_until(lambda: gone(pid))


def test_a_process_has_one_queue():
    assert shared_queue() is shared_queue() and isinstance(shared_queue(), GpuQueue)
    assert shared_queue().pool.pids() == []  # and starts nothing by itself
