"""Ways of running a kernel, and the one call that runs, verifies and compares.

Names are loaded when first used, so that ``from tileviz.runners import warm`` starts a worker
before anything heavy is imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tileviz.runners.warming import On, warm

if TYPE_CHECKING:
    from tileviz.runners.compare import AccessRow, Totals
    from tileviz.runners.protocol import (
        Execution,
        Runner,
        RunnerInfo,
        RunnerStatus,
        Timing,
    )
    from tileviz.runners.results import OutputSummary, Run, judge_execution
    from tileviz.runners.select import run_kernel, select_runner, statuses
    from tileviz.runners.verify import Mismatch

_HOMES = {
    "compare": ("AccessRow", "Totals"),
    "protocol": ("Execution", "Runner", "RunnerInfo", "RunnerStatus", "Timing"),
    "results": ("OutputSummary", "Run", "judge_execution"),
    "select": ("run_kernel", "select_runner", "statuses"),
    "verify": ("Mismatch",),
}

__all__ = [
    "AccessRow",
    "Execution",
    "Mismatch",
    "On",
    "OutputSummary",
    "Run",
    "Runner",
    "RunnerInfo",
    "RunnerStatus",
    "Timing",
    "Totals",
    "judge_execution",
    "run_kernel",
    "select_runner",
    "statuses",
    "warm",
]


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"tileviz.runners.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
