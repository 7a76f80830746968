"""The Runs page without a browser: search, one run, its words, what is dangerous and what fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from streamlit.testing.v1 import AppTest

from tileviz import api
from tileviz.runners.history import RecordedCase, Recording, write_recording
from tileviz.runners.store import FILE, RunStore, data_folder
from tileviz.runners.store_entry import KeptRun, Wanted
from tileviz.runners.store_listing import History
from tileviz.studies.registry import preset
from tileviz.studies.statement import Statement
from tileviz.ui import sent
from tileviz.ui.runs import panels
from tileviz.ui.runs.state import Asked, address, read

SCRIPT = "pages/8_Runs.py"
OpenPage = Callable[..., AppTest]
RESULT: dict[str, Any] = {
    "study": "access",
    "runner": {"name": "emulator", "device": "here", "arch": "compute_80", "compiler": ""},
    "verified": True,
    "mismatch": None,
    "accesses": [
        {
            "line": 3,
            "space": "shared",
            "op": "ld",
            "bytes": 4,
            "executions": 1,
            "predicted": {"wavefronts": 2, "ideal": 1, "sectors": None},
            "measured": {"wavefronts": 2, "ideal": 1, "sectors": None},
            "bytes_used": 128,
            "bytes_moved": 256,
            "note": "",
            "text": "s[<lane>]",
            "buffer": "s",
        }
    ],
    "resources": None,
    "timing": None,
    "gpu": None,
    "note": "",
    "traced_blocks": "all",
    "outputs": {"y": {"dtype": "float32", "count": 32, "sha256": "0"}},
    "problems": [],
}


@pytest.fixture(autouse=True)
def no_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this version recorded on a GPU is none of these tests' business."""
    monkeypatch.setattr("tileviz.runners.store_listing.assets", lambda: tmp_path / "assets")


def add(**changes: Any) -> int:
    made = KeptRun(
        at="2026-11-29T10:00:00Z",
        study="access",
        design={"study": "access", "bytes": 4, "addresses": [0, 128]},
        variant="",
        verdict="2 wavefronts.",
        outcome=Statement("ok", "Output correct, 32 of 32 elements."),
        runner="emulator",
        device="here",
        verified=True,
        version="0.1.0",
        seed=0,
        run=RESULT,
    )
    return RunStore(data_folder()).add(replace(made, **changes))


def said(page: AppTest) -> str:
    return "\n".join(element.proto.body for element in page.get("html"))


def rows(page: AppTest) -> int:
    return said(page).count('<div class="tv-row">')


def button(page: AppTest, label: str) -> Any:
    return next(found for found in page.button if found.label == label)


def test_before_the_first_run_it_says_what_to_do(open_page: OpenPage, data_folder: Path) -> None:
    page = open_page(SCRIPT)
    assert "Nothing has been run here yet." in said(page)
    assert "No GPU runs are recorded in this version." in said(page)
    assert not data_folder.exists()


def test_a_run_of_the_engine_is_opened_with_its_table(open_page: OpenPage) -> None:
    api.run(preset("permute-demo").design, on="emulator")  # type: ignore[union-attr]
    page = open_page(SCRIPT)
    assert rows(page) == 1 and "1 run, none wrong or at fault." in said(page)
    assert "No run chosen." in said(page)
    page.button(key="runs.open.1").click().run()
    assert "tv-run" in said(page) and "Output correct, 256 of 256 elements." in said(page)
    assert page.query_params["run"] == "1"
    (link,) = (e for e in page.get("page_link") if e.proto.label.startswith("Open in"))
    assert link.proto.label == "Open in Permute layout"
    assert "src=S[(2,1,4,32)" in unquote(link.proto.query_string)


def test_an_own_kernel_and_its_fixed_version_look_as_in_the_lab(open_page: OpenPage) -> None:
    for name in ("kernel-transpose", "kernel-transpose-padded"):
        api.run(preset(name).design, on="emulator")  # type: ignore[union-attr]
    text = said(open_page(SCRIPT))
    assert "Line 12: 32 wavefronts where 1 is ideal: 32 lanes meet in one bank." in text
    assert "Nothing is paid above the ideal." in text
    marks = re.findall(r'tv-glyph tv-(\w+)">.*?</span></span> <span>(\w+)', text)
    assert marks == [("ok", "Nothing"), ("attention", "Line")]


def test_search_filters_and_pages(open_page: OpenPage) -> None:
    for number in range(23):
        add(seed=number, at=f"2026-11-{1 + number:02}T10:00:00Z", name=f"number {number}")
    add(study="kernel", verified=False, outcome=Statement("error", "Race, line 2."))
    page = open_page(SCRIPT)
    assert rows(page) == 10 and "1 to 10 of 24" in said(page)
    assert "24 runs, 1 wrong or at fault." in said(page)
    # Counts of all time: no alarm for a fault that was mended long ago.
    assert 'class="tv-verdict tv-neutral-box"' in said(page)
    button(page, "Older").click().run()
    assert "11 to 20 of 24" in said(page) and page.query_params["page"] == "2"
    page.text_input(key="runs.find").set_value("number 7").run()
    assert rows(page) == 2  # 7 and 17, from the first page on
    assert page.query_params["find"] == "number 7" and "page" not in page.query_params
    page.text_input(key="runs.find").set_value("").run()
    page.selectbox(key="runs.outcome").set_value("wrong").run()
    assert rows(page) == 1 and "Race, line 2." in said(page)
    page.selectbox(key="runs.study").set_value("broadcast").run()
    assert "No run matches." in said(page)
    button(page, "Clear the search").click().run()
    assert "1 to 10 of 24" in said(page)


def test_a_page_beyond_the_last_shows_the_last(open_page: OpenPage) -> None:
    for number in range(12):
        add(seed=number)
    assert "11 to 12 of 12" in said(open_page(SCRIPT, {"page": "999"}))


def test_a_link_restores_search_and_run(open_page: OpenPage) -> None:
    numbers = [add(name=name) for name in ("one", "two")]
    page = open_page(SCRIPT, {"find": "two", "since": "2026-11-29", "run": str(numbers[0])})
    assert page.text_input(key="runs.find").value == "two"
    assert rows(page) == 1
    assert "<h2>one</h2>" in said(page)


def test_what_is_wrong_with_a_link_is_said_and_the_rest_used(open_page: OpenPage) -> None:
    add(name="one")
    query = {"find": "one", "study": "<b>", "page": "0", "since": "yesterday", "run": "77"}
    page = open_page(SCRIPT, query)
    assert rows(page) == 1
    assert "Study: must be one of" in said(page) and "&lt;b&gt;" in said(page)
    assert "Since: must be a day such as 2026-11-29" in said(page)
    assert "there is no such run here" in said(page)
    assert page.query_params["study"] == "<b>"  # a reload loses nothing


def test_markup_is_shown_as_text(open_page: OpenPage) -> None:
    bad = "<script>alert(1)</script>"
    number = add(name=bad, note=bad, verdict=bad, variant=bad, device=bad, study=bad)
    page = open_page(SCRIPT, {"run": str(number)})
    assert bad not in said(page) and "&lt;script&gt;" in said(page)
    assert "This version cannot open the design" not in said(page)


def test_a_name_and_a_note_are_given_and_found(open_page: OpenPage) -> None:
    number = add()
    page = open_page(SCRIPT, {"run": str(number)})
    page.text_input(key=f"runs.name.{number}").set_value("baseline <1>")
    page.text_area(key=f"runs.note.{number}").set_value("before the review")
    button(page, "Save").click().run()
    assert "<h2>baseline &lt;1&gt;</h2>" in said(page)
    kept = RunStore(data_folder()).get(number)
    assert kept is not None and (kept.name, kept.note) == ("baseline <1>", "before the review")
    page.text_input(key="runs.find").set_value("review").run()
    assert rows(page) == 1


def test_designs_are_sent_to_compare(open_page: OpenPage) -> None:
    numbers = [add(seed=n) for n in range(2)]
    page = open_page(SCRIPT, {"run": str(numbers[0])})
    button(page, "Send to compare").click().run()
    page.button(key=f"runs.open.{numbers[1]}").click().run()
    button(page, "Send to compare").click().run()
    # Both runs are of one design; it is sent once.
    held = page.session_state[sent.KEY]
    assert held == [{"study": "access", "bytes": 4, "addresses": [0, 128]}]
    assert page.query_params["run"] == str(numbers[1])


def test_only_what_was_picked_is_deleted(open_page: OpenPage) -> None:
    numbers = [add(seed=n) for n in range(3)]
    page = open_page(SCRIPT, {"run": str(numbers[1])})
    for number in numbers[:2]:
        page.checkbox(key=f"runs.pick.{number}").check()
    page.run()
    button(page, "Delete 2 runs for good").click().run()
    assert [run.id for run in RunStore(data_folder()).find(Wanted(), limit=9)] == [numbers[2]]
    assert rows(page) == 1 and "No run chosen." in said(page)
    page.checkbox(key="runs.all").check().run()
    assert page.checkbox(key=f"runs.pick.{numbers[2]}").value is True


def test_a_design_of_another_version_is_kept_as_a_document(open_page: OpenPage) -> None:
    number = add(design={"study": "access", "bytes": 4, "colour": "red"}, run={"odd": 1})
    page = open_page(SCRIPT, {"run": str(number)})
    assert "This version cannot open the design: colour: unknown field." in said(page)
    assert "This version cannot read what was kept of the result." in said(page)
    assert '"colour": "red"' in page.code[0].value


def test_recorded_runs_are_labelled(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = preset("banks-transpose-32x32").design.document()  # type: ignore[union-attr]
    run = {**RESULT, "runner": {**RESULT["runner"], "name": "gpu", "device": "Test GPU"}}
    case = RecordedCase("banks-transpose-32x32", "access", design, run=run)
    recording = Recording("2031-05-06", "Test GPU", {}, {}, "", 1.0, (case,))
    write_recording(recording, tmp_path / "runs")
    made = History(RunStore(data_folder()), tmp_path / "runs")
    monkeypatch.setattr(History, "here", classmethod(lambda cls: made))
    add()
    page = open_page(SCRIPT)
    assert "recorded on Test GPU, 2031-05-06" in said(page) and "1 recorded on a GPU." in said(page)
    page.button(key="runs.open.test-gpu-2031-05-06/banks-transpose-32x32").click().run()
    assert "<span>recorded on Test GPU, 2031-05-06</span>" in said(page)
    assert not [field for field in page.text_input if field.label == "Name"]
    (pick,) = (c for c in page.checkbox if "2031-05-06" in c.label)
    assert pick.disabled


def test_a_history_that_cannot_be_read_is_said(open_page: OpenPage, data_folder: Path) -> None:
    (data_folder / FILE).mkdir(parents=True)
    page = open_page(SCRIPT)
    assert "What was run here cannot be read: unable to open database file" in said(page)
    assert "Nothing has been run" not in said(page)


def test_a_damaged_history_is_named(open_page: OpenPage, data_folder: Path) -> None:
    data_folder.mkdir()
    (data_folder / FILE).write_text("garbage " * 1000)
    open_page(SCRIPT)
    add()
    page = open_page(SCRIPT)
    assert "A damaged history is kept beside it: runs-damaged-" in said(page)


def test_the_owner_who_keeps_nothing_is_told_so(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEVIZ_HISTORY", "off")
    assert "Nothing is kept: the history is switched off here" in said(open_page(SCRIPT))
    add()
    assert "The history is switched off: new runs are not kept." in said(open_page(SCRIPT))


def test_a_download_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        add()
    history = History.here()
    whole = [json.loads(line) for line in panels.download(history, Asked()).splitlines()]
    assert len(whole) == 5 and whole[0]["run"] == RESULT
    monkeypatch.setattr(panels, "_MAX_DOWNLOAD", 3000)
    *some, last = map(json.loads, panels.download(history, Asked()).splitlines())
    assert 0 < len(some) < 5 and "tileviz runs --export" in last["error"]["message"]


@pytest.mark.parametrize(
    "asked",
    [Asked(), Asked(Wanted("permute", "a b", "gpu", "wrong", "2026-11-01", "2026-11-02"), 3, "12")],
)
def test_an_address_reads_back(asked: Asked) -> None:
    assert read(address(asked)) == (asked, ())


def test_a_run_from_a_page_is_kept(open_page: OpenPage) -> None:
    page = open_page("pages/1_Permute_layout.py")
    button(page, "Run").click().run()
    store = RunStore(data_folder())
    for _ in range(200):  # the run goes on in the background
        if store.count(Wanted()):
            break
        page.run()
    (run,) = store.find(Wanted(), limit=9)
    assert (run.study, run.variant, run.verified) == ("permute", "k = 2", True)


def test_a_run_of_the_kernel_lab_is_kept(open_page: OpenPage) -> None:
    page = open_page("pages/6_Kernel_lab.py")
    button(page, "Run").click().run()
    store = RunStore(data_folder())
    for _ in range(200):  # the run goes on in the background
        if store.count(Wanted()):
            break
        page.run()
    (run,) = store.find(Wanted(), limit=9)
    assert run.study == "kernel" and "__global__" in run.design["source"]
