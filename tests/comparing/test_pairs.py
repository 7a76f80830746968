"""Two designs as a link and as a file, and one side as people paste it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.comparing.inputs import fields_of
from tileviz.comparing.pairs import (
    KEYS,
    MAX_FILE,
    PAGE,
    Pair,
    pair_file,
    read_pair,
    read_side,
)
from tileviz.errors import DesignError
from tileviz.export.links import page_url
from tileviz.studies.design import Design
from tileviz.studies.registry import Preset, presets

_HOSTILE = '<script>alert(1)</script>&left=x#"'
_SMALL = [known for known in presets() if len(page_url(known.design)) < 4000]


def _same(one: Design, two: Design) -> bool:
    """Compare but for the spaces that links leave out."""
    return all(field.same for field in fields_of(one, two))


@pytest.mark.parametrize("known", _SMALL, ids=lambda known: known.name)
def test_a_link_holds_both_designs_and_every_word(known: Preset) -> None:
    pair = Pair(known.design, known.design, _HOSTILE, "50 % + 1", "a\nb & c")
    parts = urlsplit(pair.link())
    assert parts.path == f"/{PAGE}"
    query = dict(parse_qsl(parts.query, strict_parsing=True))
    assert query == pair.query()
    assert set(query) == set(KEYS)
    assert _same(read_side(query["left"]), known.design)
    assert _same(read_side(query["right"]), known.design)
    assert (query["left_name"], query["note"]) == (_HOSTILE, "a\nb & c")


def test_what_is_empty_is_left_out() -> None:
    assert Pair().link() == "/Compare?v=1"
    assert Pair(right=_SMALL[0].design).query().keys() == {"v", "right"}


@pytest.mark.parametrize("known", presets(), ids=lambda known: known.name)
def test_a_side_is_a_link_a_query_a_preset_or_json(known: Preset) -> None:
    document = json.dumps(known.design.document())
    texts = [known.name, document, f"  {document}\n"]
    if known in _SMALL:
        relative = page_url(known.design)
        texts += [
            relative,
            f"http://127.0.0.1:8501{relative}",
            f"study={known.study}&{relative.partition('?')[2]}",
        ]
    for text in texts:
        assert _same(read_side(text), known.design)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a link, a preset's name or a design as JSON is expected"),
        ("banks-padding-34", "is no link, preset or JSON"),
        ("/etc/passwd", "is no link, preset or JSON"),
        ("{", "is not JSON"),
        ('{"study": "weave"}', "study: must be one of"),
        ('{"study": "layout", "layout": "S[("}', "layout: "),
        ("{" * 300_000, "is not JSON"),
        ('{"kind": "comparison"}', "is a comparison"),
        ("/Layouts?v=2&layout=S[32:1]&folded=1", "written by another version of tileviz"),
        ("study=layout&v=2&layout=S[32:1]", "written by another version"),
        ("study=weave&layout=S[32:1]", "study: must be one of"),
        ("/Compare?v=1&left=/Layouts?v=1", "is the link of a comparison"),
        ("/Nowhere?v=1", "its page must be one of"),
        ("http://[?x=1", "Invalid IPv6"),
        ("/Layouts?layout=" + "S[32:1]" * 2000, "at most 8,192 characters"),
        ("/Layouts?" + "&".join(f"k{n}=1" for n in range(99)), "at most 64 keys"),
        ("study=layout&" + "&".join(f"k{n}=1" for n in range(99)), "at most 64 keys"),
        ("\ud800", "not valid Unicode"),
        (
            '{"study": "access", "layout": "S[(4, 33):(33, 1)]", "bytes": 16, "pattern": "column"}',
            "multiple of 16",
        ),
    ],
)
def test_what_is_no_design_gets_one_line(text: str, said: str) -> None:
    with pytest.raises(DesignError) as caught:
        read_side(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=80))
def test_any_text_is_a_design_or_one_line(text: str) -> None:
    try:
        read_side(text)
    except DesignError as error:
        assert error.message


@pytest.mark.parametrize("known", presets(), ids=lambda known: known.name)
def test_a_file_opens_again(known: Preset) -> None:
    pair = Pair(known.design, None, _HOSTILE, note="größer")
    assert read_pair(pair_file(pair)) == pair


def _file(**changes: Any) -> str:
    document = Pair(_SMALL[0].design, _SMALL[1].design, "a", "b", "c").document()
    return json.dumps({**document, **changes})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_file(v=2), "v: written by another version"),
        (_file(kind="design"), "kind: a comparison file says"),
        (json.dumps(_SMALL[0].design.document()), "kind: a comparison file says"),
        ("[]", "kind: a comparison file says"),
        ("nonsense", "is not JSON"),
        (_file(colour="red"), "colour: unknown"),
        (_file(note=7), "note: must be text"),
        (_file(note="x" * 2001), "note: at most 2000 characters"),
        (_file(left_name="x" * 81), "left_name: at most 80 characters"),
        (_file(left={"study": "layout", "layout": "S[("}), "left.layout: "),
        (_file(right="permute-demo"), "right: a design is a JSON object"),
        (_file(right={"kind": "comparison"}), "right: is a comparison"),
        (" " * (MAX_FILE + 1), "at most 1,048,576 characters"),
    ],
)
def test_a_broken_file_gets_one_line(text: str, said: str) -> None:
    with pytest.raises(DesignError) as caught:
        read_pair(text)
    assert said in str(caught.value)


def test_signs_of_links_survive_in_names() -> None:
    link = Pair(left_name="a&b=c%20d+e").link()
    assert quote("&") in link
    assert dict(parse_qsl(urlsplit(link).query))["left_name"] == "a&b=c%20d+e"
