"""Ways of running a kernel, and the one call that runs, verifies and compares."""

from tileviz.runners.compare import AccessRow, Totals
from tileviz.runners.protocol import (
    Execution,
    Runner,
    RunnerInfo,
    RunnerStatus,
    Timing,
)
from tileviz.runners.results import OutputSummary, Run, judge_execution
from tileviz.runners.select import On, run_kernel, select_runner, statuses, warm
from tileviz.runners.verify import Mismatch

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
