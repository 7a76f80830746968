"""Lessons in the shell: listed, read, answered, checked."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from tileviz.cli import app

SHELL = CliRunner()
BROKEN = (
    "# T\n\nS.\n\n"
    '```tileviz-design a\n{"study": "access", "bytes": 4, "addresses": [0, 128]}\n```\n'
    '```tileviz-question\n{"kind": "number", "ask": "?", "value": "a.waves"}\n```\n'
)


def call(*arguments: str) -> tuple[int, str, str]:
    done = SHELL.invoke(app, ["lessons", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_list_names_every_lesson(tmp_path: Path) -> None:
    code, out, _ = call()
    assert code == 0
    assert out.startswith("banks-and-words")
    assert "why-33-columns" in out and "4 questions  Why 33 columns" in out
    code, out, _ = call("--json")
    assert json.loads(out)["lessons"][0]["title"] == "Banks and words"
    (tmp_path / "x.md").write_text("no title")
    code, out, err = call("--folder", str(tmp_path))
    assert (code, out) == (0, "")
    assert err.startswith("error: x.md, line 1: a lesson begins with a title")


def test_a_lesson_is_read_without_its_answers() -> None:
    code, out, _ = call("why-33-columns")
    assert code == 0
    assert out.startswith("# Why 33 columns\n")
    assert "1. Lane `l` now reads element" in out and "( ) 16" in out
    assert "{{" not in out
    assert "the pitch is odd" not in out  # said with the verdict only
    assert "to fill in" not in out and "goal: The column is free" in out
    code, out, _ = call("xor-swizzle")
    assert "[picture] Element (9, 12)" in out and "/Banks_and_swizzles?v=1&layout=Sw<5,0,5>" in (
        out.replace("%3C", "<").replace("%3E", ">")
    )


def test_answers_are_marked() -> None:
    code, out, _ = call("why-33-columns", "--answer", "1=1", "--answer", "1=32")
    assert code == 1
    assert "1. ▲ Not 1. The engine finds 32 wavefronts." in out
    assert "1. ✓ Right: 32 wavefronts." in out
    assert "32 lanes want different words of bank 0" in out
    code, out, _ = call("why-33-columns", "--answer", "3=33", "--json")
    assert code == 0
    assert json.loads(out)["answers"][0]["right"] is True


def test_what_is_no_answer_is_bad_input() -> None:
    for given in ("32", "9=1", "1=", "1=many", "x=1"):
        code, out, err = call("why-33-columns", "--answer", given)
        assert (code, out) == (2, ""), given
        assert err.startswith("error: answer") and err.count("\n") == 1
    code, _, err = call("no-such-lesson")
    assert code == 2
    assert "there is no such lesson; known: banks-and-words" in err


def test_a_folder_is_checked_one_line_a_fault(tmp_path: Path) -> None:
    (tmp_path / "01_broken.md").write_text(BROKEN)
    (tmp_path / "02_title.md").write_text("x")
    code, out, _ = call("--check", "--folder", str(tmp_path))
    assert code == 1
    lines = out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("02_title.md, line 1: a lesson begins with a title")
    assert lines[1].startswith("01_broken.md, line 8: a.waves: not in the result; it has study")
    (tmp_path / "02_title.md").unlink()
    (tmp_path / "01_broken.md").write_text(BROKEN.replace("a.waves", "a.wavefronts"))
    code, out, _ = call("--check", "--folder", str(tmp_path))
    assert (code, out) == (0, "1 lessons hold; 1 questions answered right and wrong.\n")
    code, out, _ = call("--check", "--folder", str(tmp_path), "--json")
    assert json.loads(out) == {"passed": True, "lessons": 1, "questions": 1, "faults": []}


def test_one_lesson_that_comes_along_is_checked() -> None:
    assert call("why-33-columns", "--check")[0] == 0


def test_the_help_says_when_a_check_fails() -> None:
    text = " ".join(
        CliRunner().invoke(app, ["lessons", "--help"], env={"COLUMNS": "200"}).output.split()
    )
    assert "exit 1 where one fails." in text
