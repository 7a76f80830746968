"""Broadcast kernels: loads per element in the emulator, and bandwidth on a GPU."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Row, fastest
from tileviz.runners import run_kernel, statuses
from tileviz.runners.bandwidth import measure_bandwidth
from tileviz.studies.broadcast.bandwidth import PUBLISHED
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.kernel import kernel, prepare
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.broadcast.portion import VERSIONS, Version
from tileviz.studies.broadcast.traffic import traffic
from tileviz.studies.design import validated
from tileviz.studies.registry import make_design

FORMS = (
    ("C = 192", [[192]], [64, 56, 56, 192]),
    ("C = 33", [[33]], [64, 56, 56, 33]),
    ("(1, H, 1, C)", [[1, 56, 1, 192]], [64, 56, 56, 192]),
    ("C = 65536", [[65536]], [64, 65536]),
)


def rows() -> list[Row]:
    """Plan, run a sample in the emulator, and time whole shapes on a GPU."""
    seed = _planned(*FORMS[0][1:])
    found = [
        Row("plan of a design", 1e3 * fastest(lambda: plan(seed.design)), "ms", 1.0),
        Row("text and prediction of ours", 1e3 * fastest(lambda: kernel(seed)), "ms", 50),
    ]
    for name, operands, out in FORMS:
        decided = _planned(operands, out)
        before, after = (_loads(decided, version) for version in ("before", "ours"))
        found.append(Row(f"loads per element, {name}", after, "", None, ("before", before)))
    return found + _timed()


def _planned(operands: list[list[int]], out: list[int]) -> BroadcastPlan:
    return plan(make_design({"study": "broadcast", "operands": operands, "out": out}))


def _loads(decided: BroadcastPlan, version: Version) -> float:
    """Return the operand's loads for one element, as measured in the emulator."""
    made = prepare(decided, version, whole=False)
    done = run_kernel(kernel(decided, version, whole=False), on="emulator")
    assert done.verified, done.problems
    blocks = len(done.traced_blocks) if done.traced_blocks is not None else int(np.prod(made.grid))
    return traffic(made, done.measured, blocks)[0].per_element


def _timed() -> list[Row]:
    """Time the smallest published shape and a plain copy of its size, if a GPU is here."""
    if not any(status.name == "gpu" and status.available for status in statuses()):
        return []
    smallest = min(PUBLISHED, key=lambda row: row.bytes)
    measured = measure_bandwidth(validated(BroadcastDesign, smallest.document))
    return [
        Row(f"{version}, share of a plain copy", 100 * share, "%")
        for version in VERSIONS
        if (share := measured.share(version)) is not None
    ]
