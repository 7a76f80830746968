"""What is kept of a run, execution by execution, and the sentence that names the worst line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tileviz import api
from tileviz.emulator.problems import Problem
from tileviz.memory import Accesses, judge
from tileviz.runners.compare import compare
from tileviz.runners.executions import MAX_KEPT, MAX_STOPS, kept, place
from tileviz.runners.line_words import own_statement, problem_words, worst_row
from tileviz.runners.results import Run
from tileviz.studies.registry import preset

LANE = np.arange(32)


def _accesses(strides: list[int], *, line: int = 9, space: str = "shared", **more) -> Accesses:
    addresses = np.array(strides)[:, None] * LANE
    made = Accesses.of(addresses, space=space, op="ld", bytes=4, line=line)
    return replace(made, **more)


def _run(name: str) -> Run:
    found = preset(name)
    assert found is not None
    return api.run(found.design, on="emulator")[1]


def test_few_executions_are_kept_whole_and_in_order() -> None:
    accesses = _accesses([4, 8, 128], warps=np.array([7, 3, 7]))
    (sample,) = kept(compare([], [accesses]), [accesses])
    assert sample is not None
    assert sample.number.tolist() == [0, 1, 2]
    assert sample.warp.tolist() == [7, 3, 7] and sample.instance.tolist() == [0, 0, 1]
    assert sample.cost.tolist() == [1, 2, 32] and sample.ideal.tolist() == [1, 1, 1]
    assert (sample.worst, sample.n_way, sample.total) == (2, 32, 3)
    for stop in range(3):
        assert np.array_equal(sample.accesses(stop).addresses[0], accesses.addresses[stop])


def test_many_executions_are_sampled_evenly_and_the_worst_is_among_them() -> None:
    strides = [4] * 50_000
    strides[12_345] = 64
    accesses = _accesses(strides, warps=np.arange(50_000))
    (sample,) = kept(compare([], [accesses]), [accesses])
    assert sample is not None and sample.stops <= MAX_STOPS
    assert sample.number[[0, -1]].tolist() == [0, 49_999]
    assert sample.number[sample.worst] == 12_345 and sample.n_way == 16
    assert int(np.diff(sample.number).max()) <= 50_000 // (MAX_STOPS - 3)
    assert sample.addresses.dtype == np.int32


def test_all_rows_together_keep_a_bounded_number() -> None:
    many = [_accesses([4] * 400, line=line, warps=np.arange(400)) for line in range(1, 601)]
    many[500] = _accesses([128] * 400, line=501, warps=np.arange(400))
    samples = kept(compare([], many), many)
    assert sum(sample.stops for sample in samples if sample) <= MAX_KEPT
    # Rows without room have no picture; those that pay most have one.
    assert samples[500] is not None and None in samples


def test_buffers_of_one_line_are_told_apart() -> None:
    x = _accesses([4, 4], space="global", buffer="x", warps=np.array([0, 1]))
    y = _accesses([64], space="global", buffer="y", warps=np.array([0]))
    (sample,) = kept(compare([], [x, y]), [x, y])
    assert sample is not None
    assert sample.buffers == ("x", "x", "y")
    assert (sample.worst, sample.used, sample.n_way) == (2, 128, 0)
    assert judge(sample.accesses(2)).sectors == 32


def test_large_addresses_and_an_unknown_line_are_kept() -> None:
    far = Accesses.of((1 << 40) + 4 * LANE, space="global", op="st", bytes=4)
    (sample,) = kept(compare([], [far]), [far])
    assert sample is not None and sample.addresses.dtype == np.int64
    assert int(sample.addresses[0, 1]) == (1 << 40) + 4


@pytest.mark.parametrize(
    ("warp", "block", "in_block"),
    [(0, (0, 0, 0), 0), (2, (1, 0, 0), 0), (7, (0, 1, 0), 1), (12, (0, 0, 1), 0)],
)
def test_a_warp_has_a_place(warp: int, block: tuple[int, int, int], in_block: int) -> None:
    found = place(warp, (3, 2, 2), (40, 1, 1))
    assert (found.block, found.warp) == (block, in_block)


def test_an_emulated_transpose_names_its_line_and_its_warps() -> None:
    run = _run("kernel-transpose")
    samples = kept(run.accesses, run.measured)
    said = own_statement(run.accesses, run.problems, samples)
    assert said.state == "attention"
    assert said.sentence == "Line 12: 32 wavefronts where 1 is ideal: 32 lanes meet in one bank."
    worst = worst_row(run.accesses)
    assert worst is not None and run.accesses[worst].op == "ld"
    sample = samples[worst]
    # Four blocks of eight warps, each of which reads four columns.
    assert sample is not None and sample.total == 128
    assert np.bincount(sample.warp).tolist() == [4] * 32
    assert sorted(set(sample.instance.tolist())) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "state", "sentence"),
    [
        ("kernel-transpose-padded", "ok", "Nothing is paid above the ideal."),
        (
            "kernel-transpose-global",
            "attention",
            "Line 6: 32 sectors where 4 are ideal: 128 of the 1,024 bytes that move are used.",
        ),
        (
            "kernel-reduction",
            "attention",
            "Line 10: up to 8 wavefronts where 1 is ideal: 8 lanes meet in one bank.",
        ),
        ("kernel-race", "error", "Line 6: race on 4-byte shared load."),
        ("kernel-out-of-bounds", "error", "Line 4: out-of-bounds 4-byte global load."),
    ],
)
def test_presets_show_what_they_promise(name: str, state: str, sentence: str) -> None:
    run = _run(name)
    said = own_statement(run.accesses, run.problems, kept(run.accesses, run.measured))
    assert (said.state, said.sentence) == (state, sentence)


def test_the_others_above_ideal_are_named_and_totals_given() -> None:
    many = [_accesses([128], line=2), _accesses([16, 4], line=5), _accesses([8], line=7)]
    rows = compare([], many)
    said = own_statement(rows, [], kept(rows, many))
    assert said.sentence.startswith("Line 2: 32 wavefronts")
    assert "line 5 (ld.shared, 3 excess), line 7 (ld.shared, 1 excess)." in said.facts
    assert said.facts.endswith("In all 39 wavefronts, ideal 4.")


def test_problems_are_sentences_with_their_line() -> None:
    limit = Problem("limit", "stopped: more than 60 seconds")
    assert own_statement([], [limit], []).state == "error"
    counted = _accesses([4])
    rows = compare([], [counted])
    assert own_statement(rows, [limit], kept(rows, [counted])).state == "attention"
    assert problem_words(limit)[0] == "Stopped: more than 60 seconds."
    compile_fault = Problem("compile", 'line 3: expected a ";"', 3)
    assert problem_words(compile_fault)[0] == 'Does not compile, line 3: expected a ";".'
    two = own_statement([], [compile_fault, compile_fault], [])
    assert two.state == "error" and two.facts == "1 more below."
    assert own_statement([], [], []).sentence == "No memory access was traced."
