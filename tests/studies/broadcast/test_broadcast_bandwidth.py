"""The bandwidth table: published rows beside ours, each a share of its device's ceiling."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tileviz.cuda import library
from tileviz.runners import run_kernel
from tileviz.studies.broadcast.bandwidth import PUBLISHED, bandwidth_rows, copy_kernel
from tileviz.studies.broadcast.bandwidth_text import cell, change, named, place, table, verdict
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.measured import Measured, Source, VersionTime
from tileviz.studies.broadcast.plan import BroadcastPlan, plan
from tileviz.studies.design import validated
from tileviz.studies.registry import make_design

needs_nvrtc = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")


def planned(operands: Any, out: Any, **fields: Any) -> BroadcastPlan:
    return plan(validated(BroadcastDesign, {"operands": operands, "out": out, **fields}))


def test_published_rows_agree_with_their_formula(oracle_document: Any) -> None:
    table = oracle_document("cinn_tile_broadcast")["pr_tables"]["nhwc_71434_v100"]["rows"]
    for row, want, published in zip(bandwidth_rows(), table, PUBLISHED, strict=True):
        assert list(row.design.out) == want["shape"]
        rate = row.rates["cinn"]
        assert rate.gb_per_s == pytest.approx(want["gb_per_s"], abs=0.06)
        assert rate.share is not None
        assert 100 * rate.share == pytest.approx(want["pct_of_900"], abs=0.006)
        reported = want["reported"]
        assert (published.peak_percent, published.us, published.gain_percent) == (
            reported["bandwidth_pct"],
            reported["runtime_us"],
            reported["bandwidth_gain_pct"],
        )
        assert published.change_percent == reported["runtime_change_pct"]
        assert make_design(published.document).elements == want["elements"]


def measured(design: BroadcastDesign, source: Source = "live", **changes: Any) -> Measured:
    times = (
        VersionTime("before", 200.0, 199.0, 202.0, 50),
        VersionTime("cinn", 125.0, 124.0, 126.0, 50),
        VersionTime("ours", 100.0, 99.0, 101.0, 50),
    )
    made = Measured(design, "test device", "2026-11-29", source, 90.0, times)
    return replace(made, **changes)


def test_measured_rows_are_shares_of_their_own_copy() -> None:
    design = planned([[192]], [64, 56, 56, 192]).design
    row = bandwidth_rows([measured(design)])[4]
    share = row.rates["ours"].share
    assert share == pytest.approx(0.9, abs=1e-4) and "plain copy" in row.ceiling
    assert row.gain_percent == pytest.approx(60.0) and row.change_percent == pytest.approx(-37.5)
    assert place(row) == "test device, measured here, 2026-11-29"
    assert change(row) == "+60.00 % bandwidth, −37.50 % time"


def test_our_rows_stand_below_the_published_one_of_their_shape() -> None:
    second = validated(BroadcastDesign, {**PUBLISHED[1].document, "sm_count": 132})
    other = planned([[192]], [64, 56, 56, 192]).design
    rows = bandwidth_rows(
        [
            measured(other),
            measured(second, "recorded", date="2026-01-01"),
            measured(second, "recorded", date="2026-02-01"),
            measured(second, date="2025-01-01"),
        ]
    )
    assert [(row.source, row.when) for row in rows[1:5]] == [
        ("published", "#71434"),
        ("live", "2025-01-01"),
        ("recorded", "2026-02-01"),
        ("recorded", "2026-01-01"),
    ]
    assert rows[-1].design == other
    text = table(rows)
    assert len(text.rows) == 8 and text.rows[2][0] == "128, 72, 72, 224"
    assert "recorded 2026-01-01" in text.rows[4][1]
    assert named(rows[-1]) == "64, 56, 56, 192 add float32"


def test_the_verdict_on_bandwidth_names_its_device_or_says_why_there_is_none() -> None:
    design = planned([[192]], [64, 56, 56, 192]).design
    said = verdict(bandwidth_rows([measured(design)]), design)
    assert said.state == "ok" and "before 45.0%, CINN 72.0%, ours 90.0%" in said.sentence
    assert said.facts == "test device, measured here, 2026-11-29."
    nothing = verdict(bandwidth_rows([measured(design)]), planned([[64]], [8, 64]).design)
    assert nothing.sentence == "Not measured for this design." and nothing.facts == ""
    untimed = measured(design, times=(), copy_us=None, missing=(("ours", "too short to time"),))
    said = verdict(bandwidth_rows([untimed]), design)
    assert said.sentence.startswith("Not timed on test device") and "too short" in said.sentence
    assert cell(bandwidth_rows([untimed])[4], "ours") == "too short to time"
    assert cell(bandwidth_rows([untimed])[4], "before") == "not measured"


GOOD = measured(validated(BroadcastDesign, {"operands": [[8]], "out": [4, 8]})).to_json()


def test_a_measurement_survives_its_file() -> None:
    document = json.loads(json.dumps(GOOD, allow_nan=False))
    read = Measured.from_json(document, device="test device", date="2026-11-29")
    assert read == measured(read.design, "recorded") and read.to_json() == GOOD


@pytest.mark.parametrize(
    "change",
    [
        {"design": 3},
        {"design": {"operands": [[3]], "out": [4, 8]}},
        {"design": {"operands": [[8]], "out": [-1, 8]}},
        {"mode": "warm"},
        {"copy_us": float("nan")},
        {"copy_us": -1.0},
        {"copy_us": "9"},
        {"times": [{"version": "theirs", "us": 1, "p10_us": 1, "p90_us": 1, "launches": 9}]},
        {"times": [{"version": "ours", "us": 0, "p10_us": 1, "p90_us": 1, "launches": 9}]},
        {"times": [{"version": "ours", "us": 1, "p10_us": 1, "p90_us": 1, "launches": 0}]},
        {"times": [{"version": "ours"}]},
        {"missing": [["theirs", "gone"]]},
        {"missing": 7},
    ],
)
def test_what_is_no_measurement_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no measured bandwidth"):
        Measured.from_json({**GOOD, **change}, device="d", date="2026-11-29")


@needs_nvrtc
@pytest.mark.parametrize(("elements", "dtype"), [(5000, "float32"), (4099, "float16"), (3, "int8")])
def test_the_copy_copies(elements: int, dtype: str) -> None:
    design = planned([[1]], [elements], dtype=dtype, sm_count=1).design
    assert run_kernel(copy_kernel(design), on="emulator").verified is True
