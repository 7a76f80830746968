import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileviz.memory import Accesses, judge
from tileviz.runners.gpu.patterns import (
    INACTIVE,
    WAYS,
    CycleStudy,
    compacted,
    free_pattern,
    strided,
)

WIDTHS = st.sampled_from([1, 2, 4, 8, 16])


@st.composite
def shared(draw):
    width = draw(WIDTHS)
    count = draw(st.integers(1, 4))
    limit = draw(st.sampled_from([256, 4096, 227 << 10]))
    seed = draw(st.integers(0, 2**32))
    random = np.random.default_rng(seed)
    addresses = width * random.integers(0, limit // width, (count, 32))
    active = random.random((count, 32)) < draw(st.sampled_from([0.1, 0.9, 1.0]))
    active[:, 0] = True
    op = draw(st.sampled_from(["ld", "st"]))
    return Accesses.of(addresses, active=active, space="shared", op=op, bytes=width, line=3)


def rebuilt(accesses):
    offsets = compacted(accesses)
    return Accesses.of(
        offsets.astype(np.int64),
        active=offsets != INACTIVE,
        space="shared",
        op=accesses.op,
        bytes=accesses.bytes,
    )


@given(shared())
def test_a_compacted_pattern_costs_the_same_and_fits_the_probe(accesses):
    small = rebuilt(accesses)
    assert judge(small).wavefronts == judge(accesses).wavefronts
    assert judge(small).ideal == judge(accesses).ideal
    assert int(small.addresses[small.active].max()) + accesses.bytes <= 4096 * 4
    assert (small.active == accesses.active).all()


@given(shared())
def test_equal_words_stay_equal_and_different_ones_different(accesses):
    small = rebuilt(accesses)
    for before, after, active in zip(
        accesses.addresses, small.addresses, accesses.active, strict=True
    ):
        lanes = [lane for lane in range(32) if active[lane]]
        for one in lanes:
            assert before[one] % 128 == after[one] % 128
            for other in lanes:
                assert (before[one] == before[other]) == (after[one] == after[other])


@pytest.mark.parametrize("ways", WAYS)
def test_calibration_strides_have_the_conflicts_they_are_named_for(ways):
    offsets = np.array(strided(ways, "ld").offsets)
    assert judge(Accesses.of(offsets, space="shared", op="ld", bytes=4)).wavefronts == ways


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_the_free_pattern_is_free(width):
    offsets = np.array(free_pattern("ld", width).offsets)
    verdict = judge(Accesses.of(offsets, space="shared", op="ld", bytes=width))
    assert verdict.wavefronts == verdict.ideal


def simulated(study):
    """Cycles that are exactly the wavefronts, for every pattern of a study."""
    found = []
    for pattern in study.patterns:
        offsets = np.array(pattern.offsets)
        accesses = Accesses.of(
            offsets,
            active=offsets != INACTIVE,
            space="shared",
            op=pattern.op,
            bytes=pattern.bytes,
        )
        found.append(float(judge(accesses).wavefronts))
    return found


@given(st.lists(shared(), max_size=2))
def test_a_lines_cycles_are_the_mean_over_its_patterns(many):
    study = CycleStudy(many)
    assert study.needed == bool(many) and len(study.patterns) <= 64
    cycles = simulated(study)
    for row in study.rows(cycles):
        assert row.line == 3 and row.cycles == pytest.approx(row.wavefronts)
        assert (
            row.free_cycles
            == simulated(study)[study.patterns.index(free_pattern(row.op, row.bytes))]
        )
    assert study.calibration(cycles) == {op: tuple(map(float, WAYS)) for op in ("ld", "st")}


def test_global_accesses_and_other_operations_are_left_out():
    lanes = 4 * np.arange(32)
    away = Accesses.of(lanes, space="global", op="ld", bytes=4)
    atomic = Accesses.of(lanes, space="shared", op="atom", bytes=4)
    assert not CycleStudy([away, atomic]).needed


def test_the_most_common_patterns_stand_for_a_line_of_many():
    rows = np.arange(40)[:, None] * 4 + 128 * np.arange(32)[None, :]
    addresses = np.concatenate([np.tile(4 * np.arange(32), (100, 1)), rows % (32 << 7)])
    study = CycleStudy([Accesses.of(addresses, space="shared", op="ld", bytes=4, line=1)])
    (row,) = study.rows(simulated(study))
    assert row.cycles < row.wavefronts  # the common one is free, most rare ones are left out


def test_every_lane_takes_part_in_ldmatrix():
    lanes = np.arange(32)
    accesses = Accesses.of(
        512 + 16 * lanes, active=lanes < 8, space="shared", op="ldmatrix.x1", bytes=16
    )
    offsets = compacted(accesses)
    assert (offsets != INACTIVE).all() and (offsets[0, 8:] == offsets[0, 0]).all()
    study = CycleStudy([accesses])
    assert {p.probe for p in study.patterns} >= {"probe_ldmatrix_x1", "probe_ld_4", "probe_st_4"}
