"""Sweeps over fields of designs of any study, and the command that prints them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tileviz.cli import app
from tileviz.errors import DesignError
from tileviz.studies.registry import preset
from tileviz.studies.sweep import count, parse_over, sweep

SHELL = CliRunner()


def document(name: str) -> dict[str, Any]:
    found = preset(name)
    assert found is not None
    return found.design.document()


def test_offsets_and_directions() -> None:
    overs = [parse_over("offset=1..3,12"), parse_over("direction=zn,nz")]
    assert count(overs) == 8
    rows = list(sweep(document("schedule-ragged"), overs, ["l2_hit_rate"]))
    assert [(row["offset"], row["direction"]) for row in rows[:3]] == [(1, "zn"), (1, "nz"),
                                                                     (2, "zn")]  # fmt: skip
    rates = {(row["offset"], row["direction"]): row["l2_hit_rate"] for row in rows}
    assert rates[3, "nz"] == pytest.approx(0.898, abs=5e-4)
    assert rates[12, "zn"] == pytest.approx(0.921, abs=5e-4)


def test_every_figure_without_a_metric() -> None:
    (row,) = sweep(document("schedule-fits"), [parse_over("workers=24")])
    assert {"l2_hit_rate", "miss_bytes", "balance", "waves"} <= row.keys()


def test_nested_fields_places_and_paths_of_any_study() -> None:
    rows = list(sweep(document("schedule-ragged"), [parse_over("tile.1=128,256")], ["waves"]))
    assert [row["waves"] for row in rows] == [38, 19]
    overs = [parse_over("stages.count=1,2")]
    rows = list(sweep(document("permute-demo"), overs, ["hardware.write.wavefronts"]))
    assert [row["hardware.write.wavefronts"] for row in rows] == [8, 4]


def test_a_combination_at_fault_does_not_stop_the_rest() -> None:
    rows = list(sweep(document("schedule-ragged"), [parse_over("offset=0,3")], ["balance"]))
    assert rows[0]["error"].startswith("offset: ")
    assert rows[1]["balance"] == pytest.approx(1.024)


@pytest.mark.parametrize(
    "text",
    ["offset", "=1", "offset=", "offset=1..", "offset=9..1", "offset=1..9..0", "offset=1,,2",
     "offset=0..999999999999"],
)  # fmt: skip
def test_bad_ranges(text: str) -> None:
    with pytest.raises(DesignError) as error:
        parse_over(text)
    assert error.value.field == "over"


def test_limits_and_unknown_figures() -> None:
    wide = [parse_over("offset=1..100"), parse_over("workers=1..100")]
    with pytest.raises(DesignError, match="10000 combinations; at most"):
        count(wide)
    with pytest.raises(DesignError, match="each field to vary once"):
        count([wide[0], wide[0]])
    with pytest.raises(DesignError, match="no such figure"):
        list(sweep(document("schedule-fits"), [parse_over("offset=1")], ["speed"]))
    with pytest.raises(DesignError, match="places 0 to 2 exist"):
        list(sweep(document("schedule-fits"), [parse_over("problem.3=1")], ["balance"]))


def test_values_keep_their_types() -> None:
    assert parse_over("x=1,2.5,true,null,zn,-3..-1").values == (1, 2.5, True, None, "zn", -3, -2,
                                                               -1)  # fmt: skip


def test_command(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    arguments = ["sweep", "schedule-ragged", "--over", "offset=1..2", "--over", "direction=zn,nz",
                 "--metric", "l2_hit_rate", "--csv", str(target), "--json"]  # fmt: skip
    done = SHELL.invoke(app, arguments)
    assert done.exit_code == 0
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 4
    with target.open() as file:
        written = list(csv.DictReader(file))
    assert [float(row["l2_hit_rate"]) for row in written] == [row["l2_hit_rate"] for row in rows]
    text = SHELL.invoke(app, [argument for argument in arguments if argument != "--json"])
    assert text.exit_code == 0 and "l2_hit_rate" in text.stdout


def test_command_with_bad_input() -> None:
    done = SHELL.invoke(app, ["sweep", "schedule-ragged", "--over", "offset", "--json"])
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["field"] == "over"
