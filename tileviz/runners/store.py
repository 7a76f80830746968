"""The history of this installation: what was run, kept in the user's data folder.

A history that cannot be written never fails a run: the reason is one line.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tileviz import __version__
from tileviz.runners.results import Run
from tileviz.runners.store_entry import (
    MAX_NAME,
    MAX_NOTE,
    VERIFIED,
    KeptRun,
    Wanted,
    entry_of,
    tidy,
)
from tileviz.runners.store_file import DAMAGED, StoreFile
from tileviz.runners.words import statement_of
from tileviz.studies.design import Design
from tileviz.studies.documents import json_line
from tileviz.studies.statement import GLYPHS, Statement

FILE = "runs.sqlite3"
BUSY_SECONDS = 5.0

_OFF = ("off", "0", "no", "false")
_BATCH = 64
_SEED = re.compile(r"-?[0-9]{1,40}")

_COLUMNS = (
    "id, at, study, variant, verdict, state, sentence, facts, runner, device, verified, version, "
    "seed, name, note, design"
)
# Runs of one's own kernels that were kept before they had a verdict are judged when they are read.
_UNJUDGED = (
    "CASE WHEN study = 'kernel' AND sentence LIKE 'Ran without a fault%' THEN run END AS unjudged"
)
_SOUGHT = (
    "design",
    "replace(design, ' ', '')",
    "verdict",
    "sentence",
    "facts",
    "name",
    "note",
    "device",
    "variant",
)


class HistoryWarning(UserWarning):
    """A run was not kept in the history; it is fine otherwise."""


def history_off() -> bool:
    """Return whether the owner of this installation wants nothing kept."""
    return os.environ.get("TILEVIZ_HISTORY", "").strip().lower() in _OFF


def data_folder() -> Path:
    """Return the user's data folder of this program; ``TILEVIZ_DATA`` names another."""
    given = os.environ.get("TILEVIZ_DATA", "").strip()
    if given:
        return Path(os.path.expanduser(given))  # noqa: PTH111  pathlib's raises without a home
    from platformdirs import user_data_path

    return user_data_path("tileviz", appauthor=False)


def keep(design: Design, run: Run, *, seed: int = 0, plan: Any = None, variant: str = "") -> str:
    """Keep a run in the history of this installation; every way of running ends here.

    Args:
        design: What was run.
        run: Its result.
        seed: Of the inputs.
        plan: The design's plan, where it is at hand.
        variant: Which of the design's kernels ran, "" for the one it chooses.

    Returns:
        "", or one line: why it was not kept, or what was found wrong with the history.
    """
    if history_off():
        return ""
    try:
        store = RunStore(data_folder())
        store.add(entry_of(design, run, version=__version__, seed=seed, plan=plan, variant=variant))
    except Exception as error:  # whatever is wrong with the history, the run itself has ended well
        return f"this run was not kept in the history: {error}"
    return store.notice


class RunStore:
    """The history in one folder, which is made when the first run is kept.

    Args:
        folder: Where the file lies.
        busy_seconds: How long to wait for another process that writes.

    Example:
        >>> RunStore(Path("/nonexistent")).find(Wanted(), limit=10)
        ()
    """

    def __init__(self, folder: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.folder = folder
        self._file = StoreFile(folder / FILE, busy_seconds)

    @property
    def notice(self) -> str:
        """What was found wrong with the history and mended, "" for nothing."""
        return self._file.notice

    def add(self, entry: KeptRun) -> int:
        """Keep a run; return its number.

        Raises:
            StoreUnavailable: It cannot be written.
        """
        said = entry.outcome
        values = (
            *(entry.at, entry.study, entry.variant, entry.verdict),
            *(said.state, said.sentence, said.facts, entry.runner, entry.device),
            *(entry.verified, entry.version, str(entry.seed), entry.name, entry.note),
            *(json_line(entry.design), json_line(entry.run)),
        )
        columns = f"{_COLUMNS.removeprefix('id, ')}, run"
        marks = ", ".join("?" * len(values))

        def insert(connection: sqlite3.Connection) -> int:
            done = connection.execute(f"INSERT INTO runs ({columns}) VALUES ({marks})", values)
            return done.lastrowid or 0

        return self._file.write(insert)

    def annotate(self, number: int, name: str, note: str) -> None:
        """Give a run a name and a note.

        Raises:
            StoreUnavailable: It cannot be written.
        """
        values = (tidy(name, MAX_NAME), tidy(note, MAX_NOTE), number)
        self._file.write(
            lambda c: c.execute("UPDATE runs SET name = ?, note = ? WHERE id = ?", values)
        )

    def delete(self, numbers: Sequence[int]) -> None:
        """Delete runs, and give their space back.

        Raises:
            StoreUnavailable: It cannot be written.
        """
        chosen = [(number,) for number in numbers]
        self._file.write(lambda c: c.executemany("DELETE FROM runs WHERE id = ?", chosen))

    def find(self, wanted: Wanted, *, limit: int, offset: int = 0) -> tuple[KeptRun, ...]:
        """Return runs without their run objects, newest first.

        Raises:
            StoreUnavailable: It cannot be read.
        """
        where, values = _where(wanted)
        columns = f"{_COLUMNS}, {_UNJUDGED}"
        text = f"SELECT {columns} FROM runs{where} ORDER BY at DESC, id DESC LIMIT ? OFFSET ?"
        return tuple(map(_kept, self._rows(text, (*values, limit, offset))))

    def count(self, wanted: Wanted, *, after: str = "") -> int:
        """Return how many runs there are, of those after a time where one is given.

        Raises:
            StoreUnavailable: It cannot be read.
        """
        where, values = _where(wanted)
        if after:
            where, values = f"{where} {'AND' if where else 'WHERE'} at > ?", (*values, after)
        text = f"SELECT count(*) FROM runs{where}"
        return self._file.read(lambda c: int(c.execute(text, values).fetchone()[0]), 0)

    def get(self, number: int) -> KeptRun | None:
        """Return one run with its run object, or None.

        Raises:
            StoreUnavailable: It cannot be read.
        """
        text = f"SELECT {_COLUMNS}, {_UNJUDGED}, run FROM runs WHERE id = ?"
        row = self._file.read(lambda c: c.execute(text, (number,)).fetchone(), None)
        return None if row is None else _kept(row)

    def every(self, wanted: Wanted) -> Iterator[KeptRun]:
        """Yield runs with their run objects, newest first, a few in memory at a time.

        Raises:
            StoreUnavailable: It cannot be read.
        """
        where, values = _where(wanted)
        joint = "AND" if where else "WHERE"
        text = f"SELECT {_COLUMNS}, {_UNJUDGED}, run FROM runs{where}"
        last: tuple[str, int] | None = None
        while True:
            more = "" if last is None else f" {joint} (at, id) < (?, ?)"
            asked = f"{text}{more} ORDER BY at DESC, id DESC LIMIT ?"
            rows = self._rows(asked, (*values, *(last or ()), _BATCH))
            yield from map(_kept, rows)
            if len(rows) < _BATCH:
                return
            last = (rows[-1][1], rows[-1][0])

    def _rows(self, text: str, values: Sequence[Any]) -> list[Any]:
        return self._file.read(lambda c: c.execute(text, values).fetchall(), [])

    def size(self) -> int:
        """Return the bytes the history takes, damaged files included."""
        return sum(_size(path) for path in self.folder.glob("runs*.sqlite3*"))

    def damaged(self) -> tuple[str, ...]:
        """Return the names of files that were found damaged; they are kept."""
        return tuple(sorted(path.name for path in self.folder.glob(f"{DAMAGED}-*.sqlite3")))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _where(wanted: Wanted) -> tuple[str, tuple[Any, ...]]:
    parts: list[str] = []
    values: list[Any] = []
    for column in ("study", "runner"):
        if value := getattr(wanted, column):
            parts.append(f"{column} = ?")
            values.append(value)
    if wanted.outcome:
        parts.append("verified IS ?")
        values.append(VERIFIED[wanted.outcome])
    for day, test in ((wanted.since, ">="), (wanted.until, "<=")):
        if day:
            parts.append(f"substr(at, 1, 10) {test} ?")
            values.append(day)
    for word in wanted.words:
        escaped = word.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        parts.append(f"({' OR '.join(rf'{text} LIKE ? ESCAPE char(92)' for text in _SOUGHT)})")
        values += [f"%{escaped}%"] * len(_SOUGHT)
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), tuple(values)


def _kept(row: Sequence[Any]) -> KeptRun:
    # SQLite keeps what a person puts into a column, whatever its type.
    number, verified = row[0], row[10]
    at, study, variant, verdict, state, sentence, facts, runner, device = map(_said, row[1:10])
    version, seed, name, note, design = map(_said, row[11:16])
    made = KeptRun(
        at=at,
        study=study,
        design=_document(design),
        variant=variant,
        verdict=verdict,
        outcome=_judged(row[16])
        or Statement(state if state in GLYPHS else "attention", sentence, facts),
        runner=runner,
        device=device,
        verified=None if verified is None else bool(verified),
        version=version,
        seed=int(seed) if _SEED.fullmatch(seed) else 0,
        name=name,
        note=note,
        id=number,
        key=str(number),
    )
    return made if len(row) == 17 else replace(made, run=_document(_said(row[17])))


def _judged(run: object) -> Statement | None:
    """Return the verdict on a run that was kept without one, None where it cannot be read."""
    if run is None:
        return None
    try:
        return statement_of({**_document(_said(run)), "study": "kernel"})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _said(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _document(text: str) -> dict[str, Any]:
    """Return a kept document, an empty one where the file has been tampered with."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
