"""What one session has answered, and which lesson it reads: plain rules, nothing drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tileviz.errors import DesignError
from tileviz.lessons import Lesson, Shelf
from tileviz.studies.design import shown

VERSION = "1"
_KEYS = ("lesson", "v")


@dataclass(frozen=True)
class Attempt:
    """The last answer to a question.

    Attributes:
        given: The answer as text.
        right: Whether it was right.
    """

    given: str
    right: bool


@dataclass(frozen=True)
class Progress:
    """One session's lessons.

    Attributes:
        current: Name of the lesson that is read, "" at first.
        last: The last answer to each question, by lesson and number.
        solved: Questions that were once answered right.
        problems: What is wrong with the link.
    """

    current: str = ""
    last: Mapping[tuple[str, int], Attempt] = field(default_factory=dict)
    solved: frozenset[tuple[str, int]] = frozenset()
    problems: tuple[DesignError, ...] = ()

    def opened(self, shelf: Shelf, query: Mapping[str, str]) -> Progress:
        """Return the progress after the page was opened with an address.

        Without one, as from the list of pages, what was read before is still there.
        """
        given = dict(query)
        names = [lesson.name for lesson in shelf.lessons]
        wanted = given.get("lesson", "")
        current = wanted if wanted in names else self.current
        return replace(self, current=current, problems=_problems(shelf, given)).within(shelf)

    def within(self, shelf: Shelf) -> Progress:
        """Return the progress at a lesson that there is: the first where there is none."""
        names = [lesson.name for lesson in shelf.lessons]
        return self if self.current in names else replace(self, current=names[0] if names else "")

    def turned_to(self, name: str) -> Progress:
        """Return the progress after a lesson was chosen."""
        return replace(self, current=name, problems=())

    def address(self) -> dict[str, str] | None:
        """Return what the address bar should say, None to leave it while its link is at fault."""
        if self.problems or not self.current:
            return None
        return {"lesson": self.current, "v": VERSION}

    def answered(self, lesson: Lesson, number: int, attempt: Attempt) -> Progress:
        """Return the progress after an answer."""
        key = (lesson.name, number)
        solved = self.solved | {key} if attempt.right else self.solved
        return replace(self, last={**self.last, key: attempt}, solved=solved)

    def attempt(self, lesson: Lesson, number: int) -> Attempt | None:
        """Return the last answer to a question, or None."""
        return self.last.get((lesson.name, number))

    def right(self, lesson: Lesson) -> int:
        """Return how many questions of a lesson were answered right."""
        asked = {question.number for question in lesson.questions}
        return len({number for name, number in self.solved if name == lesson.name} & asked)


def _problems(shelf: Shelf, query: Mapping[str, str]) -> tuple[DesignError, ...]:
    found = []
    for key, text in query.items():
        if key not in _KEYS:
            name = key if len(key) <= 40 else f"{key[:40]}..."
            allowed = f"unknown key of a lesson's link; known: {', '.join(_KEYS)}"
            found.append(DesignError(name, allowed, shown(text)))
    if query.get("v", VERSION) != VERSION:
        found.append(
            DesignError("v", f"this version reads links of v={VERSION}", shown(query["v"]))
        )
    if "lesson" in query:
        try:
            shelf.lesson(query["lesson"])
        except DesignError as error:
            found.append(error)
    return tuple(found)
