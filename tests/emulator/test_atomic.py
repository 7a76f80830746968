"""Atomics against a sequential reference: lanes in ascending order."""

import random

import numpy as np
import pytest

TEMPLATE = """
.version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 mem, .param .u64 at, .param .u64 x, .param .u64 y, .param .u64 old) {{
  .reg .b32 %r<4>; .reg .b{width} %v<4>; .reg .b64 %rd<9>;
  {shared}
  mov.u32 %r1, %tid.x;
  ld.param.u64 %rd1, [at]; mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r2, [%rd2];
  ld.param.u64 %rd1, [x]; mad.wide.u32 %rd2, %r1, {bytes}, %rd1; ld.global.u{width} %v1, [%rd2];
  ld.param.u64 %rd1, [y]; mad.wide.u32 %rd2, %r1, {bytes}, %rd1; ld.global.u{width} %v2, [%rd2];
  ld.param.u64 %rd3, [mem];
  {before}
  mad.wide.u32 %rd4, %r2, {bytes}, {base};
  {atomic}
  ld.param.u64 %rd1, [old]; mad.wide.u32 %rd2, %r1, {bytes}, %rd1; st.global.u{width} [%rd2], %v3;
  {after}
  ret; }}
"""

SLOTS, LANES = 7, 64


def signed(value, kind):
    width = int(kind[1:])
    return value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value


def updates(kind):
    top = (1 << int(kind[1:])) - 1
    s = lambda v: signed(v, kind)  # noqa: E731
    return {
        "add": lambda m, x, y: m + x & top,
        "min": lambda m, x, y: min(m, x, key=s),
        "max": lambda m, x, y: max(m, x, key=s),
        "and": lambda m, x, y: m & x,
        "or": lambda m, x, y: m | x,
        "xor": lambda m, x, y: m ^ x,
        "exch": lambda m, x, y: x,
        "cas": lambda m, x, y: y if m == x else m,
        "inc": lambda m, x, y: 0 if m >= x else m + 1,
        "dec": lambda m, x, y: x if m == 0 or m > x else m - 1,
    }


CASES = [
    *((name, kind) for name in ("add", "min", "max") for kind in ("u32", "s32", "u64", "s64")),
    *((name, kind) for name in ("and", "or", "xor", "exch", "cas") for kind in ("b32", "b64")),
    ("inc", "u32"),
    ("dec", "u32"),
]
CASES.remove(("add", "s64"))  # PTX has no such form
FORMS = [
    (*case, form)
    for case in CASES
    for form in ("atom", "red")
    if form == "atom" or case[0] not in ("exch", "cas")
]


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize(("name", "kind", "form"), FORMS)
def test_integer_atomics(run_ptx, space, name, kind, form):
    width = int(kind[1:])
    source = random.Random(f"{name}{kind}")
    small = name in ("inc", "dec", "cas")
    bits = 3 if small else width
    memory = [source.getrandbits(bits) for _ in range(SLOTS)]
    at = [source.randrange(SLOTS) for _ in range(LANES)]
    x, y = ([source.getrandbits(bits) for _ in range(LANES)] for _ in range(2))
    update = updates(kind)[name]
    now, found = list(memory), []
    for lane in range(LANES):
        found.append(now[at[lane]])
        now[at[lane]] = update(now[at[lane]], x[lane], y[lane])
    named = "" if space == "generic" else f".{space}"
    operands = "[%rd4], %v1" + (", %v2" if name == "cas" else "")
    atomic = f"atom{named}.{name}.{kind} %v3, {operands};"
    if form == "red":
        atomic = f"red{named}.{name}.{kind} {operands}; mov.b{width} %v3, 0;"
    copies = {
        "shared": f".shared .align 8 .b8 s[{SLOTS * width // 8}];",
        "before": f"""mov.u64 %rd5, s; rem.u32 %r3, %r1, {SLOTS};
            mad.wide.u32 %rd6, %r3, {width // 8}, %rd3; mad.wide.u32 %rd7, %r3, {width // 8}, %rd5;
            .reg .pred %q; setp.lt.u32 %q, %r1, {SLOTS};
            @%q ld.global.u{width} %v3, [%rd6]; @%q st.shared.u{width} [%rd7], %v3; bar.sync 0;""",
        "after": f"""bar.sync 0; @%q ld.shared.u{width} %v3, [%rd7];
            @%q st.global.u{width} [%rd6], %v3;""",
    }
    if space != "shared":
        copies = dict.fromkeys(copies, "")
    run = run_ptx(
        TEMPLATE.format(
            width=width,
            bytes=width // 8,
            base="%rd5" if space == "shared" else "%rd3",
            atomic=atomic,
            **copies,
        ),
        block=LANES,
        arguments={
            "mem": np.array(memory, f"uint{width}"),
            "at": np.array(at, np.uint32),
            "x": np.array(x, f"uint{width}"),
            "y": np.array(y, f"uint{width}"),
            "old": ("out", f"uint{width}", LANES),
        },
    )
    assert run.problems == ()
    assert run.outputs["mem"].tolist() == now
    if form == "atom":
        assert run.outputs["old"].tolist() == found
    atomics = [a for a in run.accesses if a.op == "atom"]
    assert [(a.space, a.bytes) for a in atomics] == [
        ("shared" if space == "shared" else "global", width // 8)
    ]


@pytest.mark.parametrize("kind", ["float", "double", "__half", "__half2", "__nv_bfloat162"])
def test_floating_sums_follow_the_lanes(run_cuda, kind):
    source = f"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void k({kind}* sum, const {kind}* x, {kind}* old) {{
    int i = threadIdx.x;
    old[i] = atomicAdd(&sum[i % 3], x[i]);
    atomicAdd(&sum[3], x[i]);
}}
"""
    name = {"float": "float32", "double": "float64", "__half": "float16"}.get(kind, "float16")
    per = 2 if kind.endswith("2") else 1
    x = np.random.default_rng(0).standard_normal(64 * per).astype(name)
    if "bfloat" in kind:
        x = (np.random.default_rng(0).integers(0, 5, 64 * per) * 0x80 + 0x3F80).astype(np.uint16)
    x = x.reshape(64, per)
    sums = np.zeros((4, per), x.dtype)
    old = np.zeros_like(x)

    def total(a, b):
        if "bfloat" in kind:
            wide = (
                np.array([v.astype(np.uint32) << 16], np.uint32).view(np.float32) for v in (a, b)
            )
            return ((sum(wide)[0]).view(np.uint32) >> 16).astype(np.uint16)
        return a + b

    want = sums.copy()
    for lane in range(64):
        old[lane] = want[lane % 3]
        want[lane % 3] = total(want[lane % 3], x[lane])
    for lane in range(64):
        want[3] = total(want[3], x[lane])
    if "bfloat" in kind:  # small whole numbers below 256: every sum there is exact or rounds rarely
        assert np.array_equal(old[0], np.zeros(per))
    run = run_cuda(
        source,
        block=64,
        arch="compute_90" if "bfloat" in kind else "compute_80",
        arguments={
            "sum": sums.reshape(-1),
            "x": x.reshape(-1),
            "old": ("out", str(x.dtype), x.size),
        },
    )
    assert run.problems == ()
    if "bfloat" not in kind:
        assert np.array_equal(run.outputs["sum"], want.reshape(-1))
        assert np.array_equal(run.outputs["old"], old.reshape(-1))
