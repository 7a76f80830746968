"""A session's runs: results by subject, faults said, cancelled runs forgotten."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.runners import RunnerStatus
from tileviz.runners.own_kernels import VARIABLE
from tileviz.studies.errors import NotRunnable
from tileviz.studies.statement import Statement
from tileviz.ui import machine, run_panel
from tileviz.ui.run_panel import (
    Runnable,
    _answer,
    _ask,
    _cancel,
    _Job,
    _Memory,
    _option,
    _Place,
    _run,
    _unavailable,
)
from tileviz.ui.run_table import RunView

VIEW = RunView("emulator", "here", (), Statement("ok", "Output correct."), ())


def _job(subject: str, outcome: RunView | BaseException | None) -> _Job:
    future: Future[RunView] = Future()
    if isinstance(outcome, RunView):
        future.set_result(outcome)
    elif outcome is not None:
        future.set_exception(outcome)
    return _Job(subject, "emulator", future, 0.0)


def test_a_result_belongs_to_what_was_run() -> None:
    memory = _Memory(job=_job("this", VIEW))
    memory.settle()
    assert memory.job is None
    assert memory.views == {"this": VIEW}


def test_a_run_under_way_stays() -> None:
    memory = _Memory(job=_job("this", None))
    memory.settle()
    assert memory.job is not None
    assert not memory.views


@pytest.mark.parametrize("error", [NotRunnable("too large"), DesignError("on", "no such runner")])
def test_what_cannot_run_is_said(error: Exception) -> None:
    memory = _Memory(job=_job("this", error))
    memory.settle()
    assert memory.faults == {"this": str(error)}


def test_a_fault_of_ours_is_not_hidden() -> None:
    memory = _Memory(job=_job("this", ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        memory.settle()
    assert memory.job is None


def test_a_cancelled_run_leaves_nothing() -> None:
    memory = _Memory(job=_job("this", None))
    _cancel(memory)
    memory.settle()
    assert memory.job is None
    assert not memory.views
    assert not memory.faults


def test_only_the_last_few_results_are_kept() -> None:
    memory = _Memory()
    for number in range(12):
        memory.job = _job(str(number), VIEW)
        memory.settle()
    assert len(memory.views) == 8
    assert "11" in memory.views


def test_a_runner_that_is_missing_is_offered_with_its_reason() -> None:
    missing = RunnerStatus("gpu", False, "a GPU driver, but PyCUDA is not installed", "install it")
    assert _option(missing) == "GPU (not available)"
    assert _unavailable(missing) == (
        "A GPU driver, but PyCUDA is not installed. To use it: install it"
    )
    assert _unavailable(RunnerStatus("gpu", False, "no GPU")) == "No GPU."
    assert _option(RunnerStatus("emulator", True, "")) == "Emulator"


def test_a_place_in_the_queue_is_kept_for_the_page() -> None:
    place = _Place()
    place.tell(3)
    assert _Job("this", "gpu", Future(), 0.0, place).place.ahead == 3


def test_the_page_offers_the_gpu_and_says_why_it_cannot_be_used(
    open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = (
        RunnerStatus("emulator", True, "NVRTC is here"),
        RunnerStatus("gpu", False, "no NVIDIA GPU on this machine"),
    )
    monkeypatch.setattr(machine, "runner_statuses", lambda: found)
    page = open_page("pages/1_Permute_layout.py", {"src": "S[(4,32):(32,1)]"})
    choice = page.selectbox(key="run.permute.on")
    assert choice.value == "emulator" and choice.options == ["Emulator", "GPU (not available)"]
    choice.set_value("gpu").run()
    assert not page.exception
    (run,) = (button for button in page.button if button.label == "Run")
    assert run.disabled
    said = " ".join(element.proto.body for element in page.get("html"))
    assert "No NVIDIA GPU on this machine." in said
    assert page.text_input(key="permute.src").value  # nothing typed is lost
    page.selectbox(key="run.permute.on").set_value("emulator").run()
    (run,) = (button for button in page.button if button.label == "Run")
    assert not run.disabled


OWN = Kernel("", "k", (1, 1, 1), (32, 1, 1), ())
GENERATED = Kernel("", "k", (1, 1, 1), (32, 1, 1), (), reference=lambda inputs: {})
HERE = RunnerStatus("emulator", True, "")


@pytest.mark.parametrize("on", ["gpu", "auto"])
@pytest.mark.parametrize("value", ["", "0", "yes", "true"])
def test_an_own_kernel_is_kept_from_the_gpu_whatever_the_page_drew(
    monkeypatch: pytest.MonkeyPatch, on: Any, value: str
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    ran: list[str] = []
    monkeypatch.setattr(run_panel, "run_kernel", lambda kernel, on, on_queue: ran.append(on))
    with pytest.raises(DesignError, match=f"on the emulator only.*{VARIABLE}=1"):
        _run(lambda: OWN, on, _Place(), lambda run, kernel: run)
    assert ran == []
    _run(lambda: OWN, "emulator", _Place(), lambda run, kernel: run)
    _run(lambda: GENERATED, on, _Place(), lambda run, kernel: run)
    assert ran == ["emulator", "auto"]


def test_the_owner_of_the_server_may_allow_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    ran: list[str] = []
    monkeypatch.setattr(run_panel, "run_kernel", lambda kernel, on, on_queue: ran.append(on))
    _run(lambda: OWN, "gpu", _Place(), lambda run, kernel: run)
    assert ran == ["auto"]


def test_what_runs_is_the_design_of_the_moment_and_only_without_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[object] = []
    monkeypatch.setattr(run_panel, "_start", lambda memory, what, on: started.append(what.subject))
    memory = _Memory()
    _ask(memory)
    _answer(memory, Runnable("page", "faulty", lambda: OWN, ready=False), HERE)
    _answer(memory, Runnable("page", "not asked", lambda: OWN), HERE)
    _ask(memory)
    _answer(memory, Runnable("page", "nowhere", lambda: OWN), RunnerStatus("emulator", False, ""))
    _ask(memory)
    _answer(memory, Runnable("page", "this", lambda: OWN), HERE)
    assert started == ["this"]


def _ends_between() -> None:
    """A page whose run ends after its controls were drawn."""
    from concurrent.futures import Future

    import streamlit as st

    from tileviz.studies.statement import Statement
    from tileviz.ui.run_panel import Runnable, _Job, _memory, outcome, run_controls
    from tileviz.ui.run_table import RunView

    what = Runnable("test", "this", lambda: None)  # type: ignore[arg-type,return-value]
    if "job" not in st.session_state:
        st.session_state.job = Future()
        _memory("test").job = _Job("this", "emulator", st.session_state.job, 0.0)
    run_controls(what)
    if not st.session_state.job.done():
        done = RunView("emulator", "here", (), Statement("ok", "Output correct."), ())
        st.session_state.job.set_result(done)
    found = outcome(what)
    st.text(found.view.statement.sentence if found.view else "nothing yet")


def test_a_run_that_ends_while_the_page_is_drawn_leaves_no_cancel_behind() -> None:
    test = AppTest.from_function(_ends_between).run()
    assert not test.exception
    assert [button.label for button in test.button] == ["Run"]
    assert [text.value for text in test.text] == ["Output correct."]
