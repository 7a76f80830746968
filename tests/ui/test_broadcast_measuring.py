"""Measuring from the Broadcast page: offered where there is a GPU, told, cancelled, and shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tileviz.errors import DesignError
from tileviz.runners.history import RecordedCase, Recording, recordings, write_recording
from tileviz.studies.broadcast.bandwidth import PUBLISHED
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.measured import Measured, VersionTime
from tileviz.studies.design import validated
from tileviz.ui.broadcast import measuring
from tileviz.ui.broadcast.measuring import Cancelled, Job, Memory, Progress

SCRIPT = "pages/3_Broadcast.py"
DESIGN = validated(BroadcastDesign, PUBLISHED[0].document)
Opened = Callable[..., AppTest]


def made(design: BroadcastDesign = DESIGN) -> Measured:
    times = tuple(
        VersionTime(version, us, us, us, 50)
        for version, us in (("before", 600.0), ("cinn", 450.0), ("ours", 400.0))
    )
    return Measured(design, "Made-up GPU", "2026-11-29", "live", 390.0, times)


def html_of(test: AppTest) -> str:
    return " ".join(element.proto.body for element in test.get("html"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the recordings, empty."""
    monkeypatch.setattr(measuring, "assets", lambda: tmp_path)
    recordings.cache_clear()
    return tmp_path / "runs"


# -- the job ---------------------------------------------------------------------------------------


def job(outcome: Measured | BaseException) -> Job:
    future: Future[Measured] = Future()
    if isinstance(outcome, Measured):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)
    return Job(DESIGN, future, Progress(), 0.0)


def test_a_result_is_kept_by_design_and_only_the_last_few() -> None:
    memory = Memory(job=job(made()))
    memory.settle()
    assert memory.job is None and memory.live[DESIGN].device == "Made-up GPU"
    for count in range(40):
        other = validated(BroadcastDesign, {"operands": [[8]], "out": [count + 2, 8]})
        memory.job = Job(other, job(made(other)).future, Progress(), 0.0)
        memory.settle()
    assert len(memory.live) == 16 and DESIGN not in memory.live


def test_what_cannot_be_measured_is_said_and_a_fault_of_ours_is_not_hidden() -> None:
    memory = Memory(job=job(DesignError("out", "too large", [1])))
    memory.settle()
    assert memory.faults == {DESIGN: "out: too large"}
    memory.job = job(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        memory.settle()
    assert memory.job is None


def test_a_cancelled_measurement_stops_at_its_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(design: BroadcastDesign, **told: Any) -> Measured:
        told["on_queue"](2)
        told["say"]("working")
        begun.set()
        try:
            while True:
                told["on_wait"]()
                time.sleep(0.001)
        except Cancelled:
            ended.set()
            raise

    monkeypatch.setattr(measuring, "measure_bandwidth", endless)
    memory = Memory()
    memory.start(DESIGN)
    assert begun.wait(10) and memory.job is not None
    assert (memory.job.progress.stage, memory.job.progress.ahead) == ("working", 2)
    memory.start(DESIGN)  # one at a time
    memory.cancel()
    assert memory.job is None and ended.wait(10)
    memory.settle()
    assert not memory.live and not memory.faults


# -- the page --------------------------------------------------------------------------------------


def test_without_a_gpu_nothing_is_offered_and_that_is_said(open_page: Opened, folder: Path) -> None:
    test = open_page(SCRIPT)
    assert not [button for button in test.button if button.key == "broadcast.measure"]
    assert "Not measured" in html_of(test) and "Every figure in the table" in html_of(test)


def test_recorded_rows_stand_below_the_published_ones(open_page: Opened, folder: Path) -> None:
    case = RecordedCase("x", "broadcast", DESIGN.document(), bandwidth=made().to_json())
    write_recording(Recording("2026-11-28", "<b>Made-up GPU", {}, {}, "", 1.0, (case,)), folder)
    body = html_of(open_page(SCRIPT))
    assert "&lt;b&gt;Made-up GPU" in body and "<b>Made" not in body
    assert "recorded 2026-11-28" in body and "a plain copy, same run" in body
    rows = body[body.index("tv-rates") :]
    assert rows.index("92.26 %") < rows.index("97.50 %") < rows.index("92.33 %")
    assert "+33.33 % bandwidth" in rows
    assert "128, 72, 72, 224; 256, 48, 48, 224; 400, 72, 72, 384." in rows


def test_a_recording_that_is_none_is_said(open_page: Opened, folder: Path) -> None:
    folder.mkdir()
    (folder / "bad.json").write_text("{}")
    test = open_page(SCRIPT)
    assert "bad.json is no recording" in html_of(test) and not test.exception


def test_on_a_gpu_the_design_is_measured_and_shown(
    open_page: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def measure(design: BroadcastDesign, **told: Any) -> Measured:
        asked.append(design)
        return made(design)

    monkeypatch.setattr("tileviz.ui.machine.has_gpu", lambda: True)
    monkeypatch.setattr(measuring, "measure_bandwidth", measure)
    link = {"operands": "1,1,1,192", "out": "256,64,64,192", "expression": "batchnorm"}
    test = open_page(SCRIPT, link)
    assert "Not measured for this design." in html_of(test)
    test.button(key="broadcast.measure").click().run()
    deadline = time.monotonic() + 20
    while "measured here, 2026-11-29" not in html_of(test) and time.monotonic() < deadline:
        test.run()
    body = html_of(test)
    assert [design.out for design in asked] == [(256, 64, 64, 192)]
    assert "before 65.0%, CINN 86.7%, ours 97.5%" in body and "Made-up GPU" in body
    assert not test.exception
