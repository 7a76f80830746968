"""Two designs on their way: from what people paste, as one link, and as one file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tileviz.comparing.comparison import MAX_NAME, MAX_NOTE, within
from tileviz.errors import DesignError
from tileviz.export.links import MAX_LINK, VERSION, from_query, page_url, parse_link, query_of
from tileviz.studies.design import Design, shown
from tileviz.studies.documents import is_unicode, parse_json
from tileviz.studies.registry import STUDIES, make_design, preset, study_of

PAGE = "Compare"
KIND = "comparison"
# Two designs and a note; servers and chat programs still take it whole.
MAX_PAIR_LINK = 2 * MAX_LINK
MAX_FILE = 1 << 20
SIDES = ("left", "right")
KEYS = ("v", "left", "right", "left_name", "right_name", "note")
_TEXTS = (("left_name", MAX_NAME), ("right_name", MAX_NAME), ("note", MAX_NOTE))


@dataclass(frozen=True)
class Pair:
    """Two designs, either of which may still be missing, and what people say of them.

    Attributes:
        left: One design.
        right: The other.
        left_name: What the left one is called; likewise ``right_name``.
        right_name: What the right one is called.
        note: What is worth saying about both.
    """

    left: Design | None = None
    right: Design | None = None
    left_name: str = ""
    right_name: str = ""
    note: str = ""

    def query(self) -> dict[str, str]:
        """Return the keys of the pair's link, empty ones left out.

        Example:
            >>> Pair(preset("banks-padding-33").design, left_name="padded").query()["left_name"]
            'padded'
        """
        query = {"v": VERSION}
        for name, design in (("left", self.left), ("right", self.right)):
            if design is not None:
                query[name] = page_url(design)
        for name, _ in _TEXTS:
            if getattr(self, name):
                query[name] = getattr(self, name)
        return query

    def link(self) -> str:
        """Return the pair's link, relative to the app's address."""
        return pair_link(self.query())

    def document(self) -> dict[str, Any]:
        """Return the pair as a JSON document."""
        return {
            "kind": KIND,
            "v": int(VERSION),
            "left": None if self.left is None else self.left.document(),
            "right": None if self.right is None else self.right.document(),
            **{name: getattr(self, name) for name, _ in _TEXTS if getattr(self, name)},
        }


def pair_link(query: Mapping[str, str]) -> str:
    """Return the page-relative link with these keys, as short as it is safe.

    Example:
        >>> pair_link({"v": "1", "left": "/Layouts?v=1&layout=S[32:1]"})
        '/Compare?v=1&left=/Layouts?v=1%26layout=S[32:1]'
    """
    return f"/{PAGE}?{urlencode(query, safe='[]():,@/?=', quote_via=quote)}"


def planned(design: Design) -> Design:
    """Return a design that can be planned; only the plan finds some faults.

    Raises:
        DesignError: It cannot.
    """
    study_of(design).plan(design)
    return design


Check = Callable[[Design], Design]


def read_side(text: str, check: Check = planned) -> Design:
    """Return the design that a person pasted: a link, a link's query with its study, a preset's
    name, or a design as JSON.

    Args:
        text: What was pasted.
        check: Raises where a design cannot be planned.

    Raises:
        DesignError: The text names no design, or one with a fault; the field is empty or the
            design's own.

    Example:
        >>> read_side("banks-padding-33").study, read_side("study=layout&layout=S[32:1]").study
        ('access', 'layout')
    """
    given = text.strip()
    if not given:
        raise DesignError("", "a link, a preset's name or a design as JSON is expected", None)
    if not is_unicode(given):
        raise DesignError("", "is not valid Unicode text", ascii(given[:60]))
    found = preset(given)
    if found is not None:
        return check(found.design)
    if given.startswith("{"):
        return side_of(_json(given), check)
    if len(given) > MAX_LINK:
        raise DesignError("", f"at most {MAX_LINK:,} characters of a link are read", shown(given))
    if "?" in given:
        return check(_linked(given))
    if given.startswith("study=") or "&study=" in given:
        return check(_queried(given))
    message = "is no link, preset or JSON; paste an address, or choose a preset"
    raise DesignError("", message, shown(given))


def _linked(link: str) -> Design:
    try:
        page = urlsplit(link).path.rstrip("/").rpartition("/")[2]
    except ValueError as error:
        raise DesignError("", str(error), shown(link)) from None
    if page == PAGE:
        message = "is the link of a comparison; paste the link of one design"
        raise DesignError("", message, shown(link))
    try:
        return parse_link(link)
    except DesignError as error:
        raise _version_first(error, link.partition("?")[2]) from None


def _queried(text: str) -> Design:
    """Return the design of a link's query that names its study."""
    query = query_of(text)
    study = query.pop("study", "")
    if study not in STUDIES:
        raise DesignError("study", f"must be one of {', '.join(STUDIES)}", shown(study))
    design, errors = from_query(study, query)
    if errors or design is None:
        fault = errors[0] if errors else DesignError("", "names no design", shown(text))
        raise _version_first(fault, text)
    return design


def _version_first(error: DesignError, query: str) -> DesignError:
    """Return the fault worth showing: a newer version explains every other."""
    try:
        version = dict(parse_qsl(query, max_num_fields=64)).get("v", VERSION)
    except ValueError:
        return error
    return error if version == VERSION else newer(version)


def newer(version: object) -> DesignError:
    """Return what is said of a link or file that another version wrote.

    Example:
        >>> print(newer("2"))
        v: written by another version of tileviz; this one reads v=1
    """
    message = f"written by another version of tileviz; this one reads v={VERSION}"
    return DesignError("v", message, shown(version))


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except DesignError as error:
        raise DesignError("", error.message, error.value) from None


def side_of(document: Any, check: Check = planned) -> Design:
    """Return the design of a JSON document, once it has been planned.

    Raises:
        DesignError: It is no design, has a fault, or is a whole comparison.

    Example:
        >>> side_of({"study": "layout", "layout": "S[32:1]"}).study
        'layout'
    """
    if isinstance(document, Mapping) and document.get("kind") == KIND:
        raise DesignError("", "is a comparison; choose a file or link of one design", None)
    return check(make_design(document))


def read_pair(text: str) -> Pair:
    """Return the pair of a comparison file.

    Raises:
        DesignError: The text is no comparison, or a design in it has a fault; names the field.

    Example:
        >>> pair = Pair(preset("banks-padding-33").design, note="<b>")
        >>> read_pair(json.dumps(pair.document())) == pair
        True
    """
    if len(text) > MAX_FILE:
        raise DesignError("file", f"at most {MAX_FILE:,} characters are read", None)
    document = parse_json(text)
    if not isinstance(document, Mapping) or document.get("kind") != KIND:
        raise DesignError("kind", f"a comparison file says “{KIND}”", shown(_kind(document)))
    if document.get("v") != int(VERSION):
        raise newer(document.get("v"))
    unknown = set(document) - {"kind", *KEYS}
    if unknown:
        raise DesignError(sorted(unknown)[0][:40], f"unknown; known: {', '.join(KEYS)}", None)
    texts = {}
    for name, most in _TEXTS:
        value = document.get(name, "")
        if not isinstance(value, str):
            raise DesignError(name, "must be text", shown(value))
        within(name, value, most)
        texts[name] = value
    left, right = (_inside(name, document.get(name)) for name in SIDES)
    return Pair(left, right, **texts)


def _kind(document: Any) -> object:
    return document.get("kind", "no kind") if isinstance(document, Mapping) else "no JSON object"


def _inside(name: str, document: Any) -> Design | None:
    if document is None:
        return None
    try:
        return side_of(document)
    except DesignError as error:
        raise error.within(name) from None


def pair_file(pair: Pair) -> str:
    """Return the text of a comparison file."""
    return json.dumps(pair.document(), indent=2, ensure_ascii=False) + "\n"
