"""The schedules of the general tactic and of CINN's, enumerated block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileviz.studies.broadcast.cinn import decide
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.general import general
from tileviz.studies.broadcast.scalar import ScalarSchedule, general_schedule, tactic_schedule
from tileviz.studies.design import validated


def check(design: BroadcastDesign, schedule: ScalarSchedule) -> None:
    """Every element once; every operand read where the shapes say; kept reads never move."""
    found = schedule.evaluate(np.arange(schedule.blocks))
    covered = np.sort(found.element[found.works])
    assert np.array_equal(covered, np.arange(design.elements))
    for shape, read, index in zip(design.shapes, schedule.reads, found.reads, strict=True):
        size = int(np.prod(shape, dtype=int))
        wanted = np.broadcast_to(np.arange(size).reshape(shape), design.out).ravel()
        assert np.array_equal(wanted[found.element[found.works]], index[found.works])
        if read.kept:
            assert (index == index[:, :1]).all()
            entered = np.broadcast_to(found.entered[:, None, :], index.shape)
            assert index[entered].min(initial=0) >= 0
            assert index[entered].max(initial=0) < size


def small(case: dict[str, Any]) -> bool:
    return (
        case["established"]
        and "pattern" not in case
        and -1 not in case["out"]
        and int(np.prod(case["out"])) <= 300_000
    )


@pytest.mark.oracle("cinn_tile_broadcast", section="cases", keep=small)
def test_schedules_of_the_cases(case: dict[str, Any]) -> None:
    fields = {"operands": case["operands"], "out": case["out"]}
    design = validated(BroadcastDesign, fields)
    check(design, general_schedule(design, general(design)))
    launch = decide(design).launch
    if launch is not None:
        check(design, tactic_schedule(design, launch))


@pytest.mark.parametrize(
    ("operands", "out"),
    [
        ([[8, 1, 16, 1]], [8, 4, 16, 64]),
        ([[1, 8, 1, 4, 1]], [3, 8, 5, 4, 288]),
        ([[1, 8, 1, 1, 1]], [4, 8, 16, 1, 32]),
        ([[1, 8, 16, 1], [1, 8, 1, 1], [1, 1, 16, 1]], [4, 8, 16, 64]),
        ([[1, 3, 1, 5, 1]], [2, 3, 2, 5, 2080]),
        ([[64], [1], [70, 1, 64]], [70, 1, 64]),
        ([[1, 1, 96], [7, 13, 96]], [7, 13, 96]),
    ],
)
def test_schedules_of_odd_forms(operands: Any, out: Any) -> None:
    design = validated(BroadcastDesign, {"operands": operands, "out": out, "sm_count": 1})
    check(design, general_schedule(design, general(design)))
    launch = decide(design).launch
    if launch is not None:
        check(design, tactic_schedule(design, launch))
    else:
        assert out == [70, 1, 64]
