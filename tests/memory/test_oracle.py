"""Every published measurement of shared-memory wavefronts and global sectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileviz.memory import Accesses, Space, global_sectors, shared_wavefronts


def accesses_of(case: dict[str, Any], space: Space) -> Accesses:
    lanes = case["lane_byte_addresses"]
    active = np.array([lane is not None for lane in lanes])
    addresses = np.array([0 if lane is None else lane for lane in lanes])
    op = case["op"].removesuffix(".global")
    return Accesses.of(addresses, active=active, space=space, op=op, bytes=case["access_bytes"])


@pytest.mark.oracle("bank_conflicts")
def test_bank_conflicts(case: dict[str, Any]) -> None:
    verdict = shared_wavefronts(accesses_of(case, "shared"))
    found = (verdict.wavefronts[0], verdict.n_way[0], verdict.ideal[0])
    assert found == (case["expected_wavefronts"], case["n_way"], case["ideal_wavefronts"])
    if case["expected_bank_conflicts"] is not None:
        assert verdict.wavefronts[0] - verdict.ideal[0] == case["expected_bank_conflicts"]


@pytest.mark.oracle("coalescing")
def test_coalescing(case: dict[str, Any]) -> None:
    verdict = global_sectors(accesses_of(case, "global"))
    found = (verdict.sectors[0], verdict.lines[0])
    assert found == (case["expected_sectors"], case["expected_128B_lines"])
