"""What hostile or careless input once broke in reviews, links, kernels and their lists."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tileviz as tv
from tileviz.cli import app
from tileviz.comparing import compare
from tileviz.comparing.code import differences
from tileviz.comparing.pairs import read_side
from tileviz.comparing.running import run_both
from tileviz.errors import DesignError
from tileviz.export.differences import line_marks
from tileviz.export.links import parse_link
from tileviz.lessons import shelf_of
from tileviz.lessons.marking import read_number
from tileviz.reviewing import report_of
from tileviz.studies.documents import parse_json
from tileviz.studies.registry import make_design, preset

SHELL = CliRunner()
KERNEL = 'extern "C" __global__ void f(float* x) {{\n// a{0}b\nx[threadIdx.x] = 1.0f;\n}}\n'
LINK = "/Layouts?v=1&layout=S[32:1]"


def own_kernel(source: str, **more: object) -> object:
    buffers = [{"name": "x", "shape": [32], "role": "out"}]
    return tv.design(study="kernel", source=source, entry="f", buffers=buffers, **more)


@pytest.mark.parametrize("sign", ["\f", "\v", "\u2028", "\x85", "\x1c", "\r\n// "])
def test_only_a_line_feed_ends_a_line(sign: str) -> None:
    _, run = tv.run(own_kernel(KERNEL.format(sign)))
    line = 3 + sign.count("\n")
    assert [(a.line, a.text) for a in run.accesses] == [(line, "x[threadIdx.x] = 1.0f;")]


def test_a_comparison_counts_lines_as_the_compiler_does() -> None:
    found = differences("// a\fb\nint x;\n", "// a\fb\nint y;\n")
    assert found.said == "1 line changed."
    assert [pair.left.number for pair in found.stretches[0].pairs if pair.left] == [1, 2]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e39, 10**400])
def test_a_scalar_that_its_type_cannot_hold(value: float) -> None:
    scalar = {"name": "a", "dtype": "float32", "value": value}
    with pytest.raises(DesignError, match=r"scalars\.0\.value: must be a finite number"):
        own_kernel("", scalars=[scalar])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"study":"layout","layout":"S[32:1]","layout":"S[64:1]"}', '"layout" stands twice'),
        ('{"study":"layout","layout":' + "1" * 5000 + "}", "has over 4000 digits"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ('{"study":"layout","layout":' + "[" * 200_000, "is nested too deeply"),
    ],
)
def test_json_that_means_two_things_or_too_much(text: str, said: str) -> None:
    with pytest.raises(DesignError, match=said):
        parse_json(text)


@pytest.mark.parametrize("read", [parse_link, read_side])
@pytest.mark.parametrize("link", [LINK + "&layout=S[64:1]", "/Layouts?v=2&v=1&layout=S[32:1]"])
def test_a_key_that_stands_twice_in_a_link(read: object, link: str) -> None:
    with pytest.raises(DesignError, match="stands twice in the link"):
        read(link)  # type: ignore[operator]


@pytest.mark.parametrize("key", ["%1b[31m", "a%0Ab", "%E2%80%AEx", "%C2%9B31m"])
def test_an_error_is_one_line_that_prints(key: str) -> None:
    with pytest.raises(DesignError) as caught:
        parse_link(f"{LINK}&{key}=1")
    assert str(caught.value).isprintable()


def test_half_a_character_in_an_error_can_be_written() -> None:
    with pytest.raises(DesignError) as caught:
        parse_link(f"{LINK}&\ud800=1")
    assert "unknown key" in str(caught.value).encode().decode()


def test_the_caret_of_an_error_stays_below_its_sign() -> None:
    with pytest.raises(DesignError) as caught:
        make_design({"study": "layout", "layout": "S[32:1]\x1b[31m"})
    assert caught.value.caret() == "S[32:1]␛[31m\n       ^"


def test_the_terminal_prints_names_as_text(tmp_path: Path) -> None:
    red = "\x1b[31m[bold]red\u202e"
    done = SHELL.invoke(app, ["compare", *["layout-row-major"] * 2, "--left-name", red])
    assert done.exit_code == 0
    assert "␛[31m[bold]red" in done.stdout
    file = tmp_path / "a\x1b[31m.json"
    file.write_text('{"study":"layout"}')
    checked = SHELL.invoke(app, ["check", str(file), "layout-row-major", "--max-excess", "0"])
    assert "\x1b" not in done.stdout + checked.stdout + checked.stderr
    assert "␛[31m.json: layout: this field is required" in checked.stdout


def test_long_texts_are_marked_without_a_wait() -> None:
    # Each line of one text occurs often in the other, in another order: the worst for a search.
    draw = random.Random(5)
    left, right = ([f"{draw.randrange(200)};" for _ in range(16_000)] for _ in range(2))
    marks = line_marks("\n".join(left), "\n".join(right))
    kept = [text for at, text in enumerate(left, 1) if at not in set(marks.left)]
    assert len(kept) == len(right) - len(marks.right)
    assert sorted(kept) == sorted(
        text for at, text in enumerate(right, 1) if at not in set(marks.right)
    )


def test_a_long_text_marks_what_was_added() -> None:
    lines = [f"x[{at}] = 1;" for at in range(1200)]
    marks = line_marks("\n".join(lines), "\n".join([*lines[:500], "new;", *lines[500:]]))
    assert (marks.left, marks.right) == ((), (501,))


def test_a_search_that_finds_nothing_is_no_empty_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEVIZ_DATA", str(tmp_path))
    assert "a first one is made by" in SHELL.invoke(app, ["runs", "--until", ""]).stdout
    found = SHELL.invoke(app, ["runs", "--find", "nothing-of-this-name"])
    assert found.stdout == "No run was found\n"
    assert json.loads(SHELL.invoke(app, ["runs", "--find", "%_", "--json"]).stdout)["runs"] == []


@pytest.mark.parametrize("given", ["1,5", "1,23", "1234,567", "1,,000", ",5"])
def test_a_comma_that_parts_no_thousands_is_no_number(given: str) -> None:
    with pytest.raises(DesignError, match="a number is expected"):
        read_number(given)
    assert read_number("-1,234,567.5") == -1234567.5


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX pipes")
def test_a_pipe_among_the_lessons_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "designs").mkdir()
    os.mkfifo(tmp_path / "01_pipe.md")
    os.mkfifo(tmp_path / "designs" / "pipe.json")
    block = '```tileviz-design d\n{"file": "pipe.json"}\n```\n'
    (tmp_path / "02_design.md").write_text(f"# Title\n\nSummary.\n\n{block}")
    faults = [str(fault) for fault in shelf_of([tmp_path]).faults]
    assert faults == ["01_pipe.md: is no file", "02_design.md, line 5: d.file: is no file"]


def test_a_kernel_with_a_cpp_name_is_told_what_is_missing() -> None:
    source = "__global__ void f2(float* x) {}\n__global__ void f(float* x) { x[0] = 1; }"
    _, run = tv.run(own_kernel(source))
    assert run.problems[0].message.endswith('it has: _Z2f2Pf, _Z1fPf; declare f extern "C"')
    _, run = tv.run(own_kernel("__global__ void f2(float* x) {}"))
    assert "extern" not in run.problems[0].message


@pytest.mark.parametrize("field", ["left_name", "right_name", "note"])
def test_half_a_character_in_a_comparison(field: str) -> None:
    design = preset("layout-row-major").design  # type: ignore[union-attr]
    with pytest.raises(DesignError, match=f"{field}: is not valid Unicode text"):
        compare(design, design, **{field: "\ud800"})


@pytest.mark.parametrize("name", ["\ud800", "x" * 501])
def test_a_name_that_no_report_can_hold(name: str) -> None:
    with pytest.raises(DesignError, match=r"^name: "):
        report_of(preset("layout-row-major").design, name=name)  # type: ignore[union-attr]


@pytest.mark.parametrize("extents", [[], [1, 1, 1, 1], "1,1", {}])
@pytest.mark.parametrize("field", ["grid", "block"])
def test_a_launch_of_no_or_four_extents(field: str, extents: object) -> None:
    with pytest.raises(DesignError, match=f"{field}: one to three whole numbers are expected"):
        own_kernel("", **{field: extents})


def test_two_runs_at_fault_are_not_only_equal() -> None:
    names = ("kernel-race", "kernel-out-of-bounds")
    found = compare(*(preset(name).design for name in names))  # type: ignore[union-attr]
    said = run_both(found, "emulator").statement(found)
    assert said.state == "error"
    assert said.sentence.startswith("Measured. Neither is correct. ")


@pytest.mark.parametrize("more", [[], ["--check"], ["banks-and-words"]])
def test_a_folder_of_lessons_that_is_not_there(tmp_path: Path, more: list[str]) -> None:
    done = SHELL.invoke(app, ["lessons", *more, "--folder", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert "folder: there is no such folder of lessons" in done.stderr
