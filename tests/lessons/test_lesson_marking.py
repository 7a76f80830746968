"""Marking: the engine decides, says its number and how it comes about, and refuses what is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz import api
from tileviz.errors import DesignError
from tileviz.lessons import Lesson, mark, parse, results, shelf
from tileviz.lessons.expressions import filled, value_of
from tileviz.lessons.results import Result
from tileviz.studies.registry import preset

COLUMN = {"study": "access", "layout": "S[(32, 32):(32, 1)]", "pattern": "column"}


def lesson(*asks: dict[str, object], pitch: int = 32) -> Lesson:
    designs = {
        "column": {**COLUMN, "layout": f"S[(32, 32):({pitch}, 1)]"},
        "padded": {**COLUMN, "layout": "S[(32, 32):(33, 1)]"},
    }
    blocks = [f"```tileviz-design {n}\n{json.dumps(d)}\n```" for n, d in designs.items()]
    blocks += [f"```tileviz-question\n{json.dumps(ask)}\n```" for ask in asks]
    return parse("# T\n\nS.\n\n" + "\n\n".join(blocks), "x.md")


NUMBER = {
    "kind": "number",
    "ask": "?",
    "value": "column.wavefronts",
    "unit": "wavefronts",
    "right": "Well done.",
    "wrong": "{{given}} is not {{answer}}.",
    "because": "{{column.n_way}} words.",
    "mistakes": {"1": "One would be free."},
}
CHOICE = {
    "kind": "choice",
    "ask": "?",
    "choices": {"Plain": "column", "Padded": "padded"},
    "value": "it.wavefronts",
    "unit": "wavefronts",
}
CLAIM = {
    "kind": "claim",
    "ask": "?",
    "choices": {"Free": "column.excess == 0", "Not free": "column.excess > 0"},
    "mistakes": {"Free": "Count the banks."},
}
TYPED = {
    "kind": "design",
    "ask": "?",
    "design": "column",
    "field": "layout",
    "start": "S[(32, 32):(34, 1)]",
    "example": "S[(32, 32):(33, 1)]",
    "goals": {"The column is free": "it.excess == 0", "No word more": "it.layout.span == 1024"},
}


def test_a_right_number_and_a_wrong_one_show_the_engines_number() -> None:
    of = lesson(NUMBER)
    right = mark(of, of.questions[0], "32")
    assert (right.right, right.statement.sentence) == (True, "Right: 32 wavefronts.")
    assert right.said == "Well done.\n\n32 words."
    wrong = mark(of, of.questions[0], " 1 wavefronts ")
    assert wrong.statement.sentence == "Not 1. The engine finds 32 wavefronts."
    assert wrong.said == "1 wavefronts is not 32.\n\nOne would be free.\n\n32 words."
    ((name, reason),) = wrong.reasons
    assert name == "column"
    assert "32 lanes want different words of bank 0" in reason
    assert [ref.name for ref in wrong.shown] == ["column"]


@pytest.mark.parametrize("pitch", [31, 32, 34, 40])
def test_the_answer_follows_the_design(pitch: int) -> None:
    of = lesson(NUMBER, pitch=pitch)
    planned = api.plan(api.design({**COLUMN, "layout": f"S[(32, 32):({pitch}, 1)]"}))
    counted = planned.verdict.wavefronts
    assert mark(of, of.questions[0], str(counted)).right
    assert not mark(of, of.questions[0], str(counted + 1)).right


def test_an_answer_may_be_off_by_what_the_question_allows() -> None:
    of = lesson({**NUMBER, "value": "column.wavefronts / 3", "within": 0.1, "unit": "%"})
    assert mark(of, of.questions[0], "10.7 %").statement.sentence.startswith("Close enough: the")
    assert not mark(of, of.questions[0], "10.5").right


@pytest.mark.parametrize("given", ["", "   ", "many", "nan", "inf", "1e999", "32 apples", "3 2"])
def test_what_is_no_number_is_no_answer(given: str) -> None:
    of = lesson(NUMBER)
    with pytest.raises(DesignError, match=r"give an answer first|a number is expected"):
        mark(of, of.questions[0], given)


def test_a_choice_shows_the_value_of_every_design() -> None:
    of = lesson(CHOICE)
    wrong = mark(of, of.questions[0], "Plain")
    assert wrong.statement.sentence == "Not Plain. Padded has the lowest, 1 wavefront."
    assert wrong.table is not None
    assert wrong.table.rows == (("Plain", "32 wavefronts"), ("Padded ←", "1 wavefront"))
    assert mark(of, of.questions[0], "2").right
    with pytest.raises(DesignError, match="must be one of: Plain; Padded"):
        mark(of, of.questions[0], "3")


def test_a_claim_is_checked() -> None:
    of = lesson(CLAIM)
    assert mark(of, of.questions[0], "Not free").right
    wrong = mark(of, of.questions[0], "Free")
    assert wrong.said == "Count the banks."
    assert wrong.table is not None
    assert wrong.table.rows == (("Free", "false"), ("Not free", "true"))


def test_a_typed_design_is_planned_and_every_goal_named() -> None:
    of = lesson(TYPED)
    missed = mark(of, of.questions[0], "S[(32, 32):(33, 1)]")
    assert not missed.right
    assert missed.statement.sentence == "Not yet, a goal is missed: No word more."
    assert missed.designs["yours"] == of.designs["padded"]
    reached = mark(of, of.questions[0], "Sw<5,0,5> o S[(32, 32):(32, 1)]")
    assert reached.right
    assert reached.table is not None
    assert {row[1] for row in reached.table.rows} == {"✓ reached"}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("S[(32, 32):(33, 1", 'expected ")"'),
        ("S[(1, 32):(32, 1)]", "must still have the extents (32, 32), has (1, 32)"),
        ("S[(32, 32):(0, 1)]", "must keep every element apart: (0, 0) and (1, 0) share"),
        ("S[(32, 32):(1@laneid, 1)]", "must map to memory"),
        ("S[1]" * 200, "at most 400 characters are read"),
        ("<script>", "unexpected"),
    ],
)
def test_a_typed_design_that_is_none_is_no_answer(typed: str, said: str) -> None:
    of = lesson(TYPED)
    with pytest.raises(DesignError) as fault:
        mark(of, of.questions[0], typed)
    assert said in str(fault.value) or said == "unexpected"
    assert "\n" not in fault.value.message


def test_a_fault_in_a_typed_design_is_pointed_at() -> None:
    of = lesson(TYPED)
    with pytest.raises(DesignError) as fault:
        mark(of, of.questions[0], "S[(32, 32):(33, 1]")
    assert fault.value.caret() == f"S[(32, 32):(33, 1]\n{' ' * 17}^"


def test_results_beyond_the_plan() -> None:
    tile, demo = preset("banks-padding-33"), preset("permute-demo")
    assert tile is not None and demo is not None
    names = {"tile": Result("tile", tile.design), "demo": Result("demo", demo.design)}
    assert value_of("tile.cell[5, 3].bank", names) == (5 * 33 + 3) % 32
    assert value_of("tile.layout.idle", names) == 31
    assert value_of("tile.search.found", names) is True
    assert value_of("tile.design.pattern", names) == "column"
    assert filled("{{demo.verdict}}", names).startswith("Conflict-free")
    assert value_of("demo.run.verified", names) is True
    with pytest.raises(DesignError, match=r"demo\.search: takes an access design"):
        value_of("demo.search.found", names)


def test_a_run_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_SECONDS", 0)
    race = shelf().lesson("the-emulator-finds-a-race")
    with pytest.raises(DesignError, match=r"run: was stopped after 0 seconds"):
        mark(race, race.questions[3], "while (1);")


@given(st.text(max_size=60))
def test_any_answer_is_marked_or_refused(given: str) -> None:
    of = lesson(NUMBER, CHOICE, CLAIM, TYPED)
    for question in of.questions:
        try:
            marked = mark(of, question, given)
        except DesignError:
            continue
        assert isinstance(marked.right, bool)


@given(st.text(alphabet="ab.[]()+-*/%^0123 ,'x<=\"", max_size=40))
def test_any_expression_is_worked_out_or_refused(text: str) -> None:
    try:
        value_of(text, {"a": {"b": [1, 2.5, "x", None]}})
    except DesignError as fault:
        assert fault.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.b.real", "real: not in the result; it has [0] to [1]"),
        ("a['b'][9]", "9: not in the result; it has [0] to [1]"),
        ("open('x')", "open: unknown; there is len, max"),
        ("a.b.__class__", "__class__: not in the result"),
        ("'x' * 99999", "arithmetic takes numbers"),
        ("2 ** 99999", "arithmetic takes numbers"),
        ("1 / 0", "cannot be worked out: division by zero"),
        ("[x for x in a.b]", "is more than a path and simple arithmetic"),
        ("(lambda: 1)()", "is more than a path and simple arithmetic"),
        ("max(x=1)", "is more than a path and simple arithmetic"),
        ("-" * 199 + "1", ""),
        ("(" * 100 + "1", "is no path into a result"),
    ],
)
def test_an_expression_is_a_path_and_simple_arithmetic(text: str, said: str) -> None:
    names = {"a": {"b": [1, 2]}}
    if not said:
        assert value_of(text, names) == -1
        return
    with pytest.raises(DesignError) as fault:
        value_of(text, names)
    assert said in str(fault.value)
