"""Every view against a plain reference that walks lane by lane."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tileviz.figures.access_views import (
    AccessView,
    banks_to_lanes,
    lanes_to_banks,
    lanes_to_sectors,
    sectors_to_lanes,
)
from tileviz.figures.tokens import IDLE, pass_classes
from tileviz.memory import Accesses, Space, shared_wavefronts


@st.composite
def _accesses(draw: st.DrawFn, space: Space) -> Accesses:
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    op = draw(st.sampled_from(["ld", "st"]))
    rows = draw(st.integers(1, 3))
    units = draw(
        st.lists(
            st.lists(st.integers(0, 300), min_size=32, max_size=32), min_size=rows, max_size=rows
        )
    )
    active = draw(
        st.lists(st.lists(st.booleans(), min_size=32, max_size=32), min_size=rows, max_size=rows)
    )
    return Accesses.of(
        np.array(units) * width, active=np.array(active), space=space, op=op, bytes=width
    )


def _by_row(view: AccessView) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = defaultdict(list)
    for row, instruction in enumerate(view.instruction.tolist()):
        rows[instruction].append(row)
    return rows


@given(_accesses("shared"))
def test_banks_of_lanes(accesses: Accesses) -> None:
    view = lanes_to_banks(accesses)
    for i in range(accesses.executions):
        for lane in range(32):
            idle = not accesses.active[i, lane]
            assert (view.classes[i, lane] == IDLE) == idle
            assert view.lane[i, lane] == (-1 if idle else lane)
            if not idle:
                assert int(view.text[i, lane]) == accesses.addresses[i, lane] // 4 % 32


@given(_accesses("shared"))
def test_lanes_of_banks_add_up_to_the_wavefronts(accesses: Accesses) -> None:
    view = banks_to_lanes(accesses)
    wavefronts = shared_wavefronts(accesses).wavefronts.tolist()
    for i, rows in _by_row(view).items():
        assert sum(int(view.fields[row, :, 4].max()) for row in rows) == wavefronts[i]


@given(_accesses("shared"))
def test_every_lane_comes_to_the_banks_of_its_words(accesses: Accesses) -> None:
    view = banks_to_lanes(accesses)
    rows_of = _by_row(view)
    words = max(accesses.bytes // 4, 1)
    for i in range(accesses.executions):
        size = 32 // len(rows_of[i])
        met: dict[tuple[int, int], list[int]] = defaultdict(list)
        for lane in range(32):
            if accesses.active[i, lane]:
                first = int(accesses.addresses[i, lane]) // 4
                for bank in {(first + step) % 32 for step in range(words)}:
                    met[rows_of[i][lane // size], bank].append(lane)
        for row in rows_of[i]:
            for bank in range(32):
                lanes = met[row, bank]
                assert view.fields[row, bank, 2] == len(lanes)
                assert view.lane[row, bank] == (lanes[0] if lanes else -1)
                assert (view.text[row, bank] == "") == (not lanes)


@given(_accesses("global"))
def test_sectors_of_lanes(accesses: Accesses) -> None:
    view, turned = lanes_to_sectors(accesses), sectors_to_lanes(accesses)
    for i in range(accesses.executions):
        bytes_of: dict[int, set[int]] = defaultdict(set)
        lanes_of: dict[int, list[int]] = defaultdict(list)
        for lane in range(32):
            if accesses.active[i, lane]:
                address = int(accesses.addresses[i, lane])
                bytes_of[address // 32] |= set(range(address, address + accesses.bytes))
                lanes_of[address // 32].append(lane)
        order = sorted(bytes_of)
        for rank, sector in enumerate(order):
            wanted = int(pass_classes(np.array([-(-32 // len(bytes_of[sector]))]))[0])
            for lane in lanes_of[sector]:
                assert view.text[i, lane] == str(rank)
                assert view.classes[i, lane] == wanted
            assert turned.classes[i, rank] == wanted
            assert turned.lane[i, rank] == lanes_of[sector][0]
            assert turned.fields[i, rank, 2] == len(lanes_of[sector])
        assert (turned.classes[i, len(order) :] == IDLE).all()


def test_row_labels_name_the_group_only_where_there_are_several() -> None:
    double = Accesses.of(8 * np.arange(64).reshape(2, 32), space="shared", op="st", bytes=8)
    assert banks_to_lanes(double).rows == ("r0a", "r0b", "r1a", "r1b")
    assert lanes_to_banks(double).rows == ("r0", "r1")
    assert "first bank" in lanes_to_banks(double).key


def test_lanes_that_share_a_word_are_marked_not_counted_as_a_conflict() -> None:
    halves = Accesses.of(2 * np.arange(32), space="shared", op="ld", bytes=2)
    view = banks_to_lanes(halves)
    assert view.text[0, :3].tolist() == ["0+", "2+", "4+"]
    assert view.classes[0, 0] == 0
