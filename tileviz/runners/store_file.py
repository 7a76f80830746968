"""The SQLite file of the history: opened, brought up to date, and never lost.

Every change is one transaction of a write-ahead log: a killed process loses nothing that was
committed, and several processes write at once. A damaged file is set aside, not deleted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

DAMAGED = "runs-damaged"

_BESIDE = ("", "-wal", "-shm")
T = TypeVar("T")

# Statement lists; the n-th takes a file from version n to n + 1. The long texts come last in a
# row, so that a search through the short ones does not read them.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at TEXT NOT NULL,
            study TEXT NOT NULL,
            variant TEXT NOT NULL,
            verdict TEXT NOT NULL,
            state TEXT NOT NULL,
            sentence TEXT NOT NULL,
            facts TEXT NOT NULL,
            runner TEXT NOT NULL,
            device TEXT NOT NULL,
            verified INTEGER,
            version TEXT NOT NULL,
            seed TEXT NOT NULL,
            name TEXT NOT NULL,
            note TEXT NOT NULL,
            design TEXT NOT NULL,
            run TEXT NOT NULL
        )""",
        "CREATE INDEX runs_at ON runs (at DESC, id DESC)",
    ),
)


class StoreUnavailable(RuntimeError):
    """The history cannot be read or written; one line says why."""


class StoreFile:
    """One file of runs, which is made when something is first written.

    Args:
        path: Where it lies.
        busy_seconds: How long to wait for another process that writes.
    """

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self.notice = ""
        self._busy = busy_seconds

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do some work in one transaction.

        Raises:
            StoreUnavailable: The file cannot be written.
        """

        def transaction(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            done = work(connection)
            connection.execute("COMMIT")
            return done

        return self._with(transaction)

    def read(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return what is read, or ``otherwise`` where there is no file.

        Raises:
            StoreUnavailable: The file cannot be read.
        """
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return otherwise
        except OSError as error:
            raise StoreUnavailable(str(error)) from error
        try:
            return self._with(work)
        except StoreUnavailable as error:
            if not _is_forbidden(error.__cause__):
                raise
            # Where nothing may be written, no log can be made beside the file; it is read alone.
            try:
                with closing(self._open_to_read()) as connection:
                    return work(connection)
            except sqlite3.Error:
                raise error from None

    def set_aside(self, seen: tuple[int, int] | None) -> None:
        """Rename a damaged file, unless another process has done so since we looked.

        Args:
            seen: The file's ``identity`` before it was found damaged.
        """
        if identity(self.path) != seen:
            return
        when = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%fZ")
        target = self.path.with_name(f"{DAMAGED}-{when}.sqlite3")
        for suffix in _BESIDE:
            part = self.path.with_name(self.path.name + suffix)
            if part.exists():
                part.rename(target.with_name(target.name + suffix))
        self.notice = f"the history was damaged: it is kept as {target}, and a new one was begun"

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do some work on the file; a damaged one is set aside, and the work done on a new one."""
        seen = identity(self.path)
        try:
            return self._once(work)
        except (sqlite3.Error, OSError) as error:
            if not _is_damage(error):
                raise StoreUnavailable(f"{error} ({self.path})") from error
        try:
            self.set_aside(seen)
            return self._once(work)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"{error} ({self.path})") from error

    def _once(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with closing(self._open()) as connection:
            return work(connection)

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=self._busy, isolation_level=None)
        return _prepared(connection, _prepare)

    def _open_to_read(self) -> sqlite3.Connection:
        """Open a file beside which nothing may be written."""
        address = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
        return _prepared(connection, _check_version)


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another of the same name, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepared(
    connection: sqlite3.Connection, prepare: Callable[[sqlite3.Connection], object]
) -> sqlite3.Connection:
    connection.text_factory = _text
    try:
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Set a connection up, and bring the file to this program's version."""
    connection.execute("PRAGMA synchronous = FULL")
    if _check_version(connection) == len(MIGRATIONS):
        return
    # Both are the file's own: set once, before there is a table.
    connection.execute("PRAGMA auto_vacuum = FULL")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # Another process is making the file just now, and sets it.
        if "locked" not in str(error):
            raise
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in MIGRATIONS[_check_version(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_version(connection: sqlite3.Connection) -> int:
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise sqlite3.OperationalError("it was written by a newer version of tileviz")
    return version


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _is_damage(error: Exception) -> bool:
    # What is locked, full or read-only is an OperationalError; only damage is a plain one.
    return type(error) is sqlite3.DatabaseError


def _is_forbidden(error: BaseException | None) -> bool:
    said = str(error)
    return "readonly" in said or "unable to open" in said
