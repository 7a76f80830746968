import numpy as np

from tileviz.emulator.emulation import StaticAccess
from tileviz.memory import Accesses
from tileviz.runners.compare import Totals, compare

LANES = np.arange(32)


def accesses(addresses, *, op="ld", bytes=4, line=3, space="shared", repeat=1, **more):
    grid = np.tile(addresses, (repeat, 1))  # a stack of instructions, or one repeated
    return Accesses.of(grid, space=space, op=op, bytes=bytes, line=line, **more)


def test_the_same_accesses_agree_without_a_note():
    rows = compare([accesses(4 * LANES)], [accesses(4 * LANES)])
    assert len(rows) == 1 and rows[0].note == ""
    assert rows[0].predicted == rows[0].measured == Totals(1, 1, None)


def test_global_accesses_are_counted_in_sectors():
    (row,) = compare([], [accesses(128 * LANES, space="global", repeat=3)])
    assert row.measured == Totals(None, 3 * 4, 3 * 32)
    assert row.predicted is None and row.executions == 3 and row.note == ""


def test_several_instructions_of_a_line_are_one_row():
    parts = [accesses(4 * LANES, buffer="a"), accesses(8 * LANES, buffer="b")]
    (row,) = compare([], parts)
    assert row.executions == 2 and row.measured.wavefronts == 3 and row.buffer == "a, b"


def test_loads_and_stores_and_lines_stay_apart():
    rows = compare(
        [],
        [
            accesses(4 * LANES, line=9),
            accesses(4 * LANES, line=2, op="st"),
            accesses(4 * LANES, line=2),
            accesses(4 * LANES, line=2, space="global"),
            accesses(8 * LANES, line=2, bytes=8),
        ],
    )
    keys = [(row.line, row.space, row.op, row.bytes) for row in rows]
    assert keys == [
        (2, "global", "ld", 4),
        (2, "shared", "ld", 4),
        (2, "shared", "ld", 8),
        (2, "shared", "st", 4),
        (9, "shared", "ld", 4),
    ]


def test_merged_stores_are_explained():
    """Four 4-byte stores with a stride of 16 conflict; the merged 16-byte store does not."""
    predicted = [accesses(16 * LANES + 4 * k, op="st") for k in range(4)]
    measured = [accesses(16 * LANES, op="st", bytes=16)]
    static = [StaticAccess(3, "shared", "st", 16, 1), StaticAccess(4, "shared", "st", 16, 7)]
    (row,) = compare(predicted, measured, static)
    assert row.note == "compiler merged 4 x 4-byte stores into 1 x 16-byte (1 in the PTX)"
    assert row.predicted == Totals(16, 4, None) and row.measured == Totals(4, 4, None)


def test_split_loads_are_explained():
    predicted = [accesses(16 * LANES, bytes=16)]
    measured = [accesses(16 * LANES + 4 * k) for k in range(4)]
    (row,) = compare(predicted, measured)
    assert row.note == "compiler split 1 x 16-byte load into 4 x 4-byte"


def test_a_prediction_of_one_block_is_scaled_to_the_traced_ones():
    (row,) = compare([accesses(8 * LANES)], [accesses(8 * LANES, repeat=5)])
    assert row.predicted == row.measured == Totals(10, 5, None)
    assert row.note == "predicted for one of 5 equal parts"


def test_a_prediction_of_the_whole_grid_is_cut_to_the_traced_blocks():
    (row,) = compare([accesses(8 * LANES, repeat=6)], [accesses(8 * LANES, repeat=2)])
    assert row.predicted == row.measured == Totals(4, 2, None)
    assert row.note == "one of 3 parts of the prediction was traced"


def test_work_that_does_not_divide_is_said():
    (row,) = compare([accesses(4 * LANES, repeat=2)], [accesses(4 * LANES, repeat=3)])
    assert row.note == "384 bytes moved, 256 predicted"


def test_other_addresses_are_said():
    (row,) = compare([accesses(4 * LANES)], [accesses(8 * LANES)])
    assert row.predicted == Totals(1, 1, None) and row.measured == Totals(2, 1, None)
    assert row.note == "measured addresses differ from the prediction"


def test_the_same_addresses_in_other_instructions_are_said():
    """As when a compiler peels the remainder of a loop for some lanes only."""
    late = np.where(LANES < 31, 4 * (LANES + 32), 4 * LANES)
    rest = np.where(LANES < 31, 4 * LANES, 4 * (LANES + 32))
    predicted = accesses(np.stack([4 * LANES, 4 * (LANES + 32)]), space="global")
    (row,) = compare([predicted], [accesses(np.stack([late, rest]), space="global")])
    assert row.predicted.sectors == 8 and row.measured.sectors == 10
    assert "other lanes execute together" in row.note


def test_a_prediction_that_never_ran_is_kept():
    (row,) = compare([accesses(4 * LANES)], [])
    assert row.executions == 0 and row.predicted.wavefronts == 1
    assert row.measured == Totals(0, 0, None) and "not executed" in row.note


def test_a_prediction_without_a_line_meets_the_only_access_of_its_kind():
    (row,) = compare([accesses(4 * LANES, line=None)], [accesses(4 * LANES, line=7)])
    assert row.line == 7 and row.predicted == row.measured


def test_rows_carry_the_source_text():
    (row,) = compare([], [accesses(4 * LANES)], text=lambda line: f"text of {line}")
    assert row.text == "text of 3" and row.to_json()["text"] == "text of 3"
