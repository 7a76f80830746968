"""What pages show of a broadcast plan: words, pictures, traffic and bandwidth."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileviz.cuda import library
from tileviz.cuda.kernel import Kernel
from tileviz.export.links import from_query, to_query
from tileviz.export.snippets import standalone_cu
from tileviz.runners import run_kernel
from tileviz.studies.broadcast.axes import classify
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.explain import block_sizes, cards, samples, tables, verdict
from tileviz.studies.broadcast.kernel import kernel, prepare
from tileviz.studies.broadcast.picture import NOTHING, picture
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.broadcast.portion import VERSIONS
from tileviz.studies.broadcast.traffic import traffic
from tileviz.studies.design import validated
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import presets

PRESETS = {preset.name: preset for preset in presets() if preset.study == "broadcast"}
needs_nvrtc = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")


def planned(operands: Any, out: Any, **fields: Any) -> BroadcastPlan:
    return plan(validated(BroadcastDesign, {"operands": operands, "out": out, **fields}))


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operands", "out", "state", "words"),
    [
        ([[192]], [64, 56, 56, 192], "ok", "4 loads a thread before, 1 after"),
        ([[33]], [64, 56, 56, 33], "reject", "channels are not a multiple of 32"),
        ([[1, 2, 1, 1]], [262148, 2, 4, 8], "attention", "no device launches its 2 × 65537"),
        ([[32]], [2, 4, 8, 32], "attention", "1 load a thread before"),
        ([[8, 16]], [8, 16], "reject", "no axis is broadcast"),
        ([[1, 64, 1, 1]], [-1, 64, 16, 16], "ok", "1 load a thread"),
        ([[16, 8]], [8, 16], "reject", "neither elementwise"),
    ],
)
def test_verdicts(operands: Any, out: Any, state: str, words: str) -> None:
    decided = planned(operands, out)
    said = verdict(decided)
    assert (said.state, words in said.sentence) == (state, True), said.sentence
    assert said.sentence.endswith(".") and said.facts.endswith(".")
    assert len(cards(decided)) == 3
    for table in tables(decided):
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_axes_are_classified_for_every_operand() -> None:
    axes = classify(planned([[1, 64, 1, 1], [64, 16, 16]], [8, 64, 16, 16]).design)
    assert [axis.group for axis in axes] == ["low", "preserved", "preserved", "preserved"]
    assert [axis.varies for axis in axes] == [
        (False, False),
        (True, True),
        (False, True),
        (False, True),
    ]


def test_the_finder_needs_known_channels() -> None:
    assert len(block_sizes(planned([[192]], [64, 192]))) == 32
    assert block_sizes(planned([[1, 64, 1]], [8, 64, -1])) == ()


def test_samples_are_announced() -> None:
    before, cinn, ours = samples(planned([[192]], [256, 64, 64, 192]))
    assert all("of 201,326,592 elements" in note for note in (before, cinn, ours))
    assert samples(planned([[192]], [8, 192])) == ("", "", "")


# -- pictures --------------------------------------------------------------------------------------


def test_picture_of_the_tactics_own_example() -> None:
    seed = planned([[192]], [64, 56, 56, 192])
    before, cinn = picture(seed, "before"), picture(seed, "cinn")
    assert before.element.shape == (4, 256) and cinn.element.shape == (4, 192)
    assert before.element[2, 5] == 2 * 256 + 5
    assert before.values[2, 5, 0] == (2 * 256 + 5) % 192
    assert before.loads.all() and before.repeated[1:].all() and not before.repeated[0].any()
    assert cinn.loads[0].all() and not cinn.loads[1:].any()
    assert (cinn.values == cinn.values[:1]).all()


def test_picture_of_ours_shows_vectors_that_keep_their_values() -> None:
    shown = picture(planned([[33]], [64, 56, 56, 33]), "ours", block=7)
    assert shown.width == 4 and shown.steps > 2
    assert shown.loads_per_thread == 1 and not shown.repeated.any()
    inside = shown.element != NOTHING
    lanes = shown.element[:, :, None] + np.arange(4)
    assert (shown.values == np.where(inside[:, :, None], lanes % 33, NOTHING)).all()


def test_picture_leaves_out_idle_threads() -> None:
    shown = picture(planned([[32]], [2, 4, 8, 32]), "cinn", block=3)
    assert shown.block == (3, 0) and shown.threads == (128, 1)
    assert (shown.element[0, :32] == 96 + np.arange(32)).all()
    assert (shown.element[0, 32:] == NOTHING).all() and not shown.loads[0, 32:].any()


def test_pictures_of_huge_designs_stay_small() -> None:
    shown = picture(planned([[1024]], [1 << 30, 1024], sm_count=1), "ours")
    assert shown.element.shape == (8, 256) and shown.steps > 1_000_000
    with pytest.raises(IndexError):
        picture(planned([[192]], [8, 192]), "ours", block=10**9)


# -- traffic ---------------------------------------------------------------------------------------


@needs_nvrtc
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_run_verified_with_the_loads_predicted(name: str) -> None:
    decided = plan(PRESETS[name].design)
    for version in VERSIONS:
        small = decided.design.elements <= 1 << 22
        if version == "ours" and decided.ours.kind == "stationary" and not small:
            continue  # one sample of a stationary plan has millions of elements; see below
        try:
            made = prepare(decided, version, whole=None if small else False)
            generated = kernel(decided, version, whole=None if small else False)
        except NotRunnable as reason:
            assert "cannot be launched" in str(reason)
            continue
        compare(made, generated)


@needs_nvrtc
def test_a_published_shape_runs_as_ours() -> None:
    decided = plan(PRESETS["broadcast-published-256x48x48x224"].design)
    compare(prepare(decided, "ours"), kernel(decided, "ours"))


def compare(made: Any, generated: Kernel) -> None:
    done = run_kernel(generated, on="emulator")
    assert done.verified is True and done.problems == ()
    blocks = np.arange(np.prod(made.grid))
    if done.traced_blocks is not None:
        blocks = np.array([x + made.grid[0] * y for x, y, _ in done.traced_blocks])
    predicted = traffic(made, made.predict(blocks), len(blocks))
    assert traffic(made, done.measured, len(blocks)) == predicted
    assert predicted[-1].buffer == "y" and predicted[-1].bytes == 32 * predicted[-1].sectors


def test_loads_per_element_tell_the_versions_apart() -> None:
    seed = planned([[192]], [64, 56, 56, 192])
    found = []
    for version in VERSIONS:
        made = prepare(seed, version)
        operand = traffic(made, made.predict(), len(made.blocks()))[0]
        found.append((operand.per_thread, round(operand.per_element, 3)))
    assert found == [(4, 1), (1, 0.25), (1, round(1 / 60, 3))]


# -- exports ---------------------------------------------------------------------------------------


def test_links_are_complete() -> None:
    for preset in PRESETS.values():
        design, errors = from_query("broadcast", to_query(preset.design))
        assert (design, errors) == (preset.design, ())


def test_exports_build_with_nvcc(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    decided = planned([[33], [40, 1]], [40, 33], dtype="float16", expression="relu")
    (tmp_path / "export.cu").write_text(standalone_cu(kernel(decided)))
    command = [nvcc, "-std=c++17", "-Werror", "all-warnings", "-c", "export.cu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


HOST_PROGRAM = """#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
{reference}
std::vector<unsigned char> load(const char* name) {{
    std::FILE* file = std::fopen(name, "rb");
    std::vector<unsigned char> bytes;
    for (int c; (c = std::fgetc(file)) != EOF;) bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
}}
int main() {{
    std::vector<unsigned char> y({size});
    reference({arguments}, y);
    std::fwrite(y.data(), 1, y.size(), stdout);
}}
"""


@pytest.mark.parametrize("name", ["add", "mul", "scale_shift", "relu(x*a+b)"])
def test_host_check_compares_what_numpy_computes(name: str, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    operands = [[5, 1, 7], [1, 3, 1]]
    generated = kernel(planned(operands, [5, 3, 7], expression=name))
    random = np.random.default_rng(1)
    inputs = {
        buffer.name: random.standard_normal(buffer.count).astype(np.float32)
        for buffer in generated.buffers
        if buffer.role == "in"
    }
    for key, values in inputs.items():
        (tmp_path / key).write_bytes(values.tobytes())
    arguments = ", ".join(f'load("{key}")' for key in inputs)
    program = HOST_PROGRAM.format(
        reference=generated.host_reference, size=4 * 105, arguments=arguments
    )
    (tmp_path / "host.cpp").write_text(program)
    command = [compiler, "-O1", "-ffp-contract=off", "host.cpp", "-o", "host"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./host"], cwd=tmp_path, check=True, capture_output=True)
    assert generated.reference is not None
    assert done.stdout == generated.reference(inputs)["y"].tobytes()
