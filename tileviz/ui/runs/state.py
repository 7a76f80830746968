"""What is asked of the history: from the address bar, from the controls, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from tileviz.errors import DesignError
from tileviz.runners.store_entry import MAX_SOUGHT, Wanted, tidy
from tileviz.studies.design import shown

PER_PAGE = 10
MAX_PAGE = 1 << 20
MAX_KEY = 200

_KEYS = {"find": "text", **{f.name: f.name for f in fields(Wanted) if f.name != "text"}}


@dataclass(frozen=True)
class Asked:
    """What the page shows.

    Attributes:
        wanted: The search.
        page: Which page of what is found, from 1.
        run: Key of the chosen run, "" for none.
    """

    wanted: Wanted = field(default_factory=Wanted)
    page: int = 1
    run: str = ""

    def searching(self, wanted: Wanted) -> Asked:
        """Return the same with another search, from its first page."""
        return self if wanted == self.wanted else replace(self, wanted=wanted, page=1)


def read(query: Mapping[str, str]) -> tuple[Asked, tuple[DesignError, ...]]:
    """Return what an address asks for, and what is wrong with it; the rest is used.

    Example:
        >>> asked, errors = read({"find": "33", "study": "weave", "page": "2"})
        >>> asked.wanted.text, asked.page, errors[0].field
        ('33', 2, 'study')
    """
    errors: list[DesignError] = []
    wanted: dict[str, str] = {}
    for key, name in _KEYS.items():
        try:
            if key in query:
                value = tidy(query[key], MAX_SOUGHT)
                Wanted.checked(**{name: value})
                wanted[name] = value
        except DesignError as error:
            errors.append(error)
    known = (*_KEYS, "page", "run")
    errors += [
        DesignError(shown_key(key), f"unknown key; known: {', '.join(known)}", shown(query[key]))
        for key in query
        if key not in known
    ]
    page = query.get("page", "1")
    if not (page.isascii() and page.isdigit() and len(page) < 8 and 1 <= int(page) <= MAX_PAGE):
        errors.append(DesignError("page", f"a number from 1 to {MAX_PAGE}", shown(page)))
        page = "1"
    run = tidy(query.get("run", ""), MAX_KEY)
    return Asked(Wanted.checked(**wanted), int(page), run), tuple(errors)


def shown_key(key: str) -> str:
    """Return a key of an address as a message names it."""
    return key if len(key) <= 40 else key[:40] + "..."


def address(asked: Asked) -> dict[str, str]:
    """Return the address of what is shown, defaults left out.

    Example:
        >>> address(Asked(Wanted(text="33", outcome="wrong"), page=2))
        {'find': '33', 'outcome': 'wrong', 'page': '2'}
    """
    query = {key: str(getattr(asked.wanted, name)) for key, name in _KEYS.items()}
    query["page"] = str(asked.page) if asked.page > 1 else ""
    query["run"] = asked.run
    return {key: value for key, value in query.items() if value}
