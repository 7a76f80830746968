"""Planted faults on a real device: each is reported in words, and the next request works."""

import threading
import time

import numpy as np
import pytest

from tileviz.runners.gpu.client import Fatal
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.protocol import RunnerUnavailable

pytestmark = pytest.mark.gpu

TWICE = 'extern "C" __global__ void k(int* x) { x[threadIdx.x] *= 2; }'
X = np.arange(32, dtype=np.int32)


def kept(array):
    """Return an array that may only be read: an input."""
    array.flags.writeable = False
    return array


@pytest.fixture
def works(launch, queue, measured):
    """Check that the next request is served, and note how long it waits for a new worker."""

    def check(after, expect_new=True):
        before = queue.pool.pids()
        start = time.perf_counter()
        (outcome,) = launch(TWICE, x=X).outcomes
        seconds = time.perf_counter() - start
        assert outcome.problems == () and outcome.outputs["x"].tolist() == (2 * X).tolist()
        measured(f"after {after}: the next answer came {seconds:.2f} s later")
        if expect_new:
            assert queue.pool.pids() != before

    return check


@pytest.mark.parametrize(
    ("index", "side", "element"), [(32, "after", 32), (-1, "before", -1), (1000, "after", 1000)]
)
def test_a_write_into_the_guard_is_found(launch, works, index, side, element):
    source = f'extern "C" __global__ void k(int* x) {{ if (threadIdx.x == 0) x[{index}] = 7; }}'
    (problem,) = launch(source, x=X).outcomes[0].problems
    assert (problem.kind, problem.buffer) == ("out_of_bounds", "x")
    assert f"{side} x: nearest is element {element}," in problem.message
    works(f"a write {side} a buffer", expect_new=False)


def test_a_stray_read_brings_a_nan(launch):
    source = 'extern "C" __global__ void k(const float* x, float* y) { y[threadIdx.x] = x[32]; }'
    answer = launch(source, x=kept(np.ones(32, np.float32)), y=("float32", 32))
    assert np.isnan(answer.outcomes[0].outputs["y"]).all()


def test_a_write_to_an_input_is_found(launch):
    source = 'extern "C" __global__ void k(int* x, int* y) { x[0] = 99; y[threadIdx.x] = 1; }'
    answer = launch(source, x=kept(X.copy()), y=("int32", 32))
    assert answer.outcomes[0].problems[0].message == "k wrote to its input x"


def test_an_element_that_is_never_written_shows(launch):
    source = 'extern "C" __global__ void k(int* y) { if (threadIdx.x) y[threadIdx.x] = -1; }'
    outputs = launch(source, y=("int32", 32)).outcomes[0].outputs["y"]
    assert outputs.tolist() == [0x5A5A5A5A] + [-1] * 31


@pytest.mark.parametrize(
    ("body", "kinds", "words"),
    [
        ("*(volatile int*)0x10 = 1;", {"out_of_bounds"}, "illegal memory access"),
        ("*(int2*)((char*)x + 4) = int2{1, 2};", {"misaligned"}, "misaligned"),
        ("__trap();", {"trap"}, ""),
    ],
)
def test_a_sticky_error_ends_the_worker(launch, works, measured, body, kinds, words):
    answer = launch(f'extern "C" __global__ void k(int* x) {{ {body} }}', x=X)
    (problem,) = answer.outcomes[0].problems
    measured(f"{body}: {problem.kind}: {problem.message}")
    assert problem.kind in kinds and words in problem.message
    works(body)


def test_shared_memory_out_of_bounds_does_not_end_us(launch, works, measured):
    source = (
        'extern "C" __global__ void k(int* x) { __shared__ int s[32]; '
        "s[x[0] + 1000000] = 1; x[threadIdx.x] = s[threadIdx.x]; }"
    )
    problems = launch(source, x=X).outcomes[0].problems
    measured(f"shared memory out of bounds: {[p.message for p in problems]}")
    assert problems
    works("shared memory out of bounds")


def test_a_kernel_that_never_ends_is_stopped(launch, works, measured):
    source = (
        'extern "C" __global__ void k(int* x) { volatile int* v = x; while (v[0] != -12345) {} }'
    )
    start = time.perf_counter()
    settings = Settings(timing=False, limit_seconds=1.0)
    (problem,) = launch(source, x=X, settings=settings).outcomes[0].problems
    measured(f"a kernel that never ends: reported after {time.perf_counter() - start:.2f} s")
    assert problem.kind == "limit" and "more than 1 s" in problem.message
    works("a kernel that never ends")


def test_a_visitor_who_leaves_stops_a_kernel_that_never_ends(launch, queue, works):
    class Left(Exception):
        pass

    def leave():
        raise Left

    source = (
        'extern "C" __global__ void k(int* x) { volatile int* v = x; while (v[0] != -12345) {} }'
    )
    real = queue.run
    queue.run = lambda request: real(request, on_wait=leave)
    try:
        with pytest.raises(Left):
            launch(source, x=X, settings=Settings(timing=False, limit_seconds=60.0))
    finally:
        del queue.run
    works("a visitor left")


def test_too_many_resources_keep_the_worker(launch, works, facts):
    source = 'extern "C" __global__ void k(int* x) { extern __shared__ int s[]; x[0] = s[0]; }'
    (problem,) = launch(source, x=X, shared_bytes=facts.shared_bytes + 4096).outcomes[0].problems
    assert problem.kind == "limit" and "memory" in problem.message
    works("too much shared memory", expect_new=False)


def test_a_request_over_the_memory_cap_is_refused(launch, works):
    settings = Settings(timing=False, memory_bytes=1 << 16)
    with pytest.raises(RunnerUnavailable, match="the buffers take"):
        launch(TWICE, x=X, settings=settings)
    works("a refusal", expect_new=False)


def test_device_printf_goes_to_the_log(launch, works):
    launch('extern "C" __global__ void k(int* x) { printf("hello\\n"); }', x=X)
    works("printf", expect_new=False)


def test_twenty_people_at_once(launch, queue):
    assert launch(TWICE, x=X).outcomes[0].problems == ()
    right, lock = [], threading.Lock()

    def person():
        try:
            (outcome,) = launch(TWICE, x=X).outcomes
        except (Fatal, RunnerUnavailable) as error:
            outcome = error
        with lock:
            right.append(getattr(outcome, "problems", outcome) == ())

    people = [threading.Thread(target=person) for _ in range(20)]
    for thread in people:
        thread.start()
    for thread in people:
        thread.join(60)
    assert right == [True] * 20 and len(queue.pool.pids()) == 1
