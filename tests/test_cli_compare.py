"""``tileviz compare``: the shell's door to the same comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tileviz.cli import app
from tileviz.comparing import compare
from tileviz.comparing.pairs import read_side
from tileviz.studies.registry import preset

PAIR = ["banks-transpose-32x32", "banks-padding-33"]


def test_the_table_says_what_the_engine_says() -> None:
    done = CliRunner().invoke(app, ["compare", *PAIR, "--left-name", "<b>", "--note", "seen"])
    assert done.exit_code == 0
    assert "Right is better: 1 wavefront against 32, 31 fewer (−97%)." in done.output
    assert "≠" in done.output
    assert "<b>: 32 wavefronts" in done.output
    assert "seen" in done.output


def test_what_differs_without_a_figure_is_marked() -> None:
    done = CliRunner().invoke(app, ["compare", "permute-demo", "permute-declined"])
    lines = {line.split("  ")[0].strip(): line for line in done.output.splitlines()}
    for name in ("kind", "reference"):
        assert "≠" in lines[name]
        assert "=" not in lines[name].replace("k = 2", "")
    assert "=" in lines["has a schedule"]


def test_json_is_one_object_with_the_same_numbers_and_a_link_of_both() -> None:
    done = CliRunner().invoke(app, ["compare", *PAIR, "--json", "--right-name", "padded"])
    document = json.loads(done.output)
    designs = [found.design for name in PAIR if (found := preset(name)) is not None]
    found = compare(designs[0], designs[1], right_name="padded").to_json()
    assert {key: document[key] for key in found} == found
    assert document["link"].startswith("/Compare?v=1&left=/Banks_and_swizzles?")
    assert document["link"].endswith("&right_name=padded")
    assert read_side(PAIR[0]) == designs[0]


def test_a_report_is_written(tmp_path: Path) -> None:
    target = tmp_path / "both.html"
    call = ["compare", *PAIR, "--html", str(target), "--note", "<script>x</script>"]
    assert CliRunner().invoke(app, call).exit_code == 0
    text = target.read_text(encoding="utf-8")
    assert "31 fewer" in text
    assert "&lt;script&gt;x" in text


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (["permute-demo", "banks-padding-33"], "right"),
        (["permute-demo", "nowhere"], "right.design"),
        (['{"study": "weave"}', "permute-demo"], "left.study"),
        (["-", "-"], "right"),
        (["permute-demo", "permute-demo", "--note", "x" * 2001], "note"),
        (["permute-demo", "permute-demo", "--html", "/nowhere/report.html"], "html"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(call: list[str], field: str) -> None:
    done = CliRunner().invoke(app, ["compare", *call, "--json"])
    assert done.exit_code == 2
    assert json.loads(done.output)["error"]["field"] == field


def test_both_run_and_their_counts_stand_beside_each_other(tmp_path: Path) -> None:
    target = tmp_path / "both.html"
    call = ["compare", *PAIR, "--run", "--on", "emulator", "--json", "--html", str(target)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0
    measured = json.loads(done.output)["measured"]
    assert measured["verdict"]["sentence"] == (
        "Measured. Right is better: 1 wavefront against 32, 31 fewer (−97%)."
    )
    assert [measured[side]["verified"] for side in ("left", "right")] == [True, True]
    found = {row["name"]: (row["left"], row["right"]) for row in measured["numbers"]}
    assert found["access"] == (32, 1)
    assert found["wavefronts"] == (64, 33)
    assert [row["name"] for row in measured["numbers"] if row["decides"]] == ["verified", "access"]
    assert found["sectors"] == (132, 132)
    assert "tile[lane * 33]" in target.read_text(encoding="utf-8")
    text = CliRunner().invoke(app, ["compare", *PAIR, "--run", "--on", "emulator"]).output
    assert "Left: Output correct, 32 of 32 elements." in text
    assert "registers a thread" in text


def test_what_cannot_run_says_why_and_the_other_runs() -> None:
    dynamic = '{"study": "broadcast", "operands": [[1, 1, 1, 192]], "out": [-1, 56, 56, 192]}'
    call = ["compare", dynamic, "broadcast-192", "--run", "--on", "emulator", "--json"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0
    measured = json.loads(done.output)["measured"]
    assert "Left did not run" in measured["verdict"]["sentence"]
    assert measured["left"]["reason"]
    assert measured["right"]["verified"] is True
    assert measured["numbers"] == []
