"""Static counts against the compiler: what each line becomes in PTX and in machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tileviz.cuda.sass import SassAccess, count_accesses, disassemble
from tileviz.emulator.client import compile_source
from tileviz.emulator.emulation import StaticAccess

MACHINE = "sm_80"


@dataclass(frozen=True)
class CountRow:
    """Memory instructions of one kind at one source line.

    Attributes:
        line: Source line, or None.
        space: ``shared`` or ``global``.
        op: ``ld``, ``st``, ``atom``...
        ptx: Pairs (bytes per lane, instructions) in the PTX.
        sass: Likewise in the machine code; None without a disassembler.
        note: How the two differ: merged, split, unrolled or eliminated; "" where they agree.
    """

    line: int | None
    space: str
    op: str
    ptx: tuple[tuple[int, int], ...]
    sass: tuple[tuple[int, int], ...] | None
    note: str

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON: lists of ``[bytes, count]``."""
        return asdict(self)


def compiler_counts(source: str, entry: str, ptx: Sequence[StaticAccess]) -> tuple[CountRow, ...]:
    """Set the PTX's memory instructions beside those of the machine code, line by line.

    Args:
        source: CUDA text.
        entry: The kernel.
        ptx: Counts in the PTX, from a run.

    Returns:
        Rows by line. Where no disassembler is installed, ``sass`` is None in all of them.
    """
    texts = compile_source(source, entry=entry, image_arch=MACHINE)
    listing = disassemble(texts.image)
    sass = None if listing is None else count_accesses(listing)
    items: list[StaticAccess | SassAccess] = [*ptx, *(sass or ())]
    kinds = sorted(
        {_kind(item) for item in items},
        key=lambda kind: (kind[0] or 1 << 30, kind[1], kind[2]),
    )
    rows = []
    for kind in kinds:
        before = _widths(ptx, kind)
        after = None if sass is None else _widths(sass, kind)
        rows.append(CountRow(*kind, before, after, _difference(before, after)))
    return tuple(rows)


def _kind(item: StaticAccess | SassAccess) -> tuple[int | None, str, str]:
    # The machine code does not tell how many matrices or which cache policy an access has.
    return item.line, item.space, item.op.partition(".")[0]


def _widths(
    items: Sequence[StaticAccess | SassAccess], kind: tuple[int | None, str, str]
) -> tuple[tuple[int, int], ...]:
    counts: dict[int, int] = {}
    for item in items:
        if _kind(item) == kind:
            counts[item.bytes] = counts.get(item.bytes, 0) + item.count
    return tuple(sorted(counts.items()))


def _difference(ptx: tuple[tuple[int, int], ...], sass: tuple[tuple[int, int], ...] | None) -> str:
    """Name what the assembler did to a line's accesses.

    Example:
        >>> _difference(((4, 4),), ((16, 1),)), _difference(((4, 1),), ((4, 4),))
        ('merged', 'unrolled')
    """
    if sass is None or ptx == sass:
        return ""
    if not sass:
        return "eliminated"
    if not ptx:
        return "added"
    wide_before, wide_after = max(ptx)[0], max(sass)[0]
    if wide_after > wide_before:
        return "merged"
    if wide_after < wide_before:
        return "split"
    before, after = (sum(count for _, count in side) for side in (ptx, sass))
    return "unrolled" if after > before else "eliminated"
