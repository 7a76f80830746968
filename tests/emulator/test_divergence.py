"""Lanes that go different ways: loops, branches, tables, calls, locks."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.cuda.kernel import Buffer
from tileviz.emulator import Limits, UnsupportedError, emulate

# -- random structured programs --------------------------------------------------------------------
#
# A program is a list of statements over four variables of a thread; w starts as the thread number.
#   ("set", target, source, constant)   target = target * 3 + source + constant
#   ("if", variable, bit, then, otherwise)
#   ("loop", variable, mask, body)      repeat (variable & mask) times
#   ("leave", variable, bit)            return from the kernel if the bit is set
VARIABLES = ["w", "x", "y", "z"]
_name = st.sampled_from(VARIABLES)
_simple = st.one_of(
    st.tuples(st.just("set"), _name, _name, st.integers(0, 9)),
    st.tuples(st.just("leave"), _name, st.integers(3, 6)),
)
programs = st.recursive(
    st.lists(_simple, min_size=1, max_size=3),
    lambda inner: st.lists(
        st.one_of(
            _simple,
            st.tuples(st.just("if"), _name, st.integers(0, 3), inner, inner),
            st.tuples(st.just("loop"), _name, st.sampled_from([1, 3]), inner),
        ),
        min_size=1,
        max_size=3,
    ),
    max_leaves=6,
)


class Leave(Exception):
    pass


def interpret(program, state):
    """Run a program for one thread, plainly."""
    for statement in program:
        kind = statement[0]
        if kind == "set":
            _, target, source, constant = statement
            state[target] = (state[target] * 3 + state[source] + constant) & 0xFFFFFFFF
        elif kind == "leave":
            if state[statement[1]] >> statement[2] & 1:
                raise Leave
        elif kind == "if":
            _, variable, bit, then, otherwise = statement
            interpret(then if state[variable] >> bit & 1 else otherwise, state)
        else:
            _, variable, mask, body = statement
            for _ in range(state[variable] & mask):
                interpret(body, state)


class Writer:
    """Writes a program as PTX."""

    def __init__(self):
        self.lines = []
        self.labels = 0
        self.counters = 0

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def write(self, program):
        for statement in program:
            getattr(self, statement[0])(*statement[1:])

    def set(self, target, source, constant):
        self.lines += [
            f"mad.lo.u32 %t, %{target}, 3, %{source};",
            f"add.u32 %{target}, %t, {constant};",
        ]

    def test(self, variable, bit):
        self.lines += [f"and.b32 %t, %{variable}, {1 << bit};", "setp.ne.u32 %p, %t, 0;"]

    def leave(self, variable, bit):
        self.test(variable, bit)
        self.lines.append("@%p bra END;")

    def loop(self, variable, mask, body):
        self.counters += 1
        counter, top, end = f"%c{self.counters}", self.label(), self.label()
        self.lines += [f"and.b32 {counter}, %{variable}, {mask};", f"{top}:"]
        self.lines += [f"setp.eq.u32 %p, {counter}, 0;", f"@%p bra {end};"]
        self.write(body)
        self.lines += [f"sub.u32 {counter}, {counter}, 1;", f"bra {top};", f"{end}:"]

    def write_if(self, variable, bit, then, otherwise):
        other, end = self.label(), self.label()
        self.test(variable, bit)
        self.lines.append(f"@!%p bra {other};")
        self.write(then)
        self.lines += [f"bra {end};", f"{other}:"]
        self.write(otherwise)
        self.lines.append(f"{end}:")


setattr(Writer, "if", Writer.write_if)


@settings(max_examples=60, deadline=None)
@given(program=programs)
def test_every_thread_computes_what_it_would_alone(program):
    writer = Writer()
    writer.write(program)
    threads = 40
    stores = "\n".join(f"st.global.u32 [%rd2+{4 * i}], %{v};" for i, v in enumerate(VARIABLES))
    ptx = f"""
    .version 8.8
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 out) {{
      .reg .b32 %w, %x, %y, %z, %t, %b; .reg .b32 %c<{writer.counters + 1}>;
      .reg .b64 %rd<3>; .reg .pred %p;
      mov.u32 %w, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %w, %b, {threads}, %w;
      mov.u32 %x, 1; mov.u32 %y, 2; mov.u32 %z, 3;
      ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %w, 16, %rd1;
      {chr(10).join(writer.lines)}
      END: {stores} ret; }}
    """
    run = emulate(
        ptx,
        source="",
        entry="k",
        grid=(2, 1, 1),
        block=(threads, 1, 1),
        parameters=[Buffer("out", "uint32", (2 * threads * 4,), "out")],
        arrays={},
    )
    assert run.problems == ()
    for thread in range(2 * threads):
        state = dict(zip(VARIABLES, (thread, 1, 2, 3), strict=True))
        with contextlib.suppress(Leave):
            interpret(program, state)
        got = run.outputs["out"][4 * thread : 4 * thread + 4].tolist()
        assert got == [state[v] for v in VARIABLES], f"thread {thread}"


# -- particular shapes -----------------------------------------------------------------------------


def test_lanes_meet_again_after_a_loop(run_cuda):
    """Whoever leaves a loop early waits, so that the code after it runs once for all."""
    source = """
extern "C" __global__ void k(const int* n, int* out) {
    int i = threadIdx.x, sum = 0;
    for (int j = 0; j < n[i]; ++j) sum += j;
    out[i] = sum;
}
"""
    n = np.random.default_rng(0).integers(0, 30, 64).astype(np.int32)
    run = run_cuda(source, block=64, arguments={"n": n, "out": ("out", "int32", 64)})
    assert np.array_equal(run.outputs["out"], n * (n - 1) // 2)
    stores = next(a for a in run.accesses if a.op == "st")
    assert stores.executions == 2
    assert stores.active.all()


@pytest.mark.parametrize("memory", ["global", "shared"])
def test_a_spinlock_ends_and_is_no_race(run_cuda, memory):
    where = "__shared__ int lock, count;" if memory == "shared" else ""
    source = f"""
extern "C" __global__ void k(int* data) {{
    {where or "int &lock = data[0], &count = data[1];"}
    {"if (threadIdx.x == 0) lock = count = 0; __syncthreads();" if where else ""}
    bool done = false;
    while (!done) {{
        if (atomicCAS(&lock, 0, 1) == 0) {{
            __threadfence();
            count = count + 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }}
    }}
    {"__syncthreads(); data[1] = count;" if where else ""}
}}
"""
    run = run_cuda(
        source,
        block=40,
        arguments={"data": np.zeros(2, np.int32)},
        limits=Limits(thread_instructions=3_000_000),
    )
    assert run.problems == ()
    assert run.outputs["data"][1] == 40


def test_a_lock_held_across_a_spin_loop_ends(run_cuda):
    """The holder is further on than those who spin: lowest-first alone would never run it."""
    source = """
extern "C" __global__ void k(volatile int* flag, int* out) {
    if (threadIdx.x != 5) { while (flag[0] == 0) { } }
    else { flag[0] = 1; }
    out[threadIdx.x] = 1;
}
"""
    run = run_cuda(
        source,
        arguments={"flag": np.zeros(1, np.int32), "out": np.zeros(32, np.int32)},
        limits=Limits(thread_instructions=2_000_000),
    )
    assert run.problems == ()
    assert run.outputs["out"].sum() == 32


def test_branch_tables(run_ptx):
    ptx = """
    .version 8.8
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 out) {
      .reg .b32 %r<4>; .reg .b64 %rd<3>;
      mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3;
      ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r1, 4, %rd1;
      ts: .branchtargets A, B, C, A;
      brx.idx %r2, ts;
      A: mov.u32 %r3, 10; bra END;
      B: mov.u32 %r3, 20; bra END;
      C: mov.u32 %r3, 30;
      END: st.global.u32 [%rd2], %r3; ret; }
    """
    run = run_ptx(ptx, arguments={"out": ("out", "uint32", 32)})
    assert run.outputs["out"].tolist() == [10, 20, 30, 10] * 8


def test_a_switch_of_the_compiler(run_cuda):
    cases = "".join(f"case {i}: r = x[{i * 7 % 12}] * {i + 3} + {i}; break;\n" for i in range(12))
    source = f"""
extern "C" __global__ void k(const int* x, int* out) {{
    int i = threadIdx.x, r = -1;
    switch (x[i]) {{ {cases} }}
    out[i] = r;
}}
"""
    x = np.random.default_rng(1).integers(0, 14, 64).astype(np.int32)
    run = run_cuda(source, block=64, arguments={"x": x, "out": ("out", "int32", 64)})
    want = [int(x[v * 7 % 12]) * (v + 3) + v if v < 12 else -1 for v in x.tolist()]
    assert run.outputs["out"].tolist() == want


@pytest.mark.parametrize("arch", ["compute_80", "compute_121"])
def test_calls_with_values_and_pointers(run_cuda, arch):
    source = """
struct Pair { float a; int b; };
__device__ __noinline__ Pair mix(Pair p, float* table, int i) {
    Pair q;
    q.a = p.a * table[i];
    q.b = p.b + i;
    return q;
}
__device__ __noinline__ float power(float x, int n) {
    float r = 1.0f;
    for (int i = 0; i < n; ++i) r *= x;
    return r;
}
__device__ __noinline__ void bump(float* x) { *x += 1.0f; }
extern "C" __global__ void k(float* x, float* out) {
    int i = threadIdx.x;
    float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    Pair p; p.a = x[i]; p.b = i;
    p = mix(p, table, i & 3);
    if (i & 1) p = mix(p, x, i);
    bump(&p.a);
    out[i] = power(p.a, i % 5) + p.b;
}
"""
    x = (np.arange(32) % 7 / 4).astype(np.float32)
    run = run_cuda(source, arch=arch, arguments={"x": x, "out": ("out", "float32", 32)})
    assert run.problems == ()
    want = []
    for i in range(32):
        a, b = x[i] * np.float32(i % 4 + 1), i + i % 4
        if i & 1:
            a, b = a * x[i], b + i
        a, r = a + np.float32(1), np.float32(1)
        for _ in range(i % 5):
            r = r * a
        want.append(r + np.float32(b))
    assert run.outputs["out"].tolist() == [float(w) for w in want]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('printf("%d", threadIdx.x);', "printf is not available in the emulator, line 6"),
        ("out[0] = down(out[1]);", "recursive call of _Z4downi"),
        ("out[0] = (which ? one : two)(out[1]);", "indirect calls are not emulated"),
        ("out[0] = *(int*)malloc(4);", "malloc is not available"),
        (
            'asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(0));',
            r"unsupported PTX instruction mbarrier\.init\.shared\.b64, line 6",
        ),
    ],
)
def test_what_is_not_emulated_is_refused_by_name(run_cuda, body, message):
    source = f"""
__device__ __noinline__ int down(int n) {{ return n < 2 ? n : down(n - 1) + down(n - 2); }}
__device__ __noinline__ int one(int n) {{ return n + 1; }}
__device__ __noinline__ int two(int n) {{ return n + 2; }}
extern "C" __global__ void k(int* out, int which) {{
    {body}
}}
"""
    with pytest.raises(UnsupportedError, match=message):
        run_cuda(source, arguments={"out": np.zeros(4, np.int32), "which": np.int32(0)})


def test_a_barrier_that_votes(run_cuda):
    source = """
extern "C" __global__ void k(const int* x, int* out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    int p = x[i] > 5;
    int any = __syncthreads_or(p) ? 2 : 0, all = __syncthreads_and(p) ? 1 : 0;
    out[i] = __syncthreads_count(p) * 4 + any + all;
}
"""
    x = np.concatenate([np.full(64, 9), np.arange(64) % 9, np.zeros(64)]).astype(np.int32)
    run = run_cuda(source, grid=3, block=64, arguments={"x": x, "out": ("out", "int32", 192)})
    count = (np.arange(64) % 9 > 5).sum()
    assert run.outputs["out"][::64].tolist() == [64 * 4 + 3, count * 4 + 2, 0]


def test_a_trap_names_its_place(run_cuda):
    source = """
extern "C" __global__ void k(int* out) {
    if (out[threadIdx.x] == 7) __trap();
    out[threadIdx.x] = 1;
}
"""
    run = run_cuda(source, arguments={"out": np.arange(32, dtype=np.int32)})
    assert [p.kind for p in run.problems] == ["trap"]
    assert run.problems[0].message == "trap executed: block (0,0,0) thread (7,0,0), line 3"
