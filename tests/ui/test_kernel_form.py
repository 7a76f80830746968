"""The Kernel lab's form: designs and links there and back, faults named, files opened."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tileviz.errors import DesignError
from tileviz.export.links import MAX_LINK, to_query
from tileviz.studies.kernel.design import MAX_SOURCE, KernelDesign
from tileviz.studies.kernel.signature import signatures
from tileviz.studies.registry import make_design, preset
from tileviz.ui.kernel.form import LabForm, ParameterForm, label
from tileviz.ui.kernel.highlight import spans
from tileviz.ui.kernel.limits import MAX_UPLOAD, limit_rows
from tileviz.ui.kernel.source_view import MAX_LINES, shown_lines
from tileviz.ui.kernel.state import RULES, too_long
from tileviz.ui.kernel.upload import opened

PRESETS = RULES.presets()
SOURCE = 'extern "C" __global__ void k(int n, const float* x, float* y) { y[0] = x[n]; }'
MIXED = LabForm(
    SOURCE,
    "k",
    "2",
    "64",
    "0",
    (
        ParameterForm("n", "int32", "0x10", "scalar"),
        ParameterForm("x", "float32", "8 x 4", "in"),
        ParameterForm("y", "float32", "(32,)".replace(",", ""), "out"),
    ),
)


@dataclass
class File:
    """An upload."""

    name: str
    content: bytes = b""
    claimed: int | None = None

    @property
    def size(self) -> int:
        return len(self.content) if self.claimed is None else self.claimed

    def getvalue(self) -> bytes:
        assert self.claimed is None, "a file over the limit must not be read"
        return self.content


# -- designs and links -----------------------------------------------------------------------------


@pytest.mark.parametrize("found", PRESETS, ids=lambda found: found.name)
def test_a_preset_is_read_back_from_its_form_and_its_link(found: object) -> None:
    form = RULES.preset_form(found)
    assert form.read() == (found.design, ())
    assert LabForm.from_query(to_query(found.design)) == form
    assert RULES.matching_preset(form) == found


def test_parameters_keep_the_order_in_which_they_are_typed() -> None:
    design, faults = MIXED.read()
    assert design is not None and not faults
    assert design.order == ("n", "x", "y")
    assert design.buffers[0].shape == (8, 4) and design.scalars[0].value == 16
    again = LabForm.of(design)
    assert [row.name for row in again.parameters] == ["n", "x", "y"]
    assert again.read()[0] == design


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"grid": "0"}, "Grid", "x must be 1 to"),
        ({"grid": "a,b"}, "Grid", "up to three whole numbers"),
        ({"block": "64,64"}, "Block", "1024 threads in all"),
        ({"shared": "many"}, "Shared bytes", "a whole number"),
        ({"shared": "300000"}, "Shared bytes", "232448"),
        ({"entry": ""}, "Entry", "must be a C name"),
        ({"entry": "k<int>"}, "Entry", "must be a C name"),
        ({"source": "x" * (MAX_SOURCE + 1)}, "Source", "at most 65,536 characters"),
        ({"source": '#include "/etc/passwd"'}, "Source", "line 1: cannot include"),
    ],
)
def test_a_fault_names_its_field(change: dict[str, str], name: str, words: str) -> None:
    design, faults = replace(MIXED, **change).read()
    assert design is None
    (fault,) = faults
    assert label(fault.field) == name
    assert words in fault.message


@pytest.mark.parametrize(
    ("place", "change", "name", "words"),
    [
        (0, {"size": "many"}, "Parameter 1, shape or value", "a whole number"),
        (0, {"size": "1" * 5000}, "Parameter 1, shape or value", "a whole number"),
        (0, {"dtype": "int8", "size": "300"}, "Parameter 1, value", "-128 to 127"),
        (0, {"dtype": "float16"}, "Parameter 1, shape or value", "a number such as"),
        (1, {"size": "8x"}, "Parameter 2, shape or value", "extents such as"),
        (1, {"size": "0"}, "Parameter 2, shape", "extents of 1 or more"),
        (2, {"size": "99999x99999"}, "Parameter 3, shape", "at most 268435456 elements"),
        (2, {"dtype": "float33"}, "Parameter 3, dtype", "unknown dtype"),
        (2, {"name": "x y"}, "Parameter 3, name", "must be a C name"),
        (2, {"name": "x"}, "Buffers", "must differ"),
    ],
)
def test_a_fault_names_its_parameter(
    place: int, change: dict[str, str], name: str, words: str
) -> None:
    rows = list(MIXED.parameters)
    rows[place] = replace(rows[place], **change)
    design, faults = replace(MIXED, parameters=tuple(rows)).read()
    assert design is None
    assert label(faults[0].field) == name
    assert words in faults[0].message


def test_every_fault_of_the_text_is_named_at_once() -> None:
    form = replace(MIXED, grid="a", block="b", shared="c")
    assert [label(fault.field) for fault in form.read()[1]] == ["Grid", "Block", "Shared bytes"]


KEYS = ["entry", "grid", "block", "buffers", "scalars", "order", "shared_bytes", "source", "v"]


@given(some.dictionaries(some.sampled_from(KEYS), some.text(max_size=60)))
def test_any_link_gives_a_form_that_can_be_read(query: dict[str, str]) -> None:
    form = LabForm.from_query(query)
    assert form.source == query.get("source", "")
    form.read()
    RULES.opened(None, query)


# -- the signature ---------------------------------------------------------------------------------


def test_the_signature_fills_what_was_not_typed() -> None:
    before = LabForm(SOURCE, "", "2", "64", parameters=(ParameterForm("x", "", "99", "inout"),))
    (declared,) = signatures(SOURCE)
    after = before.with_signature(declared)
    assert after.entry == "k"
    assert after.parameters == (
        ParameterForm("n", "int32", "99", "scalar"),
        ParameterForm("x", "float32", "99", "in"),
        ParameterForm("y", "float32", "128", "out"),
    )
    assert after.read()[0] is not None


def test_whole_numbers_are_extents_that_fit_the_buffers() -> None:
    text = 'extern "C" __global__ void k(const float* x, float* y, int rows, int cols, bool f) {}'
    (declared,) = signatures(text)
    filled = LabForm(text, "k", "8", "128").with_signature(declared)
    assert [row.size for row in filled.parameters] == ["1024", "1024", "32", "32", "1"]
    # What was typed stays: 64 rows of the shortest buffer leave 8 columns.
    typed = (ParameterForm("y", "float32", "512", "out"),
             ParameterForm("rows", "int32", "64", "scalar"))  # fmt: skip
    kept = LabForm(text, "k", "8", "128", parameters=typed).with_signature(declared)
    assert [row.size for row in kept.parameters] == ["1024", "512", "64", "8", "1"]
    (alone,) = signatures('extern "C" __global__ void k(int n, int m, float a) {}')
    assert [p.size for p in LabForm().with_signature(alone).parameters] == ["5", "5", "1.0"]


def test_a_type_of_ones_own_is_left_to_be_filled_in() -> None:
    (declared,) = signatures('extern "C" __global__ void k(Pair* p, float a) {}')
    rows = LabForm().with_signature(declared).parameters
    assert (rows[0].dtype, rows[1].size) == ("", "1.0")
    assert label(LabForm("", "k", parameters=rows).read()[1][0].field) == "Parameter 1, dtype"


# -- links that are too long -----------------------------------------------------------------------


def test_a_long_text_has_no_link_and_the_address_says_nothing() -> None:
    short, long = (replace(MIXED, source=f"{SOURCE}//{'n' * many}") for many in (10, MAX_LINK))
    state = RULES.edited(RULES.first(), short)
    address = RULES.address(state)
    assert address is not None and address["source"] == short.source
    state = RULES.edited(state, long)
    assert not state.problems and too_long(state.design) > MAX_LINK
    assert RULES.address(state) == {}
    # The page's own empty address is no link that was opened.
    assert RULES.opened(RULES.with_link(state, {}), {}).form == long


def test_characters_that_a_link_must_escape_count() -> None:
    design = replace(MIXED, source=SOURCE + "// " + "é" * (MAX_LINK // 4)).read()[0]
    assert design is not None
    assert len(design.source) < MAX_LINK < too_long(design)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("found", PRESETS, ids=lambda found: found.name)
def test_a_downloaded_design_opens_again(found: object) -> None:
    text = json.dumps(found.design.document(), indent=2, ensure_ascii=False)
    assert opened(File("design.json", text.encode())) == found.design
    assert make_design(json.loads(text)) == found.design


def test_a_text_is_opened_as_it_is() -> None:
    assert opened(File("k.cu", b"\xef\xbb\xbfint x;\r\nint y;\n")) == "int x;\nint y;\n"


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (File("k.cu", claimed=50 << 20), "has 52,428,800 bytes; at most 262,144 are read"),
        (File("k.cu", b"x" * (MAX_SOURCE + 1)), "holds 65,537 characters"),
        (File("k.cu", b"\xff\xfe\x00"), "is not UTF-8 text"),
        (File("d.json", b"{"), "is not JSON"),
        (File("d.json", b"[" * 100_000), "is nested too deeply"),
        (File("d.json", b"[]"), "a design is a JSON object"),
        (File("d.json", b'{"study": "kernel"}'), "this field is required"),
        (File("d.json", b'{"study": "layout", "layout": "S[4:1]"}'), "opens designs of kernel"),
        (File("d.json", b'{"study": "kernel", "version": 9, "entry": "k"}'), ""),
    ],
    ids=range(9),
)
def test_a_bad_file_is_one_clear_line(file: File, words: str) -> None:
    with pytest.raises(DesignError) as caught:
        opened(file)
    assert words in caught.value.message and "\n" not in caught.value.message


def test_the_largest_design_fits_an_upload() -> None:
    found = preset("kernel-transpose")
    assert found is not None and isinstance(found.design, KernelDesign)
    long = found.design.model_copy(update={"source": '"\\\n' * (MAX_SOURCE // 3)})
    text = json.dumps(long.document(), indent=2, ensure_ascii=False)
    assert len(text.encode()) < MAX_UPLOAD


def test_limits_are_those_that_are_enforced() -> None:
    limits = dict(limit_rows())
    assert limits["Source"] == f"{MAX_SOURCE // 1024} KiB"
    assert "1,024 threads" in limits["Block"] and "227 KiB" in limits["Block"]
    assert limits["Run"].startswith("60 s")


# -- the source view -------------------------------------------------------------------------------


@given(some.text(alphabet='/*"\\\n int{}#x0é\t', max_size=200))
def test_no_character_of_a_text_is_lost_in_colouring(source: str) -> None:
    lines = ["".join(text for _, text in line) for line in spans(source)]
    assert "\n".join(lines) == source


def test_a_comment_over_lines_stays_one() -> None:
    assert [line[0][0] for line in spans("/* a\n b */\nint c;")] == ["comment", "comment", "word"]


def test_a_very_long_text_is_cut_and_says_so() -> None:
    lines = shown_lines("x;\n" * 30_000, None)
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == {"left_out": "… 29,400 lines …"}
    (line,) = shown_lines("y" * 5000, None)
    assert len(line["spans"][0][1]) == 401


def test_a_size_beyond_every_float_is_no_reason_to_stop() -> None:
    text = 'extern "C" __global__ void k(float* x, int n) { x[n] = 1; }'
    (declared,) = signatures(text)
    huge = ParameterForm("x", "float32", "x".join(["99999999999"] * 40), "in")
    filled = LabForm(text, "k", "1", "32", parameters=(huge,)).with_signature(declared)
    assert [row.size for row in filled.parameters] == [huge.size, str(1 << 28)]
