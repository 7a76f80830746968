"""Every lesson, found in folders; a broken one is named and does not hide the others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tileviz.errors import DesignError
from tileviz.lessons.document import MAX_FILE, parse
from tileviz.lessons.model import Lesson
from tileviz.studies.registry import assets

# A folder of one's own lessons, shown behind the ones that come along.
FOLDER_VARIABLE = "TILEVIZ_LESSONS"
MAX_LESSONS = 200
# Files that people keep beside lessons.
_OTHERS = {"README.md"}


@dataclass(frozen=True)
class Shelf:
    """What some folders hold.

    Attributes:
        lessons: The lessons, in the order of their files.
        faults: What is wrong with the others, one a file.
    """

    lessons: tuple[Lesson, ...]
    faults: tuple[DesignError, ...]

    def lesson(self, name: str) -> Lesson:
        """Return a lesson by its name.

        Raises:
            DesignError: There is none; names those there are.

        Example:
            >>> shelf().lesson("banks-and-words").title
            'Banks and words'
        """
        found = next((lesson for lesson in self.lessons if lesson.name == name), None)
        if found is None:
            known = ", ".join(lesson.name for lesson in self.lessons) or "none"
            raise DesignError("lesson", f"there is no such lesson; known: {known}", name[:80])
        return found


def folders() -> tuple[Path, ...]:
    """Return the folders that hold lessons: the one that comes along, then one's own."""
    own = os.environ.get(FOLDER_VARIABLE, "")
    return (assets() / "lessons", *((Path(own),) if own else ()))


def shelf() -> Shelf:
    """Return every lesson that is there now."""
    return shelf_of(folders())


def shelf_of(of: Sequence[Path]) -> Shelf:
    """Return the lessons of some folders; files that changed are read again.

    Args:
        of: The folders.
    """
    lessons: dict[str, Lesson] = {}
    faults = []
    for path in _files(of):
        found = _read(path, *_stamp(path))
        if isinstance(found, DesignError):
            faults.append(found)
        elif found.name in lessons:
            first = lessons[found.name].file
            faults.append(DesignError(path.name, f"{first} has the same name, {found.name}"))
        else:
            lessons[found.name] = found
    faults += [
        DesignError(str(folder)[:120], "there is no such folder of lessons")
        for folder in of
        if not folder.is_dir()
    ]
    return Shelf(tuple(lessons.values()), tuple(faults))


def _files(of: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for folder in of:
        here = folder.glob("*.md") if folder.is_dir() else ()
        found += sorted(path for path in here if path.name not in _OTHERS)
    return found[:MAX_LESSONS]


def _stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a lesson or a design file beside it does."""
    times = [_changed(path)]
    designs = path.parent / "designs"
    if designs.is_dir():
        times += [_changed(file) for file in designs.glob("*.json")]
    return max(times), len(times)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=MAX_LESSONS)
def _read(path: Path, changed: int, files: int) -> Lesson | DesignError:
    """Return a file's lesson, or its fault."""
    del changed, files  # they only tell one state of the file from the next
    try:
        # A pipe or a device would never end.
        if path.exists() and not path.is_file():
            raise DesignError(path.name[:80], "is no file")
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MAX_FILE + 1)
        return parse(text, path.name, path.parent)
    except (OSError, UnicodeDecodeError) as error:
        return DesignError(path.name[:80], f"cannot be read: {error}")
    except DesignError as error:
        return error
