"""Generated kernels: text, coverage of samples, and runs in the emulator against NumPy."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tileviz.cuda import library
from tileviz.cuda.nvrtc import compile_ptx
from tileviz.memory import Accesses, judge
from tileviz.runners import run_kernel
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.expressions import EXPRESSIONS
from tileviz.studies.broadcast.kernel import kernel, prepare
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.broadcast.portion import VERSIONS, portion
from tileviz.studies.broadcast.vector import VectorSchedule
from tileviz.studies.design import validated
from tileviz.studies.errors import NotRunnable

needs_nvrtc = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")


def planned(operands: Any, out: Any, **fields: Any) -> BroadcastPlan:
    return plan(validated(BroadcastDesign, {"operands": operands, "out": out, **fields}))


def slow(decided: BroadcastPlan, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The expression in plain NumPy and double precision, by broadcasting shapes."""
    design = decided.design
    x = inputs["x"].reshape(design.out).astype(np.float64)
    read = [
        inputs[name].reshape(shape).astype(np.float64)
        for name, shape in zip(design.names, design.shapes, strict=True)
    ]
    with np.errstate(all="ignore"):
        if design.expression == "add":
            result = x + sum(read)
        elif design.expression == "mul":
            result = x * np.prod(np.broadcast_arrays(*read), axis=0)
        elif design.expression == "batchnorm":
            mean, var, scale, bias = read
            result = (x - mean) / np.sqrt(var + 1e-5) * scale + bias
        else:
            result = x * read[0] + read[1]
            if design.expression.startswith("relu"):
                result = np.maximum(result, 0)
    return np.broadcast_to(result, design.out).ravel()


def totals(many: tuple[Accesses, ...]) -> dict[Any, Any]:
    """Instructions, active lanes and sectors by line, operation and width."""
    found: dict[Any, Any] = {}
    for accesses in many:
        key = (accesses.line, accesses.op, accesses.bytes)
        verdict = judge(accesses)
        more = (verdict.executions, int(accesses.active.sum()), verdict.sectors)
        found[key] = tuple(map(sum, zip(found.get(key, (0, 0, 0)), more, strict=True)))
    return found


def run_and_check(decided: BroadcastPlan, version: Any, whole: bool | None = None) -> Any:
    """Run a version, and compare every access of the traced blocks with its prediction."""
    made = prepare(decided, version, whole)
    generated = kernel(decided, version, whole)
    done = run_kernel(generated, on="emulator")
    assert done.problems == ()
    assert done.verified is True, done.mismatch
    blocks = None
    if done.traced_blocks is not None:
        blocks = np.array([x + made.grid[0] * y for x, y, _ in done.traced_blocks])
    predicted = made.predict(np.arange(np.prod(made.grid)) if blocks is None else blocks)
    want, got = totals(predicted), totals(done.measured)
    assert want.keys() == got.keys()
    for key in want:
        if repeated(made, predicted, key):
            assert all(few <= many for few, many in zip(got[key], want[key], strict=True))
        else:
            assert got[key] == want[key], generated.line(key[0])
    return done


def repeated(made: Any, predicted: tuple[Accesses, ...], key: Any) -> bool:
    """Whether a compiler may merge or delay loads that the text shows.

    Threads may load the same value in some of their steps; and where as many vectors as single
    elements are left, both conditions are one, and what they share is loaded behind it.
    """
    names = {a.buffer for a in predicted if (a.line, a.op, a.bytes) == key}
    if not names <= set(made.design.names):
        return False
    schedule = made.schedule
    if isinstance(schedule, VectorSchedule):
        if schedule.vectors == schedule.tail:
            return True
        steps = schedule.plan.unroll * (not schedule.stationary)
    else:
        steps = schedule.serial
    return steps > 2


# -- text ------------------------------------------------------------------------------------------


def test_ours_is_written_for_readers() -> None:
    source = kernel(planned([[192]], [64, 56, 56, 192], expression="batchnorm")).source
    assert "return fmaf((x - mean) * rsqrtf(var + EPSILON), scale, bias);" in source
    assert "const Pack mean_pack = mean_packs[at];" in source
    assert "for (; i + 3 * STRIDE < VECTORS; i += 4 * STRIDE) {" in source
    assert "@{" not in source and "\t" not in source


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    ("operands", "out"),
    [
        ([[192]], [8, 28, 28, 192]),
        ([[33]], [70, 33]),
        ([[64, 1]], [64, 4099]),
        ([[1, 12, 1, 1], [6, 12, 48, 48]], [6, 12, 48, 48]),
    ],
)
def test_text_is_tidy(version: Any, dtype: str, operands: Any, out: Any) -> None:
    source = kernel(planned(operands, out, dtype=dtype), version).source
    lines = source.splitlines()
    assert max(map(len, lines)) <= 100
    assert not re.search(r"[ \t]+$", source, re.MULTILINE)
    assert "\n\n\n" not in source
    depth = 0
    for line in lines:
        text = line.split("//")[0]
        if text.strip() and not text.startswith("          "):
            expected = 4 * (depth - text.strip().startswith("}"))
            assert len(text) - len(text.lstrip()) == expected, source
        depth += text.count("{") - text.count("}")


def test_the_text_does_not_depend_on_the_sample() -> None:
    for operands, out in (
        ([[192]], [256, 64, 64, 192]),
        ([[64, 1, 1]], [512, 64, 64, 64]),
        ([[256, 64, 1, 1]], [256, 64, 112, 112]),
        ([[40, 1, 1, 10007]], [40, 16, 16, 10007]),
    ):
        decided = planned(operands, out)
        for version in VERSIONS:
            whole, part = (kernel(decided, version, w) for w in (True, False))
            lines = [
                pair
                for pair in zip(whole.source.split("\n"), part.source.split("\n"), strict=True)
                if pair[0] != pair[1]
            ]
            assert all(
                text.startswith("constexpr Index VECTORS") for pair in lines for text in pair
            )
            assert len(lines) == (version == "ours" and "VECTORS" in whole.source)
            assert part.buffers[0].count < whole.buffers[0].count


def test_every_stored_result_has_one_bit_pattern_or_a_tolerance() -> None:
    for name in EXPRESSIONS:
        generated = kernel(planned([[64]], [8, 64], expression=name))
        assert generated.tolerance == (4e-6 if name == "batchnorm" else 0)


def test_64_bit_indices() -> None:
    decided = planned([[192]], [1 << 24, 192], dtype="int8")
    ours = kernel(decided, "ours")
    assert "using Index = unsigned long long;" in ours.source
    assert "const Index first = Index(blockIdx.x) * 256 + threadIdx.x;" in ours.source
    assert "Index(blockIdx.x) * 1024 + threadIdx.x" in kernel(decided, "before").source


def test_the_largest_designs_cost_nothing() -> None:
    for operands, out in (([[1024]], [1 << 30, 1024]), ([[1 << 30, 1]], [1 << 30, 1024])):
        decided = planned(operands, out, dtype="int8", sm_count=1)
        for version in VERSIONS:
            assert kernel(decided, version, whole=True).buffers[0].count == 1 << 40
            assert kernel(decided, version).buffers[0].count <= 1 << 26


@pytest.mark.parametrize(
    ("operands", "out", "fields", "version", "reason"),
    [
        ([[1, 64, 1]], [-1, 64, 256], {}, "ours", "known only at run time"),
        ([[16, 8]], [8, 16], {}, "before", "neither elementwise nor a broadcast"),
        ([[64]], [8, 64], {"dtype": "int32", "expression": "batchnorm"}, "ours", "floating type"),
        ([[64]], [8, 64], {"dtype": "float8_e5m2"}, "ours", "no arithmetic is generated"),
        ([[1, 2, 1, 1]], [262148, 2, 4, 8], {}, "cinn", "cannot be launched"),
        ([[2, 70000, 1]], [2, 70000, 2304], {"dtype": "float64"}, "cinn", ""),
    ],
)
def test_what_cannot_run_says_why(
    operands: Any, out: Any, fields: Any, version: Any, reason: str
) -> None:
    decided = planned(operands, out, **fields)
    if reason:
        with pytest.raises(NotRunnable, match=reason):
            kernel(decided, version)
    else:
        assert kernel(decided, version).buffers[0].count > 0


# -- samples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operands", "out", "fields"),
    [
        ([[192]], [256, 64, 64, 192], {"sm_count": 8}),
        ([[96]], [256, 64, 64, 96], {"sm_count": 8}),
        ([[33]], [1 << 20, 33], {"dtype": "bfloat16", "sm_count": 8}),
        ([[64, 1, 1]], [1024, 64, 8, 8], {"sm_count": 8}),
        ([[33, 64, 1, 1]], [33, 64, 128, 128], {}),
        ([[16, 1, 1]], [513, 16, 48, 48], {"sm_count": 8}),
        ([[16, 1, 1]], [257, 16, 24, 25], {}),
        ([[300, 1, 16, 1]], [300, 4, 16, 320], {}),
        ([[50, 1, 1, 2000]], [50, 12, 14, 2000], {"dtype": "float64"}),
    ],
)
def test_samples_write_their_part_and_nothing_else(operands: Any, out: Any, fields: Any) -> None:
    decided = planned(operands, out, **fields)
    for version in VERSIONS:
        part = portion(decided, version, whole=False)
        assert part.elements <= decided.design.elements
        made = prepare(decided, version, whole=False)
        generated = kernel(decided, version, whole=False)
        sizes = {buffer.name: buffer.count for buffer in generated.buffers}
        item = {"float64": 8, "bfloat16": 2}.get(decided.design.dtype, 4)
        written = []
        for accesses in made.predict(np.arange(np.prod(made.grid))):
            places = accesses.addresses[accesses.active]
            end = places.max() + accesses.bytes
            assert places.min() >= 0
            assert end <= sizes[accesses.buffer] * item, (version, accesses.buffer)
            if accesses.op == "st":
                step = np.arange(0, accesses.bytes, item)
                written.append((places[:, None] + step).ravel() // item)
        assert np.array_equal(np.sort(np.concatenate(written)), np.arange(part.elements))


# -- runs ------------------------------------------------------------------------------------------

FORMS: list[tuple[Any, Any]] = [
    ([[192]], [4, 14, 14, 192]),  # a stationary vector
    ([[33]], [16, 14, 14, 33]),  # a gathered one
    ([[33]], [40, 33]),  # wrapped
    ([[64, 1]], [64, 1027]),  # the next row's value
    ([[8, 4, 1, 1]], [8, 4, 64, 64]),  # a row tile
    ([[12, 1, 1]], [6, 12, 48, 48]),  # stationary values
    ([[50, 1, 24]], [50, 3, 24]),  # a vector of every row
    ([[40, 1]], [40, 3]),  # rows shorter than a vector
    ([[1]], [3]),  # nothing but a tail
    ([[8, 1, 256]], [8, 3, 256]),  # one vector a thread, and no tail
]


@needs_nvrtc
@pytest.mark.parametrize(("operands", "out"), FORMS, ids=str)
def test_texts_compile_without_a_warning(operands: Any, out: Any) -> None:
    for sm_count, version in itertools.product((1, 80), VERSIONS):
        decided = planned(operands, out, sm_count=sm_count, expression="mul")
        assert compile_ptx(kernel(decided, version).source).log.strip() == ""


@needs_nvrtc
@pytest.mark.parametrize(("operands", "out"), FORMS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_all_versions_run_as_predicted(operands: Any, out: Any, dtype: str) -> None:
    decided = planned(operands, out, dtype=dtype, sm_count=2)
    for version in VERSIONS:
        run_and_check(decided, version)


@needs_nvrtc
@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_every_expression_and_float_type(name: str, dtype: str) -> None:
    decided = planned([[24]], [97, 24], expression=name, dtype=dtype)
    run_and_check(decided, "ours")


@needs_nvrtc
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
def test_integers_wrap(dtype: str) -> None:
    decided = planned([[7], [19, 1]], [19, 7], expression="scale_shift", dtype=dtype)
    run_and_check(decided, "ours")
    run_and_check(decided, "before")


@needs_nvrtc
def test_samples_run() -> None:
    decided = planned([[1, 64, 1, 1]], [128, 64, 32, 64], expression="relu", dtype="float16")
    for version in VERSIONS:
        run_and_check(decided, version, whole=False)


@needs_nvrtc
def test_the_published_kernel_with_real_variances() -> None:
    decided = planned([[192]], [4, 8, 8, 192], expression="batchnorm")
    random = np.random.default_rng(3)
    var = random.uniform(0.5, 2, 192).astype(np.float32)
    x = random.standard_normal(4 * 64 * 192).astype(np.float32)
    rest = {n: random.standard_normal(192).astype(np.float32) for n in ("mean", "scale", "bias")}
    inputs = {"x": x, "var": var, **rest}
    for version in VERSIONS:
        done = run_kernel(kernel(decided, version), on="emulator", inputs=inputs)
        assert done.verified is True
        assert np.allclose(done.arrays["y"], slow(decided, inputs), rtol=1e-5, atol=1e-5)


@st.composite
def forms(draw: st.DrawFn) -> tuple[list[list[int]], list[int], str, str, int]:
    rank = draw(st.integers(1, 5))
    sizes = st.one_of(
        st.integers(1, 12), st.sampled_from([31, 32, 33, 64, 96, 160, 256, 288, 1024, 2080])
    )
    out: list[int] = []
    for _ in range(rank):
        room = 200_000 // int(np.prod(out, dtype=int))
        out.append(min(draw(sizes), max(1, room)))
    name = draw(st.sampled_from(list(EXPRESSIONS)))
    wanted = len(EXPRESSIONS[name].operands) or draw(st.integers(1, 3))
    operands = []
    for _ in range(wanted):
        keep = draw(st.lists(st.booleans(), min_size=rank, max_size=rank))
        operands.append([extent if kept else 1 for extent, kept in zip(out, keep, strict=True)])
    dtype = draw(st.sampled_from(["float32", "float16", "bfloat16"]))
    return operands, out, name, dtype, draw(st.sampled_from([1, 2, 80]))


@needs_nvrtc
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(forms())
def test_random_shapes_verify_in_all_versions(found: Any) -> None:
    operands, out, name, dtype, sm_count = found
    decided = planned(operands, out, expression=name, dtype=dtype, sm_count=sm_count)
    for version in VERSIONS:
        try:
            run_and_check(decided, version)
        except NotRunnable as reason:
            assert "cannot be launched" in str(reason)


@settings(max_examples=30, deadline=None)
@given(forms())
def test_the_reference_is_the_expression(found: Any) -> None:
    operands, out, name, _, sm_count = found
    decided = planned(operands, out, expression=name, sm_count=sm_count)
    generated = kernel(decided)
    random = np.random.default_rng(1)
    inputs = {
        buffer.name: random.uniform(0.25, 2, buffer.count).astype(np.float32)
        for buffer in generated.buffers
        if buffer.role == "in"
    }
    assert generated.reference is not None
    result = generated.reference(inputs)["y"]
    assert np.allclose(result, slow(decided, inputs), rtol=1e-4, atol=1e-4)


def test_schedules_say_what_a_thread_does() -> None:
    made = prepare(planned([[33]], [64, 56, 33], dtype="float16"), "ours")
    assert isinstance(made.schedule, VectorSchedule)
    walk = made.schedule.walk(np.arange(made.grid[0]))
    assert int((walk.batched | walk.single).sum()) == made.schedule.vectors
