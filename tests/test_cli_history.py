"""The history from the shell: what ran is listed, found and exported; what fails is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tileviz.cli import app

SHELL = CliRunner()
DESIGN = json.dumps({"study": "access", "bytes": 4, "addresses": [0, 128]})


@pytest.fixture(autouse=True)
def no_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this version recorded on a GPU is none of these tests' business."""
    monkeypatch.setattr("tileviz.runners.store_listing.assets", lambda: tmp_path / "assets")


def call(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    done = SHELL.invoke(app, list(arguments), input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_every_command_that_runs_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text('extern "C" __global__ void k(float* y) { y[threadIdx.x] = 1; }')
    assert call("run", DESIGN, "--on", "emulator", "--seed", "7")[0] == 0
    assert call("batch", "-", "--run", "--on", "emulator", stdin=f"{DESIGN}\nbroken\n")[0] == 2
    assert call("trace", str(source), "--entry", "k", "--buffer", "y:float32:32:out")[0] == 0
    code, out, _ = call("runs", "--json")
    found = json.loads(out)
    assert code == 0 and found["total"] == 3 and found["bytes"] > 0
    assert [run["study"] for run in found["runs"]] == ["kernel", "access", "access"]
    assert [run["seed"] for run in found["runs"]] == [0, 0, 7]
    assert "run" not in found["runs"][0]


def test_the_list_is_searched_limited_and_exported(tmp_path: Path) -> None:
    call("run", DESIGN, "--on", "emulator")
    call("run", "permute-demo", "--on", "emulator")
    code, out, _ = call("runs", "--find", "S[(2, 1, 4, 32)", "--limit", "1")
    assert code == 0 and "permute" in out and "access" not in out
    assert "1 of 1 runs, in " in out
    target = tmp_path / "all.jsonl"
    assert call("runs", "--export", str(target)) == (0, "", "")
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [line["study"] for line in lines] == ["permute", "access"]
    assert lines[0]["run"]["verified"] is True
    code, out, _ = call("runs", "--study", "access", "--export", "-")
    assert json.loads(out)["design"] == json.loads(DESIGN)


@pytest.mark.parametrize(
    ("option", "value", "field"),
    [
        ("--study", "weave", "study"),
        ("--outcome", "fine", "outcome"),
        ("--runner", "cpu", "runner"),
        ("--since", "2026-13-01", "since"),
        ("--limit", "0", "limit"),
        ("--export", "/nonexistent/folder/file", "export"),
    ],
)
def test_bad_input_is_one_line(option: str, value: str, field: str) -> None:
    code, out, _ = call("runs", option, value, "--json")
    assert code == 2 and json.loads(out)["error"]["field"] == field
    code, out, err = call("runs", option, value)
    assert code == 2 and out == "" and err.count("\n") == 1


def test_an_empty_history_says_how_it_begins() -> None:
    code, out, _ = call("runs")
    assert code == 0 and "tileviz run permute-demo" in out
    assert json.loads(call("runs", "--json")[1])["runs"] == []


def test_a_history_that_cannot_be_written_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEVIZ_DATA", str(tmp_path / "file" / "folder"))
    code, out, err = call("run", DESIGN, "--on", "emulator", "--json")
    assert code == 0 and json.loads(out)["verified"] is True
    assert err.startswith("warning: this run was not kept in the history: ")
    assert err.count("\n") == 1
    code, out, err = call("batch", "-", "--run", "--on", "emulator", stdin=f"{DESIGN}\n{DESIGN}\n")
    assert code == 0 and err.count("warning") == 1  # said once, not once a line
