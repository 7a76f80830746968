"""What ran here and what was recorded, as one list."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tileviz import api
from tileviz.runners.history import RecordedCase, Recording, write_recording
from tileviz.runners.store import RunStore, data_folder
from tileviz.runners.store_entry import KeptRun, Wanted
from tileviz.runners.store_listing import History
from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement

RUN = {
    "runner": {"name": "gpu", "device": "Test GPU", "arch": "sm_90", "compiler": ""},
    "verified": True,
    "accesses": [],
    "outputs": {"y": {"count": 32}},
}
DESIGN = {"study": "access", "bytes": 4, "addresses": [0, 128]}
Add = Callable[..., None]


def record(folder: Path, day: str, *names: str) -> None:
    cases = [RecordedCase(name, "access", DESIGN, run=RUN) for name in names]
    cases.append(RecordedCase("skipped", "layout", {"study": "layout"}, skipped="no kernel"))
    versions = {"tileviz": "0.1.0"}
    write_recording(Recording(day, "Test GPU", {}, versions, "", 1.0, tuple(cases)), folder)


@pytest.fixture
def history(data_folder: Path, tmp_path: Path) -> History:
    return History(RunStore(data_folder), tmp_path / "recorded")


@pytest.fixture
def add(history: History) -> Add:
    def made(at: str, **changes: Any) -> None:
        fields: dict[str, Any] = {
            "at": at,
            "study": "access",
            "design": DESIGN,
            "variant": "",
            "verdict": "2 wavefronts.",
            "outcome": Statement("ok", "Output correct."),
            "runner": "emulator",
            "device": "here",
            "verified": True,
            "version": "0",
            "seed": 0,
            "run": {},
        }
        history.store.add(KeptRun(**{**fields, **changes}))

    return made


def test_recorded_runs_stand_among_the_others_by_day(history: History, add: Add) -> None:
    for hour in range(4):
        add(f"2026-11-0{1 + hour}T10:00:00Z")
    record(history.folder, "2026-11-02", "one", "two")
    record(history.folder, "2026-11-09", "last")
    whole = history.listing(Wanted(), limit=99)
    assert [run.at[8:10] for run in whole.rows] == ["09", "04", "03", "02", "02", "02", "01"]
    assert [run.name for run in whole.rows if run.recorded] == ["last", "one", "two"]
    assert (whole.total, whole.recorded) == (7, 3)
    for limit in (1, 2, 3, 5):
        pages = [
            run
            for start in range(0, 7, limit)
            for run in history.listing(Wanted(), limit=limit, offset=start).rows
        ]
        assert [run.key for run in pages] == [run.key for run in whole.rows]
    assert history.listing(Wanted(), limit=5, offset=50).rows == ()


def test_a_search_holds_for_both(history: History, add: Add) -> None:
    add("2026-11-01T10:00:00Z", study="permute", verified=False)
    record(history.folder, "2026-11-02", "one", "two")
    assert [run.name for run in history.listing(Wanted(text="two"), limit=9).rows] == ["two"]
    assert history.listing(Wanted(study="permute"), limit=9).recorded == 0
    assert history.listing(Wanted(runner="gpu", outcome="correct"), limit=9).total == 2
    assert history.listing(Wanted(text="test gpu"), limit=9).total == 2
    assert history.listing(Wanted(until="2026-11-01"), limit=9).total == 1


def test_a_key_names_a_run_of_either_kind(history: History, add: Add) -> None:
    add("2026-11-01T10:00:00Z")
    record(history.folder, "2026-11-02", "one")
    for run in history.listing(Wanted(), limit=9).rows:
        found = history.get(run.key)
        assert found is not None and found.key == run.key and found.run is not None
    recorded = history.get("test-gpu-2026-11-02/one")
    assert recorded is not None and recorded.recorded == "recorded on Test GPU, 2026-11-02"
    assert history.get("99") is None and history.get("nothing/here") is None
    assert history.get("9" * 40) is None


def test_json_lines_hold_everything(history: History, add: Add) -> None:
    add("2026-11-01T10:00:00Z", note="line\none")
    record(history.folder, "2026-11-02", "one")
    lines = list(history.lines(Wanted()))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    ours, recorded = map(json.loads, lines)
    assert ours["note"] == "line\none" and ours["run"] == {} and ours["design"] == DESIGN
    assert recorded["recorded"] == "recorded on Test GPU, 2026-11-02"
    assert recorded["run"]["runner"]["arch"] == "sm_90"


def test_what_cannot_be_read_is_said_and_the_rest_is_shown(
    history: History, add: Add, data_folder: Path
) -> None:
    add("2026-11-01T10:00:00Z")
    history.folder.mkdir()
    (history.folder / "bad.json").write_text("{}")
    found = history.listing(Wanted(), limit=9)
    assert found.total == 1 and "bad.json is no recording" in found.notes[0]
    (history.folder / "bad.json").unlink()
    record(history.folder, "2026-11-02", "one")
    for part in data_folder.iterdir():
        part.unlink()
    (data_folder / "runs.sqlite3").mkdir()
    # The recordings are read once and remembered; another folder is read anew.
    again = History(history.store, history.folder.rename(history.folder.with_name("moved")))
    found = again.listing(Wanted(), limit=9)
    assert found.total == 1 and found.rows[0].name == "one"
    assert found.notes[0].startswith("what was run here cannot be read: ")


def test_every_run_of_the_engine_is_kept() -> None:
    of = api.design(DESIGN)
    api.run(of, on="emulator", seed=3)
    (run,) = RunStore(data_folder()).every(Wanted())
    assert run.design == of.document() and run.seed == 3
    assert run.verdict == study_of(of).explain.verdict(api.plan(of)).sentence
    assert run.run is not None and run.run["accesses"]


def test_a_run_goes_on_without_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEVIZ_DATA", str(tmp_path / "file" / "folder"))
    with pytest.warns(UserWarning, match="not kept in the history"):
        _, run = api.run(api.design(DESIGN), on="emulator")
    assert run.verified is True
