"""Two CUDA texts side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.comparing.code import MAX_COLUMNS, MAX_LINES, Line, code_of, differences
from tileviz.studies.registry import presets, study_of

_TEXTS = st.lists(st.sampled_from(["a = 1;", "a = 2;", "b();", "", "}"]), max_size=24)


def _text(line: Line | None) -> str:
    return "" if line is None else "".join(piece for piece, _ in line.pieces)


@given(_TEXTS, _TEXTS)
def test_both_texts_are_there_whole_and_in_order(left: list[str], right: list[str]) -> None:
    found = differences("\n".join(left), "\n".join(right))
    pairs = [pair for stretch in found.stretches for pair in stretch.pairs]
    for name, text in (("left", "\n".join(left)), ("right", "\n".join(right))):
        lines = [line for pair in pairs if (line := getattr(pair, name)) is not None]
        assert [_text(line) for line in lines] == text.splitlines()
        assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    for pair in pairs:
        equal = _text(pair.left) == _text(pair.right)
        assert (pair.change == "same") == (equal and None not in (pair.left, pair.right))
    assert found.same == ("\n".join(left).splitlines() == "\n".join(right).splitlines())


def test_equal_runs_are_folded_but_for_their_edges() -> None:
    left = [f"line {number};" for number in range(40)]
    right = [*left]
    right[20] = "line twenty;"
    found = differences("\n".join(left), "\n".join(right))
    assert [(stretch.folded, len(stretch.pairs)) for stretch in found.stretches] == [
        (True, 17), (False, 7), (True, 16),
    ]  # fmt: skip
    assert found.said == "1 line changed."


def test_only_the_words_that_differ_are_marked() -> None:
    found = differences("y[i] = x[i] * 2;", "y[i] = x[i + 1] * 2;")
    pair = found.stretches[0].pairs[0]
    assert pair.left is not None
    assert pair.right is not None
    assert all(not marked for _, marked in pair.left.pieces)
    assert [piece for piece, marked in pair.right.pieces if marked] == [" + 1"]


def test_lines_that_are_not_alike_have_no_marks_inside() -> None:
    found = differences("for (int i = 0; i < n; ++i)", "__syncwarp();\nreturn;")
    assert (found.changed, found.only_left, found.only_right) == (1, 0, 1)
    assert found.said == "1 line changed, 1 only on the right."
    for line in (found.stretches[0].pairs[0].left, found.stretches[0].pairs[0].right):
        assert line is not None
        assert not any(marked for _, marked in line.pieces)


def test_a_line_that_moved_into_a_loop_stands_beside_itself() -> None:
    left = "load();\nstore();\n"
    right = "for (;;) {\n    load();\n    store();\n}\n"
    pairs = [pair for part in differences(left, right).stretches for pair in part.pairs]
    assert [pair.change for pair in pairs] == ["right", "changed", "changed", "right"]
    assert _text(pairs[1].left).strip() == _text(pairs[1].right).strip() == "load();"


def test_the_longest_texts_are_cut_and_said_so() -> None:
    long = "\n".join(f"x{number % 7};" for number in range(60_000))
    found = differences(long, long + "\ny;")
    assert sum(len(stretch.pairs) for stretch in found.stretches) == MAX_LINES
    assert not found.same
    assert f"first {MAX_LINES:,} lines" in found.said
    wide = differences("x" * 60_000, "y" * 60_000)
    assert len(_text(wide.stretches[0].pairs[0].left)) == MAX_COLUMNS + 1


def test_many_equal_lines_do_not_take_for_ever() -> None:
    left = "\n".join(["{", "}"] * 30_000)
    right = "\n".join(["}", "{", "{"] * 20_000)
    assert not differences(left, right).same


@pytest.mark.parametrize("known", presets(), ids=lambda known: known.name)
def test_every_preset_has_its_text_or_a_reason(known: object) -> None:
    found = code_of(known.design, study_of(known.design).plan(known.design))  # type: ignore[attr-defined]
    assert bool(found.source) != bool(found.reason)
