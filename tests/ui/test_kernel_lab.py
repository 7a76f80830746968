"""The Kernel lab without a browser: links, edits, runs, faults at their lines, the GPU's door."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from page_reading import page_address, page_html, put_address, spaced_words
from streamlit.testing.v1 import AppTest

from tileviz import api, tracing
from tileviz.export.links import MAX_LINK, to_query
from tileviz.runners import RunnerStatus
from tileviz.runners.own_kernels import VARIABLE
from tileviz.studies.kernel.design import KernelDesign
from tileviz.studies.kernel.kernel import kernel
from tileviz.studies.kernel.plan import plan
from tileviz.studies.registry import preset
from tileviz.ui import machine
from tileviz.ui.kernel.panels import trace_document
from tileviz.ui.kernel.source_view import MAX_LINES, shown_lines
from tileviz.ui.kernel.state import RULES
from tileviz.ui.kernel.view import LabView, _values

SCRIPT = "pages/6_Kernel_lab.py"
Opened = Callable[..., AppTest]


def _design(name: str) -> KernelDesign:
    found = preset(name)
    assert found is not None and isinstance(found.design, KernelDesign)
    return found.design


def _open(open_page: Opened, name: str) -> AppTest:
    return open_page(SCRIPT, to_query(_design(name)))


def _button(test: AppTest, label: str) -> Any:
    return next(button for button in test.button if button.label == label)


def _ran(test: AppTest) -> str:
    """Press Run and return what the page says once it is over."""
    _button(test, "Run").click().run()
    for _ in range(300):
        if not any(button.label == "Cancel" for button in test.button):
            break
        time.sleep(0.1)
        test.run()
    assert not test.exception
    return spaced_words(test)


def _view(design: KernelDesign) -> LabView:
    made = kernel(plan(design))
    return LabView.of(api.run(design, on="emulator")[1], made)


# -- links and edits -------------------------------------------------------------------------------


@pytest.mark.parametrize("found", RULES.presets(), ids=lambda found: found.name)
def test_every_preset_opens_from_its_link(open_page: Opened, found: Any) -> None:
    test = open_page(SCRIPT, to_query(found.design))
    assert test.selectbox(key="lab.preset").value == found.name
    assert test.text_area(key="lab.source").value == found.design.source
    assert "Not run yet." in spaced_words(test)
    assert "link: the address bar holds all of it" in spaced_words(test)
    assert "tv-input-error" not in page_html(test)


def test_limits_are_shown_before_a_run(open_page: Opened) -> None:
    words = spaced_words(open_page(SCRIPT))
    for limit in ("64 KiB", "512 MiB together", "1,024 threads", "60 s", "65,536 threads"):
        assert limit in words


def test_a_fault_is_named_what_was_typed_stays_and_nothing_runs(open_page: Opened) -> None:
    test = _open(open_page, "kernel-transpose")
    test.text_input(key="lab.grid").set_value("two").run()
    test.text_input(key="lab.p2.size").set_value("<b>n</b>").run()
    words = spaced_words(test)
    assert "Grid: up to three whole numbers are expected" in words
    assert "Parameter 3, shape or value: a whole number" in words
    assert "The last valid design stays below." in words
    assert _button(test, "Run").disabled
    assert "<b>n" not in page_html(test)
    assert test.text_input(key="lab.grid").value == "two"
    assert test.text_input(key="lab.p2.size").value == "<b>n</b>"
    test.text_input(key="lab.grid").set_value("2,2").run()
    test.text_input(key="lab.p2.size").set_value("64").run()
    assert "tv-input-error" not in page_html(test) and not _button(test, "Run").disabled


def test_a_bad_link_is_reported_and_the_rest_is_used(open_page: Opened) -> None:
    query = to_query(_design("kernel-transpose"))
    test = open_page(SCRIPT, {**query, "block": "64,64", "colour": "<script>", "v": "7"})
    words = spaced_words(test)
    assert "Block: must be 1 or more, z at most 64, 1024 threads in all." in words
    assert "Link key “colour”: unknown key" in words
    assert "this version reads links of v=1" in words
    assert "The rest of the link is used." in words
    assert test.text_area(key="lab.source").value == query["source"]


def test_parameters_are_added_moved_removed_and_read_from_the_text(open_page: Opened) -> None:
    test = _open(open_page, "kernel-vector-add")
    names = [f"lab.p{place}.name" for place in range(5)]
    test.button(key="lab.up3").click().run()
    assert [test.text_input(key=key).value for key in names[:4]] == ["x", "y", "n", "z"]
    assert page_address(test)["order"] == "x,y,n,z"
    test.button(key="lab.remove0").click().run()
    assert [test.text_input(key=key).value for key in names[:3]] == ["y", "n", "z"]
    test.button(key="lab.add").click().run()
    assert "Parameter 4, shape or value" in spaced_words(test)
    test.button(key="lab.fill").click().run()
    assert [test.text_input(key=key).value for key in names[:4]] == ["x", "y", "z", "n"]
    # What was typed for a parameter stays; a new buffer has an element a thread.
    assert test.text_input(key="lab.p1.size").value == "1000"
    assert test.text_input(key="lab.p0.size").value == "1024"
    assert "order" not in page_address(test)


def test_a_pasted_text_without_the_entry_says_so_and_offers_what_it_has(
    open_page: Opened,
) -> None:
    test = _open(open_page, "kernel-transpose")
    assert "has no kernel" not in spaced_words(test)
    text = 'extern "C" __global__ void scale(float* y, int rows, int cols) {\n  y[0] = rows;\n}\n'
    test.text_area(key="lab.source").set_value(text).run()
    words = spaced_words(test)
    assert words.count("The text has no kernel “transpose”; it has “scale”.") == 1
    assert "Nothing to run: the entry is not in the text." in words
    assert "transpose: 2×2 blocks" not in words
    _button(test, "Fill from the signature of scale").click().run()
    words = spaced_words(test)
    assert "has no kernel" not in words and "scale: 2×2 blocks" in words
    rows = [test.text_input(key=f"lab.p{place}.{part}").value
            for place in range(3) for part in ("name", "size")]  # fmt: skip
    assert rows == ["y", "64x64", "rows", "64", "cols", "64"]


def test_outputs_without_a_finite_value_say_how_many() -> None:
    array = np.full(1024, np.nan, np.float32)
    assert _values(array, "float32")[1] == "1,024 not finite"
    array[:2] = 1, 3
    assert _values(array, "float32")[1] == "1 to 3; 1,022 not finite"


def test_a_long_text_is_shared_by_file(open_page: Opened) -> None:
    test = _open(open_page, "kernel-transpose")
    source = _design("kernel-transpose").source + "// " + "n" * MAX_LINK
    test.text_area(key="lab.source").set_value(source).run()
    assert "Too long for a link" in spaced_words(test) and page_address(test) == {}
    test.run()
    assert test.text_area(key="lab.source").value == source


def test_what_was_typed_outlives_a_visit_to_another_page(open_page: Opened) -> None:
    test = _open(open_page, "kernel-transpose")
    test.text_input(key="lab.grid").set_value("nonsense").run()
    test.switch_page("pages/5_Layouts.py").run()
    test.switch_page(SCRIPT).run()
    assert not test.exception
    assert test.text_input(key="lab.grid").value == "nonsense"
    assert test.text_input(key="lab.p1.name").value == "y"


# -- runs ------------------------------------------------------------------------------------------


def test_a_conflict_is_named_with_its_line_and_drawn_execution_by_execution(
    open_page: Opened,
) -> None:
    test = _open(open_page, "kernel-transpose")
    words = _ran(test)
    assert "Line 12: 32 wavefronts where 1 is ideal: 32 lanes meet in one bank." in words
    assert "Every block traced." in words
    assert test.session_state["lab.mode"] == "lines"
    assert "ld.shared 4 B" in str(test.selectbox(key="lab.access").options[3])
    assert test.selectbox(key="lab.access").value == 3
    assert "Block (0, 0, 0), warp 0" in words and "execution 1 of 128" in words
    # 128 executions: batch by batch, all 32 warps, four times each.
    test.slider(key="lab.stop").set_value(64).run()
    assert "Block (1, 1, 0), warp 7" in spaced_words(test)
    assert "the 2nd time it comes here, execution 64 of 128" in spaced_words(test)
    test.selectbox(key="lab.access").set_value(0).run()
    assert "4 sectors, ideal 4: 128 of the 128 bytes that move are used." in spaced_words(test)
    assert test.slider(key="lab.stop").value == 1


def test_an_edit_asks_for_a_new_run_and_the_old_one_is_still_known(open_page: Opened) -> None:
    test = _open(open_page, "kernel-transpose")
    _ran(test)
    test.selectbox(key="lab.preset").set_value("kernel-transpose-padded").run()
    assert "Not run yet." in spaced_words(test)
    assert "Nothing is paid above the ideal." in _ran(test)
    test.selectbox(key="lab.preset").set_value("kernel-transpose").run()
    assert "Line 12: 32 wavefronts" in spaced_words(test)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("tile[threadIdx.y + i]", "tale[threadIdx.y + i]"), "line 7: identifier"),
        (("__syncthreads();", ""), "Line 12: race on 4-byte shared load"),
        (("void transpose", "void other"), "The module has no kernel 'transpose'"),
    ],
    ids=["compile", "race", "entry"],
)
def test_faults_are_said_with_their_line(
    open_page: Opened, change: tuple[str, str], words: str
) -> None:
    test = _open(open_page, "kernel-transpose")
    source = _design("kernel-transpose").source.replace(*change)
    test.text_area(key="lab.source").set_value(source).run()
    assert words in _ran(test)


def test_buffers_over_the_limit_are_refused_before_anything_runs(open_page: Opened) -> None:
    test = _open(open_page, "kernel-vector-add")
    test.text_input(key="lab.p0.size").set_value("200000000").run()
    assert "may take 512 MiB" in _ran(test)


def test_the_compiled_text_is_counted_when_asked(open_page: Opened) -> None:
    test = _open(open_page, "kernel-vector-add")
    assert "registers a thread" in _ran(test)
    test.button(key="lab.count").click().run()
    assert not test.exception
    assert "2 × 4 B" in spaced_words(test)


def test_a_cancelled_run_leaves_the_page_as_it_was(
    open_page: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tileviz.ui import run_panel

    monkeypatch.setattr(run_panel, "_run", lambda *_: time.sleep(2))
    test = _open(open_page, "kernel-transpose")
    _button(test, "Run").click().run()
    assert any(button.label == "Cancel" for button in test.button)
    _button(test, "Cancel").click().run()
    assert "Not run yet." in spaced_words(test)
    assert not _button(test, "Run").disabled


# -- the source view -------------------------------------------------------------------------------


def test_counts_and_faults_stand_at_their_lines() -> None:
    design = _design("kernel-race")
    lines = shown_lines(design.source, _view(design))
    by_number = {line["number"]: line for line in lines}
    assert [row["access"] for row in by_number[5]["rows"]] == ["ld.global 4 B", "st.shared 4 B"]
    assert by_number[5]["rows"][0]["cost"] == "32" and by_number[5]["rows"][0]["unit"] == "sectors"
    assert [number for number, line in by_number.items() if line["problems"]] == [6]
    assert by_number[6]["problems"][0].startswith("race on 4-byte shared load")
    assert "".join(text for _, text in by_number[6]["spans"]) == design.source.splitlines()[5]


def test_of_a_long_text_the_counted_lines_are_shown() -> None:
    design = _design("kernel-vector-add")
    long = design.model_copy(update={"source": "\n" * 5000 + design.source})
    lines = shown_lines(long.source, _view(long))
    assert len(lines) < MAX_LINES
    assert lines[0]["left_out"].startswith("… 4,9")
    assert any(line.get("rows") for line in lines)


def test_the_compilers_words_stand_at_the_line_at_fault() -> None:
    design = _design("kernel-vector-add")
    broken = design.model_copy(update={"source": design.source.replace("x[i]", "w[i]")})
    lines = shown_lines(broken.source, _view(broken))
    (line,) = [line for line in lines if line["problems"]]
    assert line["number"] == 4 and 'identifier "w" is undefined' in line["problems"][0]


# -- what is kept, and what is handed out ----------------------------------------------------------


def test_a_session_keeps_little_of_a_run() -> None:
    view = _view(_design("kernel-matmul"))
    arrays = [sample for sample in view.samples if sample is not None]
    kept = sum(one.addresses.nbytes + one.active.nbytes + one.cost.nbytes for one in arrays)
    assert kept < 400_000
    assert sys.getsizeof(json.dumps(view.document)) < 20_000


def test_the_trace_is_the_object_of_the_command_line() -> None:
    design = _design("kernel-transpose")
    run = tracing.run(design, [], [])
    counts = [row.to_json() for row in tracing.counts(design, run)]
    ours = json.loads(trace_document(design, _view(design)))
    assert ours == json.loads(json.dumps({**run.to_json(), "counts": counts}))


# -- the GPU ---------------------------------------------------------------------------------------

WITH_GPU = (RunnerStatus("emulator", True, "here"), RunnerStatus("gpu", True, "a GPU"))


def test_a_gpu_is_not_offered_for_own_kernels_and_the_page_says_why(
    open_page: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(machine, "runner_statuses", lambda: WITH_GPU)
    test = open_page(SCRIPT)
    assert not [box for box in test.selectbox if box.label == "On"]
    assert f"the server's owner can set {VARIABLE}=1" in spaced_words(test)


def test_the_owner_may_offer_the_gpu(open_page: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(machine, "runner_statuses", lambda: WITH_GPU)
    test = open_page(SCRIPT)
    (box,) = [box for box in test.selectbox if box.label == "On"]
    assert box.options == ["GPU", "Emulator"]


def test_run_pressed_right_after_an_edit_runs_the_edit(open_page: Opened) -> None:
    test = _open(open_page, "kernel-vector-add")
    before = page_address(test)
    test.text_input(key="lab.grid").set_value("2").run()
    assert page_address(test)["grid"] == "2,1,1"
    # The browser has not taken up the new address yet when the button is pressed.
    put_address(test, before)
    next(button for button in test.button if button.label == "Run").click().run()
    assert not test.exception
    assert test.text_input(key="lab.grid").value == "2"
    assert page_address(test)["grid"] == "2,1,1"
