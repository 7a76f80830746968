"""Block schedules: order, metrics and recommendation of grids of 100,000 tiles."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Row, fastest, peak_memory
from tileviz.studies.registry import make_design
from tileviz.studies.schedule.metrics import Metrics
from tileviz.studies.schedule.plan import plan
from tileviz.studies.schedule.policies import NAMES
from tileviz.studies.schedule.recommend import offsets_and_directions, recommended
from tileviz.studies.schedule.schedule import schedule_of

BIG: dict[str, Any] = {
    "study": "schedule",
    "problem": [316 * 128 - 5, 317 * 128 - 7, 8192],
    "tile": [128, 128, 32],
}
LEFT_OUT = ("custom", "catlass_single_core_splitk")


def rows() -> list[Row]:
    """Measure every policy on 100,172 tiles, the slowest of each kind, and a recommendation."""
    names = [name for name in NAMES if name not in LEFT_OUT]
    orders = {name: fastest(lambda name=name: _order(name), repeat=5) for name in names}
    figures = {name: fastest(lambda name=name: _figures(name), repeat=2) for name in names}
    alone = {name: fastest(lambda name=name: _figures(name, 1), repeat=2) for name in SERIAL}
    found = []
    for what, times, goal in (
        ("order of 100,172 tiles", orders, 0.02),
        ("all metrics, 108 workers", figures, 1.0),
        ("all metrics, 1 worker", alone, 1.0),
    ):
        worst = max(times, key=lambda name: times[name])
        found.append(Row(f"{what}, slowest policy ({worst})", times[worst], "s", goal))
    found.append(Row("order, catlass", orders["catlass"], "s", 0.02))
    found.append(Row("all metrics, catlass", figures["catlass"], "s", 1.0))
    found.append(_recommendation())
    memory = peak_memory("benchmarks.schedule")
    return [*found, Row("peak memory of order and metrics", memory, "MB", 300.0)]


SERIAL = ("row_major", "catlass", "hilbert", "triton_grouped")


def _order(name: str) -> object:
    return schedule_of(make_design({**BIG, "policy": name}))  # type: ignore[arg-type]


def _figures(name: str, workers: int = 108) -> object:
    made = plan(make_design({**BIG, "policy": name, "workers": workers}))  # type: ignore[arg-type]
    return made.metrics.to_json()


def _recommendation() -> Row:
    design = make_design(
        {
            "study": "schedule",
            "problem": [8192, 8192, 8192],
            "tile": [128, 128, 64],
            "policy": "row_major",
        }
    )
    candidates = offsets_and_directions(design)  # type: ignore[arg-type]
    seconds = fastest(lambda: recommended(design, candidates), repeat=2)  # type: ignore[arg-type]
    return Row(f"recommendation, {len(candidates)} settings of 4,096 tiles", seconds, "s", 2.0)


def measured_once() -> Metrics:
    """Order and judge the big grid once, for the memory figure."""
    made = plan(make_design({**BIG, "policy": "catlass", "offset": 3}))  # type: ignore[arg-type]
    made.metrics.to_json()
    return made.metrics


if __name__ == "__main__":
    measured_once()
