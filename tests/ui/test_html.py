"""The pieces of a page: nothing from outside becomes markup, and faults are pointed at."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tileviz.errors import DesignError
from tileviz.figures.tokens import LIGHT, STATES
from tileviz.studies.permute.explain import BitRow, KRow
from tileviz.studies.statement import TextTable
from tileviz.ui import html
from tileviz.ui.permute import tables

HOSTILE = '<script>alert("x")</script><img src=x onerror=y> \'" &'


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _parsed(text: str) -> _Tags:
    parser = _Tags()
    parser.feed(text)
    return parser


def _pieces(words: str) -> dict[str, str]:
    fault = html.Fault(words, DesignError(words, words, words, position=3))
    card = html.CardText(words, "ok", words, words)
    return {
        "title": html.title(words, words),
        "section": html.section(words, words),
        "panel": html.panel(words, words, words),
        "phase": html.phase_title(words, words, 3, words),
        "verdict": html.verdict("ok", words, words),
        "error": html.error_box([fault], words, 2),
        "value": html.error_box([html.Fault("", DesignError("", words, [words]))]),
        "cards": html.cards([card]),
        "legend": html.legend(words, [words] * 6, LIGHT, words, worst=True),
        "empty": html.empty(words, words),
        "k table": tables.k_table([KRow(words, 1, 2, words)]),
        "bits": tables.bits([BitRow(words, 1, 2)]),
        "table": tables.text_table(TextTable(words, (words,), ((words,),))),
        "formulas": tables.formulas([(words, words)]),
    }


@pytest.mark.parametrize("name", list(_pieces("x")))
def test_text_from_outside_never_becomes_markup(name: str) -> None:
    hostile, plain = _parsed(_pieces(HOSTILE)[name]), _parsed(_pieces("plain")[name])
    assert hostile.tags == plain.tags
    assert HOSTILE.split()[0] in "".join(hostile.words)


@pytest.mark.parametrize("state", [*STATES])
def test_every_state_has_a_sign_and_a_word(state: str) -> None:
    words = _parsed(html.verdict(state, "Said."))
    assert len("".join(words.words).replace("Said.", "").strip()) > 3


def _caret_at(error: DesignError) -> str:
    block = html.error_box([html.Fault("Source layout", error)]).partition("<pre>")[2]
    lines = "".join(_parsed(block.partition("</pre>")[0]).words).split("\n")
    return lines[0][lines[1].index("^")]


def test_the_caret_stands_under_the_fault() -> None:
    assert _caret_at(DesignError("", "wrong", "S[(4, 32]", position=8)) == "]"


@pytest.mark.parametrize("position", [0, 40, 700, 1999])
def test_the_caret_finds_the_fault_in_a_long_text(position: int) -> None:
    value = "." * position + "?" + "." * (2000 - position)
    assert _caret_at(DesignError("", "wrong", value, position=position)) == "?"


def test_a_tab_or_line_break_does_not_move_the_caret() -> None:
    assert _caret_at(DesignError("", "wrong", "S[\t\n?", position=4)) == "?"


def test_a_fault_names_field_allowed_and_value() -> None:
    error = DesignError("stages.count", "must divide extent 4 of src dimension 0", 3)
    words = "".join(_parsed(html.error_box([html.Fault("Stages", error)])).words)
    assert words == "Stages: must divide extent 4 of src dimension 0.3"


def test_a_huge_value_is_shortened() -> None:
    box = html.error_box([html.Fault("Block", DesignError("block", "wrong", "9" * 5000))])
    assert len(box) < 600


def test_counts_above_the_ideal_are_marked_and_the_chosen_row_is_tinted() -> None:
    text = tables.k_table(
        [
            KRow("0", 4, 16, "write 4-way", write_above=True),
            KRow("2", 4, 4, "both phases free", chosen=True),
            KRow("ideal", 4, 4, ""),
        ]
    )
    assert text.count('class="above"') == 1
    assert text.count('class="chosen"') == 1
    assert text.count('class="quiet"') == 1


def test_bits_are_those_of_the_number() -> None:
    words = _parsed(tables.bits([BitRow("lane", 9, 5, taken=(3, 4))])).words
    assert "".join(words) == "43210" + "lane" + "01001" + "9"


@pytest.mark.parametrize(
    "name",
    [":material/home:", ":smile:", "a -> b", "a <- b", "a -- b", "a >= b", ":a:b:", "x => y"],
)
def test_a_label_keeps_what_streamlit_would_make_a_sign_of(name: str) -> None:
    said = html.literal(name).replace("\\", "")
    # Nothing of its shorthand is left in one piece, and nothing that is seen is lost.
    assert re.search(r":[\w+/-]+:|->|<-|--|>=|=>", said) is None
    assert said.replace("\u2060", "") == name


def test_a_label_of_layouts_is_what_it_was() -> None:
    assert html.literal("S[(4, 32):(32, 1)]").replace("\\", "") == "S[(4, 32):(32, 1)]"


def test_no_name_turns_the_words_behind_it_around() -> None:
    for made in (html.text("a\u202eb"), html.literal("a\u2067b")):
        assert made == "a\ufffdb"
