"""Prediction beside measurement, one entry a source line and kind of instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.emulation import StaticAccess
from tileviz.memory import BANK_BYTES, BANKS, SECTOR_BYTES, Accesses, Verdict, judge

_WORDS = {"ld": "load", "st": "store", "atom": "atomic"}


@dataclass(frozen=True)
class Totals:
    """What some accesses cost together.

    Attributes:
        wavefronts: Shared-memory passes, None for global memory.
        ideal: Fewest possible, in the unit of the space.
        sectors: 32-byte sectors, None for shared memory.
    """

    wavefronts: int | None
    ideal: int
    sectors: int | None

    def to_json(self) -> dict[str, int | None]:
        """Return ``{"wavefronts", "ideal", "sectors"}``."""
        return {"wavefronts": self.wavefronts, "ideal": self.ideal, "sectors": self.sectors}

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> Totals:
        """Return what ``to_json`` was made of."""
        return cls(document["wavefronts"], document["ideal"], document["sectors"])


@dataclass(frozen=True)
class AccessRow:
    """One source line and kind of instruction, predicted and measured.

    Attributes:
        line: 1-based source line, or None.
        space: ``"shared"`` or ``"global"``.
        op: As in ``Accesses``.
        bytes: Bytes per lane as executed.
        executions: Warp instructions executed in the traced blocks.
        predicted: Totals of the prediction for as many bytes as were moved, or None.
        measured: Totals over the executions.
        bytes_used: Bytes that lanes asked for; for global memory, each byte of a request once.
        bytes_moved: Bytes paid for: 128 a wavefront, 32 a sector.
        text: The source line.
        buffer: The buffer or array, "" where unknown.
        note: Why prediction and measurement differ, "" where they agree.
    """

    line: int | None
    space: str
    op: str
    bytes: int
    executions: int
    predicted: Totals | None
    measured: Totals
    bytes_used: int = 0
    bytes_moved: int = 0
    text: str = ""
    buffer: str = ""
    note: str = ""

    def to_json(self) -> dict[str, object]:
        """Return one element of ``accesses`` of the ``run`` object."""
        return {
            "line": self.line,
            "space": self.space,
            "op": self.op,
            "bytes": self.bytes,
            "executions": self.executions,
            "predicted": None if self.predicted is None else self.predicted.to_json(),
            "measured": self.measured.to_json(),
            "bytes_used": self.bytes_used,
            "bytes_moved": self.bytes_moved,
            "note": self.note,
            "text": self.text,
            "buffer": self.buffer,
        }

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> AccessRow:
        """Return what ``to_json`` was made of."""
        predicted = document["predicted"]
        return cls(
            **{
                **document,
                "predicted": None if predicted is None else Totals.of_json(predicted),
                "measured": Totals.of_json(document["measured"]),
            }
        )


@dataclass(frozen=True, eq=False)
class _Group:
    """All accesses of one line, space, operation and width, summed."""

    line: int | None
    space: str
    op: str
    bytes: int
    executions: int
    lane_accesses: int
    totals: Totals
    bytes_used: int
    buffer: str
    parts: tuple[Accesses, ...]

    @property
    def moved(self) -> int:
        """Bytes moved by all active lanes."""
        return self.lane_accesses * self.bytes


def compare(
    predicted: Sequence[Accesses],
    measured: Sequence[Accesses],
    static: Sequence[StaticAccess] = (),
    *,
    text: Callable[[int], str] = lambda line: "",
) -> tuple[AccessRow, ...]:
    """Pair predicted with measured accesses and explain every difference.

    A prediction is paired with the measured accesses of the same line, space, operation and
    width; else with those of another width on the line (the compiler merged or split them). It is
    scaled where it speaks of fewer blocks than were traced.

    Args:
        predicted: From the plan's index expressions.
        measured: From the run.
        static: Memory instructions in the compiled text, for the notes.
        text: Gives the source text of a line.

    Returns:
        Rows in the order of the source lines.

    Example:
        >>> import numpy as np
        >>> column = Accesses.of(128 * np.arange(32), space="shared", op="ld", bytes=4, line=3)
        >>> row, = compare([column], [column])
        >>> row.predicted == row.measured, row.measured.wavefronts
        (True, 32)
    """
    ours, theirs = _grouped(predicted), _grouped(measured)
    pairs = _paired(ours, theirs)
    rows = [_row(group, pairs.get(index), static) for index, group in enumerate(theirs)]
    used = {id(group) for matched in pairs.values() for group in matched}
    rows += [_missing(group) for group in ours if id(group) not in used]
    rows.sort(key=lambda row: (row.line or 1 << 30, row.space, row.op, row.bytes))
    return tuple(
        AccessRow(**{**vars(row), "text": text(row.line) if row.line else ""}) for row in rows
    )


def _grouped(many: Iterable[Accesses]) -> list[_Group]:
    kinds: dict[tuple[object, ...], list[Accesses]] = {}
    for accesses in many:
        key = (accesses.line, accesses.space, accesses.op, accesses.bytes)
        kinds.setdefault(key, []).append(accesses)
    groups = []
    for same in kinds.values():
        verdicts = [judge(accesses) for accesses in same]
        shared = same[0].space == "shared"
        totals = Totals(
            wavefronts=sum(v.wavefronts or 0 for v in verdicts) if shared else None,
            ideal=sum(v.ideal for v in verdicts),
            sectors=None if shared else sum(v.sectors or 0 for v in verdicts),
        )
        groups.append(
            _Group(
                same[0].line,
                same[0].space,
                same[0].op,
                same[0].bytes,
                sum(v.executions for v in verdicts),
                sum(int(accesses.active.sum()) for accesses in same),
                totals,
                sum(_used(a, v) for a, v in zip(same, verdicts, strict=True)),
                ", ".join(dict.fromkeys(a.buffer for a in same if a.buffer)),
                tuple(same),
            )
        )
    return groups


def _used(accesses: Accesses, verdict: Verdict) -> int:
    if verdict.bytes_used is not None:
        return verdict.bytes_used
    return int(accesses.active.sum()) * accesses.bytes


def _paid(totals: Totals) -> int:
    if totals.wavefronts is not None:
        return totals.wavefronts * BANKS * BANK_BYTES
    return (totals.sectors or 0) * SECTOR_BYTES


def _paired(ours: list[_Group], theirs: list[_Group]) -> dict[int, list[_Group]]:
    """Map each measured group's position to the predicted groups it realises."""
    pairs: dict[int, list[_Group]] = {}
    left = list(ours)
    tests: tuple[Callable[[_Group, _Group], bool], ...] = (
        lambda a, b: (a.line, a.bytes) == (b.line, b.bytes),
        lambda a, b: a.line == b.line,
        lambda a, b: a.line is None and a.bytes == b.bytes,
    )
    for agrees in tests:
        for index, got in enumerate(theirs):
            if index in pairs:
                continue
            found = [
                want
                for want in left
                if (want.space, want.op) == (got.space, got.op) and agrees(want, got)
            ]
            if found:
                pairs[index] = found
                left = [want for want in left if want not in found]
    return pairs


def _row(got: _Group, wanted: list[_Group] | None, static: Sequence[StaticAccess]) -> AccessRow:
    predicted, note = None, ""
    if wanted:
        total = _sum([want.totals for want in wanted])
        moved = sum(want.moved for want in wanted)
        notes = []
        if all(want.bytes != got.bytes for want in wanted):
            notes.append(_merged(got, wanted, static))
        if moved and moved != got.moved:
            if got.moved % moved == 0:
                notes.append(f"predicted for one of {got.moved // moved} equal parts")
                total = _scaled(total, got.moved, moved)
            elif got.moved and moved % got.moved == 0:
                notes.append(f"one of {moved // got.moved} parts of the prediction was traced")
                total = _scaled(total, got.moved, moved)
            else:
                notes.append(f"{got.moved} bytes moved, {moved} predicted")
        if total != got.totals and not notes:
            notes.append(_regrouped(got, wanted))
        predicted, note = total, "; ".join(notes)
    return AccessRow(
        got.line,
        got.space,
        got.op,
        got.bytes,
        got.executions,
        predicted,
        got.totals,
        bytes_used=got.bytes_used,
        bytes_moved=_paid(got.totals),
        buffer=got.buffer,
        note=note,
    )


def _regrouped(got: _Group, wanted: list[_Group]) -> str:
    """Tell other addresses from the same ones in other warp instructions."""
    measured = _addresses(got.parts)
    predicted = _addresses([part for want in wanted for part in want.parts])
    if np.array_equal(measured, predicted):
        return (
            "the same addresses, but other lanes execute together: "
            "the compiler moved iterations of a loop"
        )
    return "measured addresses differ from the prediction"


def _addresses(parts: Sequence[Accesses]) -> NDArray[np.int64]:
    return np.sort(np.concatenate([part.addresses[part.active] for part in parts]))


def _missing(want: _Group) -> AccessRow:
    nothing = Totals(
        None if want.totals.wavefronts is None else 0,
        0,
        None if want.totals.sectors is None else 0,
    )
    return AccessRow(
        want.line,
        want.space,
        want.op,
        want.bytes,
        0,
        want.totals,
        nothing,
        buffer=want.buffer,
        note="predicted, but not executed: removed by the compiler or in no traced block",
    )


def _merged(got: _Group, wanted: list[_Group], static: Sequence[StaticAccess]) -> str:
    """Say how the compiler changed the width of an access."""
    word = _WORDS.get(got.op, got.op)
    width = max(want.bytes for want in wanted)
    many, few = max(width, got.bytes), min(width, got.bytes)
    times = many // few
    action = "merged" if got.bytes > width else "split"
    before, after = (times, 1) if action == "merged" else (1, times)
    text = (
        f"compiler {action} {before} x {width}-byte {word}{'s' if before > 1 else ''} "
        f"into {after} x {got.bytes}-byte"
    )
    count = sum(
        item.count
        for item in static
        if (item.line, item.space, item.op, item.bytes) == (got.line, got.space, got.op, got.bytes)
    )
    return f"{text} ({count} in the PTX)" if count else text


def _sum(totals: Sequence[Totals]) -> Totals:
    shared = totals[0].sectors is None
    return Totals(
        sum(t.wavefronts or 0 for t in totals) if shared else None,
        sum(t.ideal for t in totals),
        None if shared else sum(t.sectors or 0 for t in totals),
    )


def _scaled(totals: Totals, got: int, of: int) -> Totals:
    def share(count: int | None) -> int | None:
        return None if count is None else round(count * got / of)

    return Totals(share(totals.wavefronts), round(totals.ideal * got / of), share(totals.sectors))
