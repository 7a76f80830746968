"""A session's runs: results by subject, faults said, cancelled runs forgotten."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from tileviz.errors import DesignError
from tileviz.studies.errors import NotRunnable
from tileviz.studies.statement import Statement
from tileviz.ui.run_panel import _cancel, _Job, _Memory
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
