"""Reports: one HTML file that opens offline, of one design or of several beside each other."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tileviz import __version__
from tileviz.cuda.diagnostics import NvrtcNotFound
from tileviz.cuda.kernel import Kernel
from tileviz.cuda.nvrtc import version as nvrtc_version
from tileviz.errors import DesignError
from tileviz.export.differences import FieldValues, field_values, line_marks
from tileviz.export.links import MAX_LINK, page_url
from tileviz.runners.words import gpu_lines, named_accesses, run_statement
from tileviz.studies.design import Design, shown
from tileviz.studies.documents import is_unicode
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement, TextTable

if TYPE_CHECKING:
    from tileviz.runners.compare import AccessRow, Totals
    from tileviz.runners.results import Run

MAX_TITLE = 500
MAX_NOTE = 10_000
# Longer values of a field are cut in the table; the document has them whole.
_MAX_VALUE = 400

_FOLDER = Path(__file__).with_name("templates")
_NUMBER = re.compile(r"[-+−]?[\d,. ×]*\d\s?(?:%|[kMG]?B|µs)?")
_UNITS = {"shared": "wavefronts", "global": "sectors"}


class LegendLike(Protocol):
    """What colours mean: see `tileviz.figures.overview.Legend`."""

    @property
    def name(self) -> str:
        """What they stand for."""

    @property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """Pairs (colour, label)."""


class PictureLike(Protocol):
    """One figure of a design: see `tileviz.figures.overview.Picture`."""

    @property
    def name(self) -> str:
        """Its title."""

    @property
    def note(self) -> str:
        """Its unit, scope or counts."""

    @property
    def figure(self) -> Any:
        """The Plotly figure."""

    @property
    def alt(self) -> str:
        """The same in words."""

    @property
    def width(self) -> int | None:
        """Pixels, or None where it stretches."""

    @property
    def legend(self) -> LegendLike | None:
        """What its colours mean, or None."""


@dataclass(frozen=True, eq=False)
class Reviewed:
    """A design as a report shows it.

    Attributes:
        name: What people call it.
        design: The design.
        plan: Its plan.
        run: Its run, or None where it did not run.
        pictures: Its figures, drawn for a light page: ``overview.pictures([plan], LIGHT)[0]``.
        kernel: The kernel that ran or would run; None for the plan's own.
        not_run: Why there is no run although one was asked for.
    """

    name: str
    design: Design
    plan: Any
    run: Run | None = None
    pictures: Sequence[PictureLike] = ()
    kernel: Kernel | None = None
    not_run: str = ""


def html_report(
    reviewed: Sequence[Reviewed],
    *,
    title: str = "",
    note: str = "",
    now: datetime | None = None,
    address: str = "",
) -> str:
    """Return a report as one HTML text that needs no other file and no network.

    Args:
        reviewed: One design, or several of one study beside each other, differences marked.
        title: The reader's heading; the designs' names where it is empty. Shown as text.
        note: Free text below it, line breaks kept. Shown as text.
        now: The date in the report; the present by default.
        address: ``http://host:port`` of a server that opens the links; relative links without.

    Raises:
        DesignError: The title or the note is too long, or half of a character.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> demo = preset("permute-demo").design
        >>> text = html_report([Reviewed("Demo", demo, api.plan(demo))], title="<b>Review")
        >>> "&lt;b&gt;Review" in text, "<b>Review" in text
        (True, False)
    """
    _check_text("title", title, MAX_TITLE)
    _check_text("note", note, MAX_NOTE)
    for entry in reviewed:
        _check_text("name", entry.name, MAX_TITLE)
    when = now or datetime.now(timezone.utc).astimezone()
    parts = [_Part.of(entry, f"d{number}", address) for number, entry in enumerate(reviewed)]
    plotly = _plotly() if any(part.figures for part in parts) else ""
    draw = _text("report.js") if plotly else ""
    text: str = _template().render(
        title=title.strip() or " · ".join(entry.name for entry in reviewed),
        note=note.strip(),
        when=when.strftime("%Y-%m-%d %H:%M %Z").strip(),
        parts=parts,
        fields=_fields(reviewed),
        figure_rows=_rows([part.figures for part in parts]),
        table_rows=_rows([part.tables for part in parts]),
        codes=_codes(parts),
        environment=_environment(reviewed),
        style=Markup(_text("report.css")),
        plotly=Markup(plotly),
        draw=Markup(draw),
        sources=" ".join(_hash(script) for script in (plotly, draw) if script) or "'none'",
    )
    return text


def _check_text(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise DesignError(name, f"at most {most} characters, not {len(text)}", shown(text))
    if not is_unicode(text):
        raise DesignError(name, "is not valid Unicode text", ascii(text[:60]))


# -- what the template draws -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    title: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, table: TextTable) -> _Table:
        columns = (
            (name, _is_numeric([row[at] for row in table.rows if at < len(row)]))
            for at, name in enumerate(table.columns)
        )
        return cls(table.title, tuple(columns), table.rows)


def _is_numeric(cells: Sequence[str]) -> bool:
    """Return whether most cells of a column are numbers, so that they stand right."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return 2 * sum(bool(_NUMBER.fullmatch(cell)) for cell in filled) > len(filled)


@dataclass(frozen=True)
class _Figure:
    key: str
    picture: PictureLike
    data: Markup

    @classmethod
    def of(cls, picture: PictureLike, key: str) -> _Figure:
        text = picture.figure.to_json()
        return cls(key, picture, json_in_script(json.loads(text)))


@dataclass(frozen=True)
class _Access:
    """One line of a run."""

    line: str
    text: str
    op: str
    executions: int
    unit: str
    predicted: str
    measured: str
    ideal: str
    differs: bool
    note: str

    @classmethod
    def of(cls, row: AccessRow) -> _Access:
        predicted, measured = _cost(row.predicted), _cost(row.measured)
        return cls(
            str(row.line or ""),
            row.text or row.buffer,
            f"{row.op}.{row.space} {row.bytes} B",
            row.executions,
            _UNITS[row.space],
            predicted,
            measured,
            str(row.measured.ideal),
            row.predicted is not None and predicted != measured,
            row.note,
        )


def _cost(totals: Totals | None) -> str:
    if totals is None:
        return "none"
    return str(totals.sectors if totals.wavefronts is None else totals.wavefronts)


@dataclass(frozen=True)
class _RunPart:
    said: Statement
    where: str
    problems: tuple[str, ...]
    accesses: tuple[_Access, ...]
    lines: tuple[str, ...]
    outputs: tuple[tuple[str, str, int, str], ...]

    @classmethod
    def of(cls, run: Run, kernel: Kernel | None) -> _RunPart:
        info = run.runner
        return cls(
            run_statement(run),
            ", ".join(part for part in (info.device, info.arch, info.compiler) if part),
            tuple(f"{problem.kind}: {problem.message}" for problem in run.problems),
            tuple(map(_Access.of, named_accesses(run.accesses, kernel))),
            tuple(gpu_lines(run.to_json())),
            tuple((name, o.dtype, o.count, o.sha256) for name, o in run.outputs.items()),
        )


@dataclass(frozen=True)
class _Line:
    """A line of CUDA, its line break included, and whether another design lacks it."""

    number: int
    text: Markup
    marked: bool


@dataclass(frozen=True)
class _Part:
    """One design, in words and figures."""

    key: str
    name: str
    said: Statement
    tables: tuple[_Table, ...]
    figures: tuple[_Figure, ...]
    source: str
    launch: str
    no_source: str
    run: _RunPart | None
    not_run: str
    link: str
    link_note: str
    document: Markup
    document_text: str

    @classmethod
    def of(cls, entry: Reviewed, key: str, address: str) -> _Part:
        study = study_of(entry.design)
        kernel, reason = _kernel_of(entry)
        relative = page_url(entry.design)
        fits = len(relative) <= MAX_LINK
        return cls(
            key=key,
            name=entry.name,
            said=study.explain.verdict(entry.plan),
            tables=tuple(map(_Table.of, study.explain.tables(entry.plan))),
            figures=tuple(
                _Figure.of(picture, f"{key}-figure-{number}")
                for number, picture in enumerate(entry.pictures)
            ),
            source="" if kernel is None else kernel.source,
            launch="" if kernel is None else _launch(kernel),
            no_source=reason,
            run=None if entry.run is None else _RunPart.of(entry.run, kernel),
            not_run=entry.not_run,
            link=_base(address) + relative if fits else "",
            link_note=""
            if fits
            else f"The link has {len(relative)} characters, at most "
            f"{MAX_LINK} are read: open the design from its document below.",
            document=json_in_script(entry.design.document()),
            document_text=json.dumps(entry.design.document(), indent=2, ensure_ascii=False),
        )


def _kernel_of(entry: Reviewed) -> tuple[Kernel | None, str]:
    """Return the kernel to show, or why there is none."""
    if entry.kernel is not None:
        return entry.kernel, ""
    study = study_of(entry.design)
    if not study.runnable:
        return None, "This study generates no CUDA."
    try:
        made: Kernel = study.kernel(entry.plan)
    except NotRunnable as error:
        return None, f"No CUDA: {error}"
    return made, ""


def _launch(kernel: Kernel) -> str:
    grid, block = (" × ".join(map(str, extents)) for extents in (kernel.grid, kernel.block))
    shared = (
        f", {kernel.shared_bytes} bytes of dynamic shared memory" if kernel.shared_bytes else ""
    )
    return f"{kernel.entry}: grid {grid}, block {block}{shared}"


def _base(address: str) -> str:
    return address.rstrip("/") if re.fullmatch(r"https?://[^\s\"'<>?#]+", address) else ""


def _fields(reviewed: Sequence[Reviewed]) -> list[tuple[FieldValues, tuple[str, ...]]]:
    """Return every field, and its values as short as a table wants them."""
    fields = field_values([entry.design.document() for entry in reviewed])
    return [(entry, tuple(map(_short, entry.values))) for entry in fields]


def _short(value: str) -> str:
    lines = value.count("\n")
    if lines:
        return f"{lines} lines, see below"
    return value if len(value) <= _MAX_VALUE else f"{value[:_MAX_VALUE]}…"


def _rows(columns: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return what stands side by side: the first of each design, the second of each..."""
    most = max(map(len, columns), default=0)
    return [
        tuple(column[at] if at < len(column) else None for column in columns) for at in range(most)
    ]


def _codes(parts: Sequence[_Part]) -> list[tuple[_Line, ...]]:
    """Return the lines of every CUDA text; of two, those that differ are marked."""
    marks: list[set[int]] = [set() for _ in parts]
    if len(parts) == 2 and all(part.source for part in parts):
        found = line_marks(parts[0].source, parts[1].source)
        marks = [set(found.left), set(found.right)]
    return [_lines(part.source, marked) for part, marked in zip(parts, marks, strict=True)]


def _lines(source: str, marked: set[int]) -> tuple[_Line, ...]:
    # A browser turns a carriage return of the file into a line feed, but not one that is escaped.
    return tuple(
        _Line(number, Markup.escape(line).replace("\r", Markup("&#13;")), number in marked)
        for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", source), start=1)
    )


def _environment(reviewed: Sequence[Reviewed]) -> tuple[tuple[str, str], ...]:
    try:
        compiler = "NVRTC {}.{}".format(*nvrtc_version())
    except NvrtcNotFound:
        compiler = "no NVRTC"
    runs = {entry.run.runner.device for entry in reviewed if entry.run is not None}
    return (
        ("tileviz", __version__),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("compiler", compiler),
        ("ran on", ", ".join(sorted(runs)) or "nothing was run"),
    )


# -- what goes into the file -----------------------------------------------------------------------


def json_in_script(value: Mapping[str, Any]) -> Markup:
    """Return JSON that stands safely inside a ``<script>`` and reads back the same.

    Example:
        >>> print(json_in_script({"note": "</script>"}))
        {"note": "\\u003c/script\\u003e"}
    """
    text = json.dumps(value)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@lru_cache(maxsize=1)
def _plotly() -> str:
    """Return Plotly's own script, the one thing that figures need."""
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    # A browser ends the element at the first of these.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


@lru_cache(maxsize=4)
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja")
