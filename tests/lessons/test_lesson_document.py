"""Reading lessons: faults name file and line, one broken file does not hide the others."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.errors import DesignError
from tileviz.lessons import Edit, Figure, Prose, Question, faults_of, parse, shelf, shelf_of
from tileviz.lessons.document import MAX_FILE
from tileviz.lessons.model import Bits, Reference

ROOT = Path(__file__).resolve().parents[2]
HEAD = "# Title\n\nSummary.\n\n"
COLUMN = {"study": "access", "layout": "S[(32, 32):(32, 1)]", "pattern": "column"}
DESIGN = f"```tileviz-design column\n{json.dumps(COLUMN)}\n```\n\n"
NUMBER = {"kind": "number", "ask": "How many?", "value": "column.wavefronts"}


def question(**fields: object) -> str:
    return f"```tileviz-question\n{json.dumps(fields)}\n```\n\n"


def good(**fields: object) -> str:
    return HEAD + DESIGN + question(**{**NUMBER, **fields})


def example_of_the_document() -> str:
    text = (ROOT / "docs" / "adding_a_lesson.md").read_text(encoding="utf-8")
    found = re.search(r"^`{5}markdown\n(.*?)^`{5}$", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_example_of_the_document_is_a_lesson(tmp_path: Path) -> None:
    (tmp_path / "01_two_lanes.md").write_text(example_of_the_document(), encoding="utf-8")
    found = shelf_of([tmp_path])
    assert found.faults == ()
    lesson = found.lesson("two-lanes")
    assert faults_of(lesson) == ()
    assert [question.ask.kind for question in lesson.questions] == ["number", "design"]


def test_the_parts_of_a_file_in_their_order() -> None:
    text = (
        HEAD
        + "Some *text*.\n\n```python\n![no](picture)\n```tail\n```\n\n"
        + DESIGN
        + "![Look](design:column/2)\n![Bits](bits:column[5, 3])\nMore.\n"
        + question(**NUMBER)
        + '```tileviz-edit\n{"design": "column", "field": "layout", "start": "S[4]", "say": "Try"}'
        + "\n```\n"
    )
    lesson = parse(text, "07_some_words.md")
    assert (lesson.name, lesson.title, lesson.summary) == ("some-words", "Title", "Summary.")
    assert [type(part) for part in lesson.parts] == [Prose, Figure, Bits, Prose, Question, Edit]
    figure = lesson.parts[1]
    assert isinstance(figure, Figure)
    assert figure.shown == (Reference("column", 2),)
    assert "![no](picture)" in lesson.parts[0].text  # type: ignore[union-attr]
    assert lesson.designs["column"].document() == COLUMN


def test_a_design_begins_from_another_a_preset_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "designs").mkdir()
    (tmp_path / "designs" / "tile.json").write_text(json.dumps(COLUMN))
    blocks = {
        "a": {"preset": "banks-transpose-32x32"},
        "b": {"like": "a", "layout": "S[(32, 32):(33, 1)]"},
        "c": {"file": "tile.json", "pattern": "row"},
    }
    text = HEAD + "".join(
        f"```tileviz-design {name}\n{json.dumps(block)}\n```\n" for name, block in blocks.items()
    )
    designs = parse(text, "x.md", tmp_path).designs
    assert designs["b"].document()["also"] == designs["a"].document()["also"]
    assert designs["b"].document()["layout"] == "S[(32, 32):(33, 1)]"
    assert designs["c"].document() == {**COLUMN, "pattern": "row"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: a lesson begins with a title"),
        ("Title\n\nText", "line 1: a lesson begins with a title"),
        ("# " + "x" * 81 + "\n\nText", "line 1: a lesson begins with a title"),
        ("# Title\n\n\n", "a paragraph of up to 300 characters follows the title"),
        ("# Title\n\n## Next", "line 3: a paragraph of up to 300 characters"),
        (HEAD + "```tileviz-design a\n{}", "line 5: this block is never closed"),
        (HEAD + "```tileviz-design a\n{}\n```", "line 5: a.study: must be one of"),
        (HEAD + "```tileviz-design a\n{\n```", "line 5: is not JSON"),
        (HEAD + "```tileviz-design a\n[1]\n```", "line 5: must be a JSON object"),
        (HEAD + "```tileviz-design A b\n{}\n```", "line 5: a design's name is small letters"),
        (HEAD + "```tileviz-design it\n{}\n```", "line 5: a design's name is small letters"),
        (HEAD + '```tileviz-design a\n{"preset": "x"}\n```', "there is no such preset"),
        (HEAD + '```tileviz-design a\n{"like": "x"}\n```', "no design of this name comes before"),
        (HEAD + '```tileviz-design a\n{"file": "../x"}\n```', "must be a file of the folder"),
        (HEAD + DESIGN + DESIGN, "line 9: a design of this name is there already"),
        (HEAD + "```tileviz-quiz\n{}\n```", "line 5: unknown block; there is tileviz-design NAME"),
        (HEAD + "```tileviz-question\n{}\n```", "line 5: kind: must be one of number, choice"),
        (good(ask=""), "line 9: ask: String should have at least 1 character"),
        (good(answer=32), "line 9: answer: unknown field"),
        (good(choices=[4, 4]), "line 9: choices: must all differ"),
        (good(mistakes={"many": "x"}), "line 9: mistakes: its keys must be numbers"),
        (good(value="x" * 201), "line 9: value: String should have at most 200"),
        (
            good(value="row.wavefronts"),
            "line 9: row: no design of this name; the lesson has column",
        ),
        (
            good(value="column.wavefronts +"),
            "line 9: column.wavefronts +: is no path into a result",
        ),
        (good(value="__import__('os')"), "line 9: __import__: no design of this name"),
        (good(show=["row"]), "line 9: row: no design of this name; the lesson has column"),
        (good(show=["yours"]), "line 9: yours: no design of this name"),
        (good(because="{{it.x}} {{row.x}}"), "line 9: row: no design of this name"),
        (good(ask="![x](http://elsewhere/x.png)"), "line 9: pictures belong into show"),
        (good(because="![x][y]"), "line 9: pictures belong into show"),
        (good(ask="{{answer}}"), "line 9: answer: no design of this name"),
        (good() + "{{row.x}}", "line 13: row: no design of this name"),
        (good() + "![x](design:row)", "line 13: row: no design of this name"),
        (good() + "![x](bits:row[1, 1])", "line 13: row: no design of this name"),
        (HEAD + "See ![this](http://elsewhere/x.png).", "line 5: pictures are ![caption]"),
        (HEAD + "![this](design:Column)", "line 5: must be a design's name"),
        (HEAD + "![this](bits:column[x])", "line 5: bits:NAME[row, column] is expected"),
        (HEAD + "x" * MAX_FILE, f"a lesson has at most {MAX_FILE} characters"),
    ],
)
def test_a_fault_names_file_and_line(text: str, said: str) -> None:
    with pytest.raises(DesignError) as fault:
        parse(text, "04_broken.md")
    assert str(fault.value).startswith("04_broken.md")
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (good(value="column.waves"), "column.waves: not in the result; it has study, wavefronts"),
        (good(value="column.source"), "must be a number, is 'measured on"),
        (good(value="column.wavefronts ** 9"), "arithmetic takes numbers"),
        (good(choices=[1, 2]), "the engine has 32; choices: exactly one must be right, 0 are"),
        (good(because="{{column.nothing}}"), "not in the result"),
        (good(within=40, choices=[1, 2]), "exactly one must be right, 2 are"),
        (HEAD + DESIGN, "a lesson asks at least one question"),
        (good() + "{{column.nothing}}", "04_broken.md, line 13: column.nothing: not in the"),
        (good() + "![x](bits:column[32, 0])", "line 13: cell: needs a coordinate inside (32, 32)"),
        (
            good() + '```tileviz-design odd\n{"study": "access", "bytes": 16, "pattern": "column", '
            '"layout": "S[(8, 8):(9, 1)]"}\n```\n',
            "odd.layout: lane 1 gets byte address 36, not a multiple of 16",
        ),
    ],
)
def test_what_only_planning_can_find_is_found_by_the_check(text: str, said: str) -> None:
    faults = faults_of(parse(text, "04_broken.md"))
    assert len(faults) == 1
    assert said in str(faults[0])
    assert "\n" not in str(faults[0])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"example": "S[(32, 32):(32, 1)]"}, "the engine refuses what should be right"),
        ({"start": "S[(32, 32):(35, 1)]"}, "the engine accepts what should be wrong"),
        ({"field": "colour"}, "unknown field"),
        ({"goals": {"Free": "it.excess"}}, "must be true or false, is 0"),
        ({"template": "S[{}]{}"}, "needs exactly one {}"),
    ],
)
def test_a_goal_must_be_missed_at_first_and_reachable(fields: dict[str, object], said: str) -> None:
    ask = {
        "kind": "design",
        "ask": "Free?",
        "design": "column",
        "field": "layout",
        "start": "S[(32, 32):(34, 1)]",
        "example": "S[(32, 32):(33, 1)]",
        "goals": {"Free": "it.excess == 0"},
        **fields,
    }
    try:
        faults = faults_of(parse(HEAD + DESIGN + question(**ask), "x.md"))
    except DesignError as fault:
        faults = (fault,)
    assert len(faults) == 1
    assert said in str(faults[0])


def test_a_broken_lesson_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    (tmp_path / "01_good.md").write_text(good())
    (tmp_path / "02_broken.md").write_text("no title")
    (tmp_path / "03_bytes.md").write_bytes(b"# Title\xff\n")
    (tmp_path / "04 Spaces.md").write_text(good())
    (tmp_path / "05_good.md").write_text(good())
    (tmp_path / "README.md").write_text("Notes.")
    found = shelf_of([tmp_path, tmp_path / "missing"])
    assert [lesson.name for lesson in found.lessons] == ["good"]
    said = [str(fault) for fault in found.faults]
    assert len(said) == 5
    assert said[0].startswith("02_broken.md, line 1: a lesson begins with a title")
    assert said[1].startswith("03_bytes.md: cannot be read")
    assert said[2].startswith("04 Spaces.md: a lesson's file is called like 12_some_words.md")
    assert said[3] == "05_good.md: 01_good.md has the same name, good"
    assert said[4].endswith("missing: there is no such folder of lessons")


def test_a_lesson_of_ones_own_is_shown_behind_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "01_mine.md"
    file.write_text(good())
    monkeypatch.setenv("TILEVIZ_LESSONS", str(tmp_path))
    assert shelf().lessons[-1].name == "mine"
    assert shelf().lessons[0].name == "banks-and-words"
    file.write_text(good().replace("# Title", "# Changed"))
    os.utime(file, ns=(1, 1 << 62))
    assert shelf().lesson("mine").title == "Changed"


def test_an_unknown_lesson_is_one_line() -> None:
    with pytest.raises(DesignError, match="there is no such lesson; known: banks-and-words"):
        shelf().lesson("<script>")


@given(st.text(max_size=200))
def test_any_text_is_a_lesson_or_a_fault(text: str) -> None:
    for whole in (text, HEAD + text, HEAD + "```tileviz-question\n" + text + "\n```"):
        try:
            parse(whole, "x.md")
        except DesignError as fault:
            assert "\n" not in str(fault).split(" (got")[0] or "\n" in text
