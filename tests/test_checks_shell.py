"""``tileviz check``: several designs, exit codes, one object, JUnit XML; and the CI document."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from tileviz.checking.junit import Checked, junit
from tileviz.cli import app
from tileviz.errors import DesignError

SHELL = CliRunner()
ROOT = Path(__file__).resolve().parent.parent
GOOD = {"study": "access", "layout": "S[(32, 32):(33, 1)]", "pattern": "column"}
BAD = {"study": "access", "layout": "S[(32, 32):(32, 1)]", "pattern": "column"}
NONE = ("--max-excess", "0")


def call(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    done = SHELL.invoke(app, ["check", *arguments], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    (tmp_path / "bad.json").write_text(json.dumps(BAD, indent=1))
    (tmp_path / "broken.json").write_text('{"study": "access", "layout": "<b>S[(32"}')
    return tmp_path


def test_one_design_and_its_exit_codes(folder: Path) -> None:
    code, out, _ = call(str(folder / "good.json"), *NONE)
    assert code == 0 and out.startswith("✓ ")
    code, out, _ = call(str(folder / "bad.json"), *NONE, "--json")
    document = json.loads(out)
    assert code == 1 and document["passed"] is False
    (budget,) = document["budgets"]
    assert (budget["name"], budget["limit"], budget["value"]) == ("excess", 0, 31)
    assert budget["passed"] is False and document["errors"] == []
    code, out, _ = call(str(folder / "broken.json"), *NONE, "--json")
    assert code == 2 and json.loads(out)["error"]["field"] == "layout"


def test_a_fault_in_one_design_does_not_stop_the_rest(folder: Path) -> None:
    files = [str(folder / name) for name in ("broken.json", "good.json", "bad.json")]
    code, out, _ = call(*files, *NONE, "--json")
    document = json.loads(out)
    assert code == 2 and document["passed"] is False
    assert [budget["passed"] for budget in document["budgets"]] == [True, False]
    assert [budget["design"] for budget in document["budgets"]] == files[1:]
    assert document["errors"][0]["design"] == files[0]
    code, out, _ = call(*files, *NONE)
    assert code == 2 and "1 of 3 designs keep to their budgets" in out


def test_json_lines_from_standard_input_and_from_a_file(tmp_path: Path) -> None:
    lines = f"{json.dumps(GOOD)}\n\nbroken\n{json.dumps(BAD)}\n"
    code, out, _ = call("-", *NONE, "--json", stdin=lines)
    document = json.loads(out)
    assert code == 2 and [b["design"] for b in document["budgets"]] == ["stdin:1", "stdin:4"]
    assert document["errors"][0]["design"] == "stdin:3"
    file = tmp_path / "designs.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}\n")
    assert call(str(file), *NONE)[0] == 0
    assert call("-", *NONE, stdin=json.dumps(GOOD, indent=2))[0] == 0  # one, over many lines
    assert call("-", *NONE, stdin="")[0] == 2
    link = "/Banks_and_swizzles?v=1&layout=S[(32,32):(33,1)]&pattern=column"
    file.write_text(f"banks-padding-33\n{link}\n")
    code, out, _ = call(str(file), *NONE)
    assert code == 0 and "2 of 2 designs" in out


def test_a_preset_a_link_and_inline_json() -> None:
    link = "/Banks_and_swizzles?v=1&layout=S[(32,32):(33,1)]&pattern=column"
    code, out, err = call("banks-padding-33", link, json.dumps(GOOD), *NONE)
    assert code == 0, err
    assert "3 of 3 designs" in out


def test_budgets_lie_in_a_file_and_the_command_line_comes_first(folder: Path) -> None:
    budgets = folder / "budgets.json"
    budgets.write_text(json.dumps({"max-excess": 31, "access": {"max-n-way": 32}}))
    bad = str(folder / "bad.json")
    assert call(bad, "--budgets", str(budgets))[0] == 0
    code, out, _ = call(bad, "--budgets", str(budgets), "--max-n-way", "31", "--json")
    limits = {budget["name"]: budget["limit"] for budget in json.loads(out)["budgets"]}
    assert code == 1 and limits == {"excess": 31, "n_way": 31}


def test_a_file_of_budgets_may_be_shared_by_studies(folder: Path) -> None:
    budgets = folder / "budgets.json"
    budgets.write_text(json.dumps({"max-excess": 0, "schedule": {"min-hit-rate": 0.5}}))
    files = (str(folder / "good.json"), "schedule-ragged", "--budgets", str(budgets))
    code, out, _ = call(*files, "--json")
    found = [(b["study"], b["name"]) for b in json.loads(out)["budgets"]]
    assert code == 0
    assert found == [("access", "excess"), ("schedule", "excess"), ("schedule", "hit_rate")]
    budgets.write_text(json.dumps({"max-n-way": 1, "schedule": {"min-hit-rate": 0.5}}))
    code, out, _ = call(*files, "--json")
    found = [(b["study"], b["name"]) for b in json.loads(out)["budgets"]]
    assert code == 0 and found == [("access", "n_way"), ("schedule", "hit_rate")]
    # What is typed must exist for each design.
    code, out, _ = call(*files, "--max-n-way", "1", "--json")
    assert code == 2 and json.loads(out)["errors"][0]["error"]["field"] == "max-n-way"


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"max-speed": 1}', '{"max-excess": "0"}', '{"max-excess": NaN}', None]
)
def test_a_bad_file_of_budgets_is_one_line(folder: Path, text: str | None) -> None:
    file = folder / "budgets.json"
    if text is not None:
        file.write_text(text)
    code, out, err = call(str(folder / "good.json"), "--budgets", str(file))
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert "design" not in err.split(":")[1]


@pytest.mark.parametrize(
    "arguments", [(), ("--max-excess", "-1"), ("--max-excess", "nan"), ("--arch", "x")]
)
def test_bad_options_are_bad_input(folder: Path, arguments: tuple[str, ...]) -> None:
    more = ("--max-excess", "0") if "--arch" in arguments else ()
    code, _, err = call(str(folder / "good.json"), *arguments, *more)
    assert code == 2 and err.count("\n") == 1


def test_a_junit_report_is_what_build_servers_read(folder: Path) -> None:
    report = folder / "report.xml"
    names = [str(folder / f"{name}.json") for name in ("good", "bad", "broken")]
    code, _, _ = call(*names, *NONE, "--max-registers", "255", "--junit", str(report))
    assert code == 2
    root = ET.fromstring(report.read_bytes())
    assert root.tag == "testsuites"
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "1", "1")
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == names
    for suite in suites:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        assert all(case.get("classname") and case.get("file") for case in cases)
    (failure,) = root.iter("failure")
    assert "excess is 31, at most 0 allowed" in str(failure.get("message"))
    (error,) = root.iter("error")
    assert "<b>S[(32" in str(error.text)  # escaped in the file, as it was when read


def test_a_report_holds_any_text() -> None:
    nasty = 'a<b>&"]]>\x00\x1b\ud800\n'
    root = ET.fromstring(junit([Checked(nasty, DesignError(nasty, nasty, nasty))]).encode())
    text = str(root[0].get("name"))
    assert text.startswith('a<b>&"]]>\ufffd\ufffd\ufffd')


def test_a_report_that_cannot_be_written_is_said(folder: Path) -> None:
    code, _, err = call(str(folder / "good.json"), *NONE, "--junit", str(folder / "no" / "r.xml"))
    assert code == 2 and err.startswith("error: junit: cannot be written")


def test_a_run_adds_its_problems(folder: Path) -> None:
    code, out, _ = call(str(folder / "good.json"), *NONE, "--run", "--on", "emulator", "--json")
    names = [budget["name"] for budget in json.loads(out)["budgets"]]
    assert code == 0 and names == ["excess", "problems"]


# -- the document ------------------------------------------------------------------------------

DOCUMENT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def documented_files() -> dict[str, str]:
    """Return the files that the document shows, by the name in the line before them."""
    found = re.findall(
        r"^`([\w/]+\.json)` [^\n]*\n(?:[^\n`]+\n)*\n```json\n(.*?)```", DOCUMENT, re.M | re.S
    )
    return dict(found)


def test_the_documented_workflow_works_as_it_stands(tmp_path: Path) -> None:
    commands = re.findall(r"^ *- run: (.*)$", DOCUMENT, re.M)
    assert commands[0] == "python -m pip install -r requirements.txt"
    assert (ROOT / "requirements.txt").is_file()
    files = documented_files()
    assert sorted(files) == ["budgets.json", "designs/transpose.json", "kernels/scale.json"]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    for command in commands[1:]:
        ours = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", command)
        done = subprocess.run(
            ours, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    reports = {path.name: ET.parse(path).getroot() for path in tmp_path.glob("*.xml")}
    assert sorted(reports) == ["kernels.xml", "report.xml"]
    assert all(root.get("failures") == root.get("errors") == "0" for root in reports.values())
    assert int(reports["kernels.xml"].get("tests") or 0) == 5  # four budgets and the run itself


def test_every_budget_is_documented() -> None:
    from tileviz.checking.budgets import MEASURES

    for measure in MEASURES.values():
        assert f"`--{measure.option}`" in DOCUMENT
