"""Reports: one file, offline, everything from outside shown as text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from html.parser import HTMLParser
from typing import Any

import pytest

from tileviz import api
from tileviz.errors import DesignError
from tileviz.export.differences import field_values, line_marks
from tileviz.export.report import MAX_NOTE, Reviewed, html_report, json_in_script
from tileviz.figures.overview import pictures
from tileviz.figures.tokens import LIGHT
from tileviz.reviewing import report_of
from tileviz.studies.registry import make_design, preset, presets

NOW = datetime(2026, 5, 4, 3, 2, tzinfo=timezone.utc)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


class Reader(HTMLParser):
    """The text of a report's elements by id, its scripts, and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.by_id: dict[str, str] = {}
        self.rows: list[tuple[str, str]] = []
        self.refers: list[str] = []
        self.handlers: list[str] = []
        self.words = ""
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.refers += [str(given[name]) for name in ("src", "href") if name in given]
        self.handlers += [name for name in given if name.startswith("on")]
        if tag not in ("meta", "br", "img", "link"):
            self._open.append((tag, given, []))

    def handle_data(self, data: str) -> None:
        for _, _, parts in self._open:
            parts.append(data)
        if self._open and self._open[-1][0] not in ("script", "style"):
            self.words += data

    def handle_endtag(self, tag: str) -> None:
        name, given, parts = self._open.pop()
        assert name == tag, (name, tag)
        text = "".join(parts)
        if tag == "script":
            self.scripts.append((given, text))
        if given.get("id"):
            self.by_id[str(given["id"])] = text
        if tag == "tr":
            self.rows.append((str(given.get("class") or ""), text))


def reviewed(*names: str, run: bool = False) -> list[Reviewed]:
    designs = [found.design for name in names if (found := preset(name)) is not None]
    assert len(designs) == len(names)
    plans = [api.plan(design) for design in designs]
    drawn = pictures(plans, LIGHT)
    return [
        Reviewed(name, design, plan, api.run(design, on="emulator")[1] if run else None, shown)
        for name, design, plan, shown in zip(names, designs, plans, drawn, strict=True)
    ]


def report(*names: str, run: bool = False, **more: Any) -> Reader:
    return Reader(html_report(reviewed(*names, run=run), now=NOW, **more))


@pytest.fixture(scope="module")
def demo() -> Reader:
    return report("permute-demo", run=True)


def test_it_needs_nothing_from_outside(demo: Reader) -> None:
    assert demo.refers == []
    assert "img" not in demo.tags and "link" not in demo.tags


def test_the_cuda_is_there_byte_for_byte(demo: Reader) -> None:
    design = preset("permute-demo")
    assert design is not None
    assert demo.by_id["d0-cuda"] == api.kernel(design.design).source


def test_the_design_reads_back(demo: Reader) -> None:
    design = preset("permute-demo")
    assert design is not None
    assert make_design(json.loads(demo.by_id["d0-design"])) == design.design


def test_figures_are_interactive_and_described(demo: Reader) -> None:
    figures = [json.loads(text) for given, text in demo.scripts if "data-figure" in given]
    assert len(figures) == 2 and all(figure["data"] for figure in figures)
    programs = [text for given, text in demo.scripts if "type" not in given]
    assert len(programs) == 2 and len(programs[0]) > 1_000_000
    assert '"toImage"' in programs[1] and '"svg"' in programs[1]


def test_the_run_stands_beside_the_prediction(demo: Reader) -> None:
    row = next(text for _, text in demo.rows if "b[s * 128 + lane * 4 + j]" in text)
    assert row == "30b[s * 128 + lane * 4 + j]st.shared 4 B8888wavefronts"
    assert "Output correct, 256 of 256 elements." in demo.words
    assert "PTX emulator on the CPU" in demo.words


def test_it_says_when_where_and_how_to_come_back(demo: Reader) -> None:
    assert "2026-05-04 03:02 UTC" in demo.words
    assert "/Permute_layout?v=1&src=" in demo.words
    for word in ("tileviz", "Python", "NVRTC"):
        assert word in demo.words


def test_an_address_makes_the_link_a_link() -> None:
    shown = report("permute-demo", address="https://tiles.example:8501/")
    assert shown.refers[0].startswith("https://tiles.example:8501/Permute_layout?v=1&src=")
    assert report("permute-demo", address="javascript:alert(1)").refers == []


@pytest.mark.parametrize("field", ["title", "note", "name"])
def test_what_people_type_is_shown_as_text(field: str) -> None:
    (entry,) = reviewed("banks-transpose-32x32")
    name = HOSTILE if field == "name" else "plain"
    more = {field: HOSTILE} if field != "name" else {}
    entry = Reviewed(name, entry.design, entry.plan)
    shown = Reader(html_report([entry], now=NOW, **more))
    assert HOSTILE in shown.words
    assert "img" not in shown.tags and shown.handlers == []
    assert [text for given, text in shown.scripts if given.get("type") != "application/json"] == []


def test_hostile_cuda_is_shown_as_text() -> None:
    source = f'// {HOSTILE}\r\nextern "C" __global__ void k(int* x) {{ x[0] = 1 < 2; }}\n'
    design = make_design(
        {
            "study": "kernel",
            "source": source,
            "entry": "k",
            "buffers": [{"name": "x", "dtype": "int32", "shape": [1], "role": "out"}],
        }
    )
    text = html_report([Reviewed("mine", design, api.plan(design))], now=NOW)
    shown = Reader(text)
    # A browser reads a bare carriage return as a line feed.
    assert shown.by_id["d0-cuda"] == source and "\r" not in text
    assert any(row == "source2 lines, see below" for _, row in shown.rows)
    assert make_design(json.loads(shown.by_id["d0-design"])) == design
    assert "img" not in shown.tags


def test_two_designs_stand_beside_each_other_with_marks() -> None:
    shown = report("permute-demo", "permute-padded-33")
    marked = [text for css, text in shown.rows if css == "differs"]
    assert any(text.startswith("dst.layout") and "33" in text for text in marked)
    assert not any(text.startswith("study") for text in marked)
    assert "mark" in shown.tags
    figures = [given for given, _ in shown.scripts if "data-figure" in given]
    assert {str(given["data-figure"])[:2] for given in figures} == {"d0", "d1"}
    assert sum("type" not in given for given, _ in shown.scripts) == 2


@pytest.mark.parametrize("name", [found.name for found in presets()])
def test_every_preset_has_a_report(name: str) -> None:
    shown = report(name)
    assert shown.words.count("Verdict") == 1 and "Design" in shown.words


def test_no_kernel_is_said_in_one_line() -> None:
    assert "This study generates no CUDA." in report("layout-row-major").words


@pytest.mark.parametrize(
    ("title", "note"), [("x" * 501, ""), ("", "x" * (MAX_NOTE + 1)), ("\udc80", "")]
)
def test_text_that_no_page_can_hold_is_refused(title: str, note: str) -> None:
    with pytest.raises(DesignError, match=r"at most|not valid Unicode"):
        html_report(reviewed("permute-demo"), title=title, note=note)


def test_a_run_that_is_impossible_is_explained() -> None:
    design = preset("layout-row-major")
    assert design is not None
    text = report_of(design.design, run=True)
    assert "Not run: generates no CUDA" in text and design.title in text


def test_json_in_a_script_ends_no_script() -> None:
    value = {"a": HOSTILE, "b": "\u2028<!--", "c": "&amp;"}
    text = json_in_script(value)
    assert json.loads(text) == value and not re.search("[<>&]", text)


def test_scripts_are_allowed_by_their_hash(demo: Reader) -> None:
    (entry,) = reviewed("permute-demo")
    text = html_report([entry], now=NOW)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    allowed = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in allowed and allowed.count("sha256-") == 2
    assert "script-src 'unsafe" not in allowed


def fields(*documents: dict[str, Any]) -> Sequence[tuple[str, bool]]:
    return [(entry.name, entry.differs) for entry in field_values(documents)]


def test_fields_are_compared_by_path() -> None:
    one = {"study": "x", "src": {"layout": "a"}, "list": [1, 2]}
    two = {"study": "x", "src": {"layout": "a", "dtype": "b"}, "list": [1, 3]}
    assert fields(one, two) == [
        ("study", False),
        ("src.layout", False),
        ("list", True),
        ("src.dtype", True),
    ]


def test_marks_of_a_long_monotonous_text_come_at_once() -> None:
    left, right = "x;\n" * 60_000, "x;\n" * 59_000 + "y;\n"
    assert len(line_marks(left, right).left) >= 60_000 - 59_000
