"""Reading a lesson's Markdown: prose, designs, pictures and questions, each fault with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tileviz.errors import DesignError
from tileviz.lessons.model import (
    Bits,
    Edit,
    EditPart,
    Figure,
    Lesson,
    Part,
    Prose,
    Question,
    Reference,
    checked,
    located,
    read_ask,
)
from tileviz.lessons.naming import check_names
from tileviz.studies.design import Design, shown
from tileviz.studies.documents import parse_json
from tileviz.studies.registry import make_design, preset

MAX_FILE = 1 << 16
MAX_DESIGNS = 16
MAX_PARTS = 80
MAX_TITLE = 80
MAX_SUMMARY = 300

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*(.*)$")
_PICTURE = re.compile(r"!\[([^\]]{0,200})\]\((design|bits):([^)]{1,120})\)")
_BITS = re.compile(r"([a-z][a-z0-9_]{0,39})\[([0-9, ]{1,40})\]")
_DESIGN_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,59}\.json")
_LESSON_FILE = re.compile(r"(?:\d+_)?([a-z][a-z0-9_]{0,59})\.md")
_RESERVED = {"it", "answer", "given", "len", "max", "min", "sum", "round", "abs"}
_OURS = "tileviz-"
_KINDS = ("design NAME", "question", "edit")


def name_of(file: str) -> str:
    """Return a lesson's name from that of its file.

    Raises:
        DesignError: The file's name gives none.

    Example:
        >>> name_of("02_why_33_columns.md")
        'why-33-columns'
    """
    found = _LESSON_FILE.fullmatch(file)
    if found is None:
        message = "a lesson's file is called like 12_some_words.md, in small letters"
        raise DesignError(file[:80], message)
    return found[1].replace("_", "-")


def parse(text: str, file: str, folder: Path | None = None) -> Lesson:
    """Return the lesson that a text holds.

    Args:
        text: The Markdown.
        file: Name of its file: gives the lesson's name, and stands in every error.
        folder: Where design files lie, in ``designs/``.

    Raises:
        DesignError: The first fault, with file and line.

    Example:
        >>> parse("# Rows\\n\\nRows are free.\\n\\n## Why\\n\\nLook.\\n", "01_rows.md").name
        'rows'
    """
    name = name_of(file)
    if len(text) > MAX_FILE:
        raise DesignError(file, f"a lesson has at most {MAX_FILE} characters")
    lines = text.replace("\r\n", "\n").split("\n")
    title, summary, start = _head(lines, file)
    reader = _Reader(file, folder)
    reader.read(lines, start)
    lesson = Lesson(file, name, title, summary, reader.designs, tuple(reader.parts))
    check_names(lesson)
    return lesson


def _head(lines: list[str], file: str) -> tuple[str, str, int]:
    """Return title, summary, and the line after them."""
    at = next((n for n, line in enumerate(lines) if line.strip()), 0)
    title = lines[at].removeprefix("# ").strip()
    if not lines[at].startswith("# ") or not 1 <= len(title) <= MAX_TITLE:
        message = f"a lesson begins with a title, # and up to {MAX_TITLE} characters"
        raise located(file, at + 1, DesignError("", message))
    begin = next((n for n in range(at + 1, len(lines)) if lines[n].strip()), len(lines))
    end = next((n for n in range(begin, len(lines)) if not lines[n].strip()), len(lines))
    summary = " ".join(line.strip() for line in lines[begin:end])
    if not 1 <= len(summary) <= MAX_SUMMARY or summary.startswith(("#", "```", "![", "~~~")):
        message = f"a paragraph of up to {MAX_SUMMARY} characters follows the title"
        raise located(file, begin + 1, DesignError("", message))
    return title, summary, end


@dataclass
class _Reader:
    """Collects the parts of one file."""

    file: str
    folder: Path | None
    designs: dict[str, Design] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    prose_line: int = 0
    questions: int = 0

    def read(self, lines: list[str], start: int) -> None:
        """Read everything below the summary."""
        number = start
        while number < len(lines):
            number = self._one(lines, number)
        self._end_prose()
        if len(self.parts) > MAX_PARTS:
            raise DesignError(self.file, f"a lesson has at most {MAX_PARTS} parts")

    def _one(self, lines: list[str], number: int) -> int:
        """Read what stands at a line; return the line after it."""
        line = lines[number]
        fence = _FENCE.match(line)
        try:
            if fence is not None:
                end = _closing(lines, number, fence[1])
                if fence[2].startswith(_OURS):
                    self._block(fence[2], "\n".join(lines[number + 1 : end]), number + 1)
                else:
                    self._say(lines[number : end + 1], number)
                return end + 1
            picture = _PICTURE.fullmatch(line.strip())
            if picture is not None:
                self._end_prose()
                self.parts.append(_picture(picture[1], picture[2], picture[3], number + 1))
            elif "![" in line:
                message = "pictures are ![caption](design:NAME) on a line of their own"
                raise DesignError("", message, shown(line.strip()))
            else:
                self._say([line], number)
        except DesignError as error:
            raise located(self.file, number + 1, error) from None
        return number + 1

    def _say(self, lines: list[str], number: int) -> None:
        if not self.prose:
            if not lines[0].strip():
                return
            self.prose_line = number + 1
        self.prose += lines

    def _end_prose(self) -> None:
        if self.prose:
            self.parts.append(Prose(self.prose_line, "\n".join(self.prose).rstrip()))
        self.prose = []

    def _block(self, info: str, body: str, line: int) -> None:
        self._end_prose()
        kind, _, name = info.removeprefix(_OURS).strip().partition(" ")
        document = _json(body)
        if kind == "design":
            self._design(name.strip(), document)
        elif kind == "question" and not name:
            self.questions += 1
            self.parts.append(Question(line, self.questions, read_ask(document)))
        elif kind == "edit" and not name:
            self.parts.append(Edit(line, cast(EditPart, checked(EditPart, document))))
        else:
            known = ", ".join(_OURS + known for known in _KINDS)
            raise DesignError("", f"unknown block; there is {known}", shown(info))

    def _design(self, name: str, document: Mapping[str, Any]) -> None:
        if not _DESIGN_NAME.fullmatch(name) or name in _RESERVED:
            message = "a design's name is small letters, digits and _, such as column"
            raise DesignError("", message, shown(name))
        if name in self.designs:
            raise DesignError("", "a design of this name is there already", name)
        if len(self.designs) == MAX_DESIGNS:
            raise DesignError("", f"a lesson has at most {MAX_DESIGNS} designs")
        try:
            self.designs[name] = make_design(self._whole(dict(document)))
        except DesignError as error:
            raise error.within(name) from None

    def _whole(self, document: dict[str, Any]) -> Mapping[str, Any]:
        """Return a design's document, its file, preset or earlier design filled in."""
        for source in ("file", "preset", "like"):
            if source in document:
                base = self._base(source, document.pop(source))
                return {**base, **document}
        return document

    def _base(self, source: str, name: object) -> Mapping[str, Any]:
        if not isinstance(name, str):
            raise DesignError(source, "must be a name", shown(name))
        if source == "preset":
            found = preset(name)
            if found is None:
                raise DesignError("preset", "there is no such preset", shown(name))
            return found.document
        if source == "like":
            if name not in self.designs:
                raise DesignError("like", "no design of this name comes before", shown(name))
            return self.designs[name].document()
        if self.folder is None or not _FILE_NAME.fullmatch(name):
            raise DesignError("file", "must be a file of the folder designs, x.json", shown(name))
        path = self.folder / "designs" / name
        try:
            if path.exists() and not path.is_file():
                raise DesignError("file", "is no file", name)
            if path.stat().st_size > 4 * MAX_FILE:
                raise DesignError("file", f"has more than {4 * MAX_FILE} bytes", name)
            return _json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise DesignError("file", f"cannot be read: {error}", name) from None


def _closing(lines: list[str], number: int, opening: str) -> int:
    """Return the line that closes a fenced block."""
    for at in range(number + 1, len(lines)):
        text = lines[at].strip()
        if len(text) >= len(opening) and not text.strip(opening[0]):
            return at
    raise DesignError("", f"this block is never closed with {opening}")


def _json(text: str) -> Mapping[str, Any]:
    try:
        value = parse_json(text)
    except DesignError as error:
        raise DesignError("", error.message) from None
    if not isinstance(value, dict):
        raise DesignError("", "must be a JSON object, { ... }", shown(value))
    return value


def _picture(caption: str, kind: str, target: str, line: int) -> Part:
    if kind == "design":
        return Figure(line, caption, tuple(Reference.of(part) for part in target.split(",")))
    found = _BITS.fullmatch(target.strip())
    if found is None:
        raise DesignError("", "bits:NAME[row, column] is expected", shown(target))
    try:
        coordinate = tuple(int(part) for part in found[2].split(","))
    except ValueError:
        raise DesignError("", "bits:NAME[row, column] is expected", shown(target)) from None
    return Bits(line, caption, found[1], coordinate)
