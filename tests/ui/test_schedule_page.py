"""The Block schedule page without a browser: links, edits, presets, faults, the sweep, the runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_reading import page_address, page_html, page_words
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from tileviz.cli import app
from tileviz.studies.registry import make_design, presets
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.ui.schedule import cuda, sweeps, tables

SCHEDULE = "pages/2_Block_schedule.py"
SMALL = {
    "problem": "96,160,64",
    "tile": "32,32,16",
    "policy": "catlass",
    "offset": "2",
    "workers": "4",
    "l2_bytes": "16384",
    "dtype": "float32",
}
LARGE = {"problem": "12800,12800,4096", "tile": "128,128,32", "policy": "triton_grouped"}
Opened = Callable[..., AppTest]


def _group(test: AppTest, key: str) -> Any:
    return test.button_group(key=key)


def _button(test: AppTest, label: str) -> Any:
    return next(button for button in test.button if button.label == label)


def test_the_ragged_grid_is_drawn_and_its_link_written(open_page: Opened) -> None:
    test = open_page(SCHEDULE)
    words = page_words(test)
    assert "L2 hit rate 89.8%; Zn with offset 12 reaches 92.1%." in words
    assert "tail: 96 of 128 rows, 112 of 256 columns" in words
    assert "beats the rule of thumb, catlass Nz 3" in words
    assert page_address(test) == {
        "v": "1",
        "problem": "2400,6000,16384",
        "tile": "128,256,256",
        "policy": "catlass",
        "offset": "3",
        "direction": "nz",
        "workers": "24",
        "l2_bytes": "100663296",
    }


def test_a_cold_link_opens_its_design(open_page: Opened) -> None:
    test = open_page(SCHEDULE, SMALL)
    assert test.text_input(key="schedule.problem").value == "96, 160, 64"
    assert test.text_input(key="schedule.own.offset").value == "2"
    assert "Every tile once, 15 of 15." in page_words(test)


@pytest.mark.parametrize(
    "preset", [one for one in presets() if one.study == "schedule"], ids=lambda one: one.name
)
def test_every_preset_opens(open_page: Opened, preset: Any) -> None:
    test = open_page(SCHEDULE, SMALL)
    test.selectbox(key="schedule.preset").set_value(preset.name).run()
    assert not test.exception
    assert "tv-input-error" not in page_html(test)
    assert test.selectbox(key="schedule.preset").value == preset.name


def test_an_edit_is_drawn_and_changes_the_address(open_page: Opened) -> None:
    test = open_page(SCHEDULE, SMALL)
    test.text_input(key="schedule.own.offset").set_value("3")
    _group(test, "schedule.own.direction").set_value("nz")
    test.run()
    assert not test.exception
    assert page_address(test) == {"v": "1", **SMALL, "offset": "3", "direction": "nz"}


def test_a_new_policy_shows_its_own_parameters(open_page: Opened) -> None:
    test = open_page(SCHEDULE, SMALL)
    test.selectbox(key="schedule.policy").set_value("triton_grouped").run()
    assert test.text_input(key="schedule.own.group_m").value == "8"
    test.text_input(key="schedule.own.group_m").set_value("2").run()
    assert page_address(test)["group_m"] == "2"
    assert "offset" not in page_address(test)
    test.selectbox(key="schedule.policy").set_value("catlass").run()
    assert test.text_input(key="schedule.own.offset").value == "2"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("own.offset", "0", "Offset: "),
        ("own.offset", "9999999999", "Offset: "),
        ("problem", "96, 160", "Problem: "),
        ("tile", "0, 32, 16", "Tile: every size must be between 1 and 4294967295"),
        ("problem", "9999999, 9999999, 1", "at most 4194304"),
        ("l2", "plenty", "L2 cache: a size in MiB is expected"),
        ("batch", "-1", "Batch: "),
    ],
)
def test_a_fault_is_named_and_the_last_picture_stays(
    open_page: Opened, key: str, value: str, said: str
) -> None:
    test = open_page(SCHEDULE, SMALL)
    before = page_address(test)
    test.text_input(key=f"schedule.{key}").set_value(value).run()
    assert not test.exception
    words = page_words(test)
    assert said in words
    assert "The last valid design stays below." in words
    assert "Every tile once, 15 of 15." in words
    assert test.text_input(key=f"schedule.{key}").value == value
    assert page_address(test) == before


@pytest.mark.parametrize(
    "query",
    [
        {**SMALL, "offset": "0"},
        {**SMALL, "direction": "up"},
        {**SMALL, "policy": "alphabetical"},
        {**SMALL, "problem": "1,2,3,4,5"},
        {**SMALL, "workers": "999999999999999999"},
        {**SMALL, "colour": "<img src=x>"},
        {**SMALL, "policy": "custom", "order": "0,0;" * 3000},
        {"problem": "-" * 5000},
        {f"key{number}": "x" for number in range(50)},
    ],
    ids=["offset", "direction", "policy", "sizes", "workers", "markup", "order", "long", "many"],
)
def test_hostile_links_are_reported(open_page: Opened, query: dict[str, str]) -> None:
    test = open_page(SCHEDULE, query)
    assert "tv-input-error" in page_html(test)
    assert "<img" not in page_html(test)
    assert "L2 hit rate" in page_words(test)


def test_a_custom_order_that_misses_a_tile_is_told_which(open_page: Opened) -> None:
    query = {"problem": "2,2,1", "tile": "1,1", "policy": "custom", "order": "0,0;0,1;1,1;1,1"}
    words = page_words(open_page(SCHEDULE, query))
    assert "Not every tile once: 1 missed, the first [1, 0]; 1 repeated, the first [1, 1]" in words
    assert "No CUDA." in words
    assert "Nothing to run." in words


def test_a_wave_can_be_chosen_from_the_keyboard(open_page: Opened) -> None:
    test = open_page(SCHEDULE, SMALL)
    test.number_input(key="schedule.wave").set_value(4).run()
    chart = next(one for one in test.get("plotly_chart") if "Order map" in one.proto.alt)
    assert "wave 4 of 4, tasks 12–14" in chart.proto.alt
    test.number_input(key="schedule.task").set_value(5).run()
    assert test.number_input(key="schedule.wave").value == 2


def test_a_task_of_another_batch_brings_its_batch(open_page: Opened) -> None:
    test = open_page(SCHEDULE, {**SMALL, "batch": "3"})
    assert test.number_input(key="schedule.plane").value == 0
    test.number_input(key="schedule.task").set_value(31).run()
    assert test.number_input(key="schedule.plane").value == 2
    test.number_input(key="schedule.wave").set_value(5).run()
    assert test.number_input(key="schedule.plane").value == 1


def test_what_is_compared_follows_the_best_until_somebody_chooses(open_page: Opened) -> None:
    test = open_page(SCHEDULE)
    assert test.multiselect(key="schedule.compare").value == [
        "row-major",
        "catlass Nz 3",
        "catlass Zn 12",
        "Triton GROUP_M 8",
    ]
    test.multiselect(key="schedule.compare").set_value(["Hilbert"]).run()
    test.text_input(key="schedule.own.offset").set_value("5").run()
    assert not test.exception
    assert test.multiselect(key="schedule.compare").value == ["Hilbert"]
    assert "Hilbert" in page_words(test)


def test_an_order_that_does_not_take_the_grid_says_so(open_page: Opened) -> None:
    # One column, folded by 8: seven of eight launched tiles lie outside, too many of them.
    test = open_page(SCHEDULE, {**SMALL, "problem": "600000,1,1", "tile": "1,1,1"})
    test.multiselect(key="schedule.compare").set_value(["CUTLASS 2.x log 3"]).run()
    assert not test.exception
    assert "at most 4194304" in page_words(test)


@pytest.fixture
def no_sweeps_kept() -> Iterator[None]:
    sweeps._FINISHED.found.clear()
    yield
    sweeps._FINISHED.found.clear()


def test_the_sweep_downloads_the_rows_that_the_shell_writes(
    open_page: Opened, tmp_path: Path
) -> None:
    test = open_page(SCHEDULE, SMALL)
    assert "Every figure, CSV" in [one.proto.label for one in test.get("download_button")]
    design = make_design({"study": "schedule", "problem": [1024, 1024, 256], "tile": [128, 128],
                          "policy": "row_major", "workers": 20})  # fmt: skip
    assert isinstance(design, ScheduleDesign)
    found = sweeps.found_for(design)
    assert found is not None
    text, target = sweeps.csv_of(design, found), tmp_path / "sweep.csv"
    shell = [json.dumps(design.with_policy("catlass").document()), "--csv", str(target)]
    shell += ["--over", "offset=1..8", "--over", "direction=zn,nz"]
    assert CliRunner().invoke(app, ["sweep", *shell]).exit_code == 0
    assert text == target.read_text(encoding="utf-8")
    assert len(text.splitlines()) == 17 and text.startswith("offset,direction,")
    assert "l2_hit_rate" in text.splitlines()[0]


def test_a_sweep_too_large_to_download_says_how_the_shell_makes_it(
    open_page: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "MAX_CSV_TASKS", 1)
    test = open_page(SCHEDULE, SMALL)
    assert (
        "As CSV, from the shell: tileviz sweep schedule.json --over offset=1..5 --over"
        in page_words(test)
    )
    assert "Every figure, CSV" not in [one.proto.label for one in test.get("download_button")]


@pytest.mark.usefixtures("no_sweeps_kept")
def test_a_large_sweep_waits_to_be_asked_and_then_joins_the_verdict(open_page: Opened) -> None:
    test = open_page(SCHEDULE, LARGE)
    assert "Not swept yet." in page_words(test)
    _button(test, "Sweep").click().run()
    for _ in range(300):
        if "Points below best" in page_words(test):
            break
        time.sleep(0.1)
        test.run()
    assert not test.exception
    words = page_words(test)
    assert "Points below best" in words
    assert "rule of thumb" in words


@pytest.mark.usefixtures("no_sweeps_kept")
def test_a_sweep_can_be_cancelled(open_page: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def slow(product: Any) -> Iterator[Any]:
        begun.append(product)
        while True:
            time.sleep(0.02)
            yield next(iter(once(product)))

    once = sweeps.explore
    monkeypatch.setattr(sweeps, "explore", slow)
    test = open_page(SCHEDULE, LARGE)
    assert "other settings not tried yet" in page_words(test)
    _button(test, "Sweep").click().run()
    job = test.session_state["schedule.sweep"]
    _button(test, "Cancel").click().run()
    assert not test.exception
    job.future.result(timeout=30)
    assert begun
    assert sweeps._FINISHED.get(job.product) is None
    assert "Not swept yet." in page_words(test)


def test_the_product_runs_and_is_verified(open_page: Opened) -> None:
    test = open_page(SCHEDULE, SMALL)
    assert "task_at" in test.code[0].value
    _run(test)
    assert "Output correct, 15,360 of 15,360 elements." in page_words(test)
    _group(test, "schedule.cuda").set_value("proof").run()
    assert "Not run yet." in page_words(test)
    _run(test)
    assert "Output correct, 30 of 30 elements." in page_words(test)


def _run(test: AppTest) -> None:
    _button(test, "Run").click().run()
    for _ in range(300):
        if "Output" in page_words(test):
            break
        time.sleep(0.1)
        test.run()
    assert not test.exception


def test_a_large_product_is_cut_for_the_emulator_and_says_so(open_page: Opened) -> None:
    test = open_page(SCHEDULE)
    assert "constexpr int M = 150, N = 188, K = 8;" in test.code[0].value
    assert "tiles of 8 × 8" in page_words(test)
    _group(test, "schedule.cuda").set_value("whole").run()
    assert "constexpr int M = 2400, N = 6000, K = 16384;" in test.code[0].value
    assert "Not without a GPU." in page_words(test)
    _group(test, "schedule.cuda").set_value("cut").run()
    _group(test, "schedule.persistent").set_value(True).run()
    assert "24 persistent blocks" in test.code[0].value


def test_coming_back_finds_what_was_typed(open_page: Opened) -> None:
    test = open_page(SCHEDULE, SMALL)
    test.text_input(key="schedule.tile").set_value("32").run()
    test.switch_page("app.py").run()
    test.query_params.clear()
    test.switch_page(SCHEDULE).run()
    assert not test.exception
    assert test.text_input(key="schedule.tile").value == "32"
    assert "Every tile once, 15 of 15." in page_words(test)


def test_home_shows_every_preset_with_its_number(open_page: Opened) -> None:
    words = page_words(open_page("app.py"))
    for preset in presets():
        if preset.study == "schedule":
            assert tables.one_number(preset.design) in words


HOSTILE = '<script>alert("x")</script>'


def test_text_from_outside_never_becomes_markup() -> None:
    metrics = tables.plan_of(make_design({"study": "schedule", "problem": [4, 4, 4],
        "tile": [2, 2, 2], "policy": "row_major"})).metrics  # fmt: skip
    pieces = [
        tables.model_table([(HOSTILE, metrics)]),
        tables.small_title(HOSTILE, metrics, (HOSTILE, HOSTILE)),
    ]
    for piece in pieces:
        assert "<script" not in piece
        assert "&lt;script" in piece


def test_choices_of_a_small_product_have_no_second_size() -> None:
    small = make_design({"study": "schedule", "problem": [64, 64, 64], "tile": [32, 32, 16],
                         "policy": "row_major"})  # fmt: skip
    assert list(cuda.choices(small)) == ["cut", "proof"]
    huge = make_design({"study": "schedule", "problem": [1 << 20, 1 << 18, 8],
                        "tile": [256, 256, 8], "policy": "row_major"})  # fmt: skip
    assert list(cuda.choices(huge)) == ["proof", "whole"]
