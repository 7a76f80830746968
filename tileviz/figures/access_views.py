"""Views of warp accesses as cells: which bank or sector a lane touches, and who meets there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.figures.tokens import IDLE, PASS_LABELS, pass_classes
from tileviz.memory import (
    BANK_BYTES,
    BANKS,
    LANES,
    SECTOR_BYTES,
    Accesses,
    bank_load,
    group_lanes,
    shared_wavefronts,
)

PASSES_LEGEND = "Passes the bank needs"
SECTORS_LEGEND = "Bytes used of each 32-byte sector"
# The same six classes: a sector of which an eighth is used costs eight times the ideal.
SECTOR_LABELS = ("all 32", "16–31", "8–15", "4–7", "2–3", "1")


@dataclass(frozen=True, eq=False)
class AccessView:
    """One view of the accesses of one phase, one instruction (register) after the other.

    Attributes:
        classes: Class of each cell, ``IDLE`` where nothing happens, int8 ``[row, column]``.
        text: What a cell says.
        instruction: The instruction that each row belongs to, int64 ``[row]``.
        lane: The lane of each cell (the first, where several meet), -1 without one.
        fields: Integers about each cell, int64 ``[row, column, field]``, named by ``hover``.
        hover: Hover text over ``fields``, in Plotly's template language.
        legend: Name of the legend.
        labels: Label of each of the six classes.
        key: What columns and cells are, in a few words.
        shows_idle: Whether idle cells occur, so that the legend must name them.
    """

    classes: NDArray[np.int8]
    text: NDArray[np.str_]
    instruction: NDArray[np.int64]
    lane: NDArray[np.int64]
    fields: NDArray[np.int64]
    hover: str
    legend: str
    labels: tuple[str, ...]
    key: str

    @property
    def shows_idle(self) -> bool:
        """Whether some cell is idle."""
        return bool((self.classes == IDLE).any())

    @property
    def rows(self) -> tuple[str, ...]:
        """Row labels: the register, and a letter for its group of lanes where it has several."""
        numbers = self.instruction.tolist()
        if len(set(numbers)) == len(numbers):
            return tuple(f"r{number}" for number in numbers)
        seen: dict[int, int] = {}
        labels = []
        for number in numbers:
            seen[number] = seen.get(number, -1) + 1
            labels.append(f"r{number}{'abcd'[seen[number]]}")
        return tuple(labels)


def lanes_to_banks(accesses: Accesses) -> AccessView:
    """Return lanes across, instructions down, the bank in each cell.

    Example:
        >>> column = Accesses.of(16 * np.arange(32), space="shared", op="st", bytes=4)
        >>> view = lanes_to_banks(column)
        >>> view.text[0, :4].tolist(), view.classes[0, 0].item()
        (['0', '4', '8', '12'], 2)
    """
    load = bank_load(accesses)
    bank = accesses.addresses // BANK_BYTES % BANKS
    lane = np.broadcast_to(np.arange(LANES), bank.shape)
    instruction = np.arange(accesses.executions)
    fields = np.stack(
        [lane, np.broadcast_to(instruction[:, None], bank.shape), accesses.addresses, bank, load],
        axis=2,
    )
    last = max(accesses.bytes // BANK_BYTES, 1) - 1
    banks = f"<b>bank %{{customdata[3]}}</b>{f' and the next {last}' if last else ''}"
    return AccessView(
        classes=pass_classes(load),
        text=bank.astype(str),
        instruction=instruction,
        lane=np.where(accesses.active, lane, -1),
        fields=fields,
        hover="<b>lane %{customdata[0]}, register %{customdata[1]}</b><br>"
        f"byte %{{customdata[2]}} · {banks}<br>passes this bank needs: %{{customdata[4]}}",
        legend=PASSES_LEGEND,
        labels=PASS_LABELS,
        key="columns: lanes, cells: " + ("bank" if not last else "first bank"),
    )


def banks_to_lanes(accesses: Accesses) -> AccessView:
    """Return banks across, one row for each group of lanes served together, who comes in a cell.

    Example:
        >>> column = Accesses.of(16 * np.arange(32), space="shared", op="st", bytes=4)
        >>> view = banks_to_lanes(column)
        >>> view.text[0, :5].tolist(), view.classes[0, :5].tolist()
        (['4×', '', '', '', '4×'], [2, -1, -1, -1, 2])
    """
    load = bank_load(accesses)
    merged = shared_wavefronts(accesses).merged
    size = np.where(merged, 2, 1) * group_lanes(accesses.op, accesses.bytes)
    groups = LANES // size
    start = np.concatenate([[0], np.cumsum(groups)])
    row = start[:-1, None] + np.arange(LANES) // size[:, None]
    words = np.arange(max(accesses.bytes // BANK_BYTES, 1))
    bank = (accesses.addresses[:, :, None] // BANK_BYTES + words) % BANKS
    cell = (row[:, :, None] * BANKS + bank)[accesses.active].ravel()
    lane = np.broadcast_to(np.arange(LANES)[None, :, None], bank.shape)[accesses.active].ravel()
    passes_of = np.broadcast_to(load[:, :, None], bank.shape)[accesses.active].ravel()
    shape = (int(start[-1]), BANKS)
    instruction = np.repeat(np.arange(accesses.executions), groups)
    met = _meetings(cell, lane, passes_of, shape)
    fields = np.stack(
        [
            np.broadcast_to(np.arange(BANKS), shape),
            np.broadcast_to(instruction[:, None], shape),
            met.lanes,
            met.first,
            met.cost,
        ],
        axis=2,
    )
    return AccessView(
        classes=pass_classes(met.cost),
        text=met.text,
        instruction=instruction,
        lane=met.first,
        fields=fields,
        hover="<b>bank %{customdata[0]}, register %{customdata[1]}</b><br>"
        "lanes that meet here: %{customdata[2]}, first lane %{customdata[3]}<br>"
        "passes this bank needs: %{customdata[4]}",
        legend=PASSES_LEGEND,
        labels=PASS_LABELS,
        key="columns: banks, cells: the lane, or how many meet",
    )


def lanes_to_sectors(accesses: Accesses) -> AccessView:
    """Return lanes across, instructions down; equal numbers in a row share a 32-byte sector.

    Example:
        >>> wide = Accesses.of(8 * np.arange(32), space="global", op="ld", bytes=4)
        >>> view = lanes_to_sectors(wide)
        >>> view.text[0, :6].tolist(), view.classes[0, 0].item()  # 16 of 32 bytes used
        (['0', '0', '0', '0', '1', '1'], 1)
    """
    sector, ordinal, used = _sectors(accesses)
    lane = np.broadcast_to(np.arange(LANES), sector.shape)
    instruction = np.arange(accesses.executions)
    fields = np.stack(
        [
            lane,
            np.broadcast_to(instruction[:, None], sector.shape),
            accesses.addresses,
            sector,
            used,
        ],
        axis=2,
    )
    return AccessView(
        classes=_waste_classes(used),
        text=ordinal.astype(str),
        instruction=instruction,
        lane=np.where(accesses.active, lane, -1),
        fields=fields,
        hover="<b>lane %{customdata[0]}, register %{customdata[1]}</b><br>"
        "byte %{customdata[2]} · <b>sector %{customdata[3]}</b><br>"
        "bytes this instruction uses of it: %{customdata[4]} of 32",
        legend=SECTORS_LEGEND,
        labels=SECTOR_LABELS,
        key="columns: lanes, cells: the row's sectors, numbered by address",
    )


def sectors_to_lanes(accesses: Accesses) -> AccessView:
    """Return the sectors of each instruction across, in address order, who comes in a cell.

    Example:
        >>> wide = Accesses.of(8 * np.arange(32), space="global", op="ld", bytes=4)
        >>> sectors_to_lanes(wide).text[0, 6:10].tolist()
        ['4×', '4×', '', '']
    """
    sector, ordinal, used = _sectors(accesses)
    shape = sector.shape
    instruction = np.arange(accesses.executions)
    cell = (instruction[:, None] * LANES + ordinal)[accesses.active]
    lane = np.broadcast_to(np.arange(LANES), shape)[accesses.active]
    met = _meetings(cell, lane, used[accesses.active], shape)
    number = np.zeros(shape[0] * LANES, dtype=np.int64)
    number[cell] = sector[accesses.active]
    fields = np.stack(
        [
            number.reshape(shape),
            np.broadcast_to(instruction[:, None], shape),
            met.lanes,
            met.first,
            met.cost,
        ],
        axis=2,
    )
    one, many = met.first.astype(str), np.char.add(met.lanes.astype(str), "×")
    text = np.where(met.lanes == 0, "", np.where(met.lanes == 1, one, many))
    return AccessView(
        classes=_waste_classes(met.cost),
        text=text,
        instruction=instruction,
        lane=met.first,
        fields=fields,
        hover="<b>sector %{customdata[0]}, register %{customdata[1]}</b><br>"
        "lanes that use it: %{customdata[2]}, first lane %{customdata[3]}<br>"
        "bytes used: %{customdata[4]} of 32",
        legend=SECTORS_LEGEND,
        labels=SECTOR_LABELS,
        key="columns: the row's sectors by address, cells: the lane, or how many",
    )


@dataclass(frozen=True, eq=False)
class _Met:
    lanes: NDArray[np.int64]
    first: NDArray[np.int64]
    cost: NDArray[np.int64]
    text: NDArray[np.str_]


def _meetings(
    cell: NDArray[np.int64],
    lane: NDArray[np.int64],
    cost_of: NDArray[np.int64],
    shape: tuple[int, ...],
) -> _Met:
    """Gather the lanes that come in each cell: how many, the first, and the cost they share."""
    size = int(np.prod(shape))
    lanes = np.bincount(cell, minlength=size)
    first = np.full(size, LANES)
    np.minimum.at(first, cell, lane)
    first[lanes == 0] = -1
    cost = np.zeros(size, dtype=np.int64)
    cost[cell] = cost_of
    # Several lanes in one pass want the same word; the plus says that the lane is not alone.
    alone = np.where(lanes > 1, np.char.add(first.astype(str), "+"), first.astype(str))
    text = np.where(cost > 1, np.char.add(cost.astype(str), "×"), alone)
    return _Met(
        lanes.reshape(shape),
        first.reshape(shape),
        cost.reshape(shape),
        np.where(lanes == 0, "", text).reshape(shape),
    )


def _sectors(
    accesses: Accesses,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return, per instruction and lane, the sector, its rank in the row, and its bytes in use."""
    sector = accesses.addresses // SECTOR_BYTES
    both = accesses.active[:, :, None] & accesses.active[:, None, :]
    same_address = both & (accesses.addresses[:, :, None] == accesses.addresses[:, None, :])
    first = accesses.active & ~np.tril(same_address, -1).any(axis=2)
    same_sector = both & (sector[:, :, None] == sector[:, None, :])
    used = (same_sector & first[:, None, :]).sum(axis=2) * accesses.bytes
    # A sector's first lane stands for it; the rank counts those standing for lower sectors.
    leads = accesses.active & ~np.tril(same_sector, -1).any(axis=2)
    lower = both & (sector[:, None, :] < sector[:, :, None]) & leads[:, None, :]
    return sector, lower.sum(axis=2), np.where(accesses.active, used, 0)


def _waste_classes(used: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the class of a sector by the bytes used of it; idle where none is."""
    times = -(-SECTOR_BYTES // np.maximum(used, 1))
    return pass_classes(np.where(used > 0, times, 0))
