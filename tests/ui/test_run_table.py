"""The result table and its verdict: counts side by side, nothing invented."""

from __future__ import annotations

import json

from tileviz.cuda.diagnostics import Resources
from tileviz.emulator.problems import Problem
from tileviz.runners import AccessRow, Mismatch, OutputSummary, Run, RunnerInfo, Timing, Totals
from tileviz.runners.gpu.device import Facts
from tileviz.runners.gpu.patterns import CycleRow
from tileviz.runners.gpu.report import GpuReport
from tileviz.runners.words import run_statement
from tileviz.ui.run_table import RunView, run_table

READ = AccessRow(14, "shared", "ld", 4, 8, Totals(8, 8, None), Totals(8, 8, None), text="a[i]")
MERGED = AccessRow(
    20,
    "shared",
    "st",
    16,
    2,
    Totals(8, 8, None),
    Totals(12, 8, None),
    text="b[<i>]",
    note="compiler merged 4 x 4-byte stores",
)
COPY = AccessRow(8, "global", "ld", 4, 8, Totals(None, 32, 32), Totals(None, 32, 32), text="src[i]")
NOTE = ("no GPU here", "timing needs one")


def _run(*rows: AccessRow, **changes: object) -> Run:
    fields: dict[str, object] = {
        "runner": RunnerInfo("emulator", "PTX emulator", "compute_80"),
        "verified": True,
        "mismatch": None,
        "accesses": rows,
        "problems": (),
        "traced_blocks": None,
        "outputs": {"dst": OutputSummary("float32", 256, "00")},
        "study": "access",
    }
    return Run(**{**fields, **changes})


def test_a_right_run_is_said_in_one_sentence() -> None:
    said = run_statement(_run(READ))
    assert said.state == "ok"
    assert said.sentence == "Output correct, 256 of 256 elements."
    assert said.facts == "Emulated counts equal the prediction."


def test_a_difference_asks_for_attention_and_has_its_note() -> None:
    run = _run(READ, MERGED)
    said = run_statement(run)
    assert said.state == "attention"
    assert "line 20" in said.facts
    table = run_table(RunView.of(run), NOTE)
    assert '<span class="above">+4</span>' in table
    assert "Line 20: compiler merged 4 x 4-byte stores." in table


def test_an_access_without_a_prediction_is_named() -> None:
    table_read = AccessRow(47, "global", "ld", 1, 6, None, Totals(None, 6, 6))
    assert "1 access had no prediction." in run_statement(_run(READ, table_read)).facts


def test_a_wrong_output_names_the_first_element() -> None:
    wrong = Mismatch("dst", (3, 1), want=5.0, got=7.0, count=9)
    said = run_statement(_run(READ, verified=False, mismatch=wrong))
    assert said.state == "error"
    assert said.sentence == "Output wrong: 9 of 256 elements differ."
    assert "dst[3, 1] is 7.0, should be 5.0" in said.facts


def test_a_problem_comes_before_everything_else() -> None:
    race = Problem("race", "race on tile: block (0,0,0), line 26", line=26)
    run = _run(READ, verified=False, problems=(race,))
    said = run_statement(run)
    assert (said.state, said.sentence) == ("error", "Race, line 26.")
    assert "race on tile" in run_table(RunView.of(run), NOTE)


def test_a_run_without_a_reference_claims_nothing() -> None:
    assert run_statement(_run(READ, verified=None)).state == "attention"


def test_a_group_without_data_is_one_cell_that_says_why() -> None:
    table = run_table(RunView.of(_run(READ, COPY)), NOTE)
    assert table.count('class="group hatched"') == 1
    assert 'rowspan="3"' in table  # Two rows, and the line that names the other unit.
    assert "no GPU here<br>timing needs one" in table
    assert "sectors" in table


def test_a_gpu_run_fills_its_own_group() -> None:
    run = _run(
        READ,
        runner=RunnerInfo("gpu", "a GPU", "sm_90"),
        timing=Timing(12.34, 12.0, 13.0, 100, "warm"),
        resources=Resources(16, 2048, 0),
    )
    table = run_table(RunView.of(run), NOTE)
    assert "12.3 µs" in table
    assert "hatched" not in table  # the counts beside it are the emulator's, made before the launch


def test_source_text_is_escaped() -> None:
    assert "b[&lt;i&gt;]" in run_table(RunView.of(_run(MERGED)), NOTE)


def test_a_view_made_of_a_file_is_the_same() -> None:
    run = _run(READ, MERGED, COPY)
    kept = json.loads(json.dumps(run.to_json()))
    assert RunView.of_json(kept) == RunView.of(run)


def test_what_a_page_keeps_of_a_run_is_small() -> None:
    kept = vars(RunView.of(_run(READ)))
    assert "arrays" not in kept
    assert "measured" not in kept


def test_a_gpu_run_shows_cycles_and_what_was_measured() -> None:
    facts = Facts("A GPU", (9, 0), 13000, 1 << 30, 1, 0, 0, 0.0, False, "PyCUDA")
    short = Timing(3.0, 2.9, 3.1, 100, "cold", floor_us=2.5, resolved=False)
    report = GpuReport(facts, (short,), cycles=(CycleRow(14, "ld", 4, 1.0, 1.0, 7.25, 1.5),))
    run = _run(READ, COPY, runner=RunnerInfo("gpu", "A GPU", "sm_90"), timing=short, gpu=report)
    table = run_table(RunView.of(run), NOTE)
    assert '<td class="num group">7.2</td>' in table
    assert "3.0 µs" not in table  # a time at the floor of a launch is not shown
    assert "Cold cache: too short to time" in table


def test_a_run_that_went_elsewhere_says_so() -> None:
    table = run_table(RunView.of(_run(READ, note="run on the emulator, not the GPU: busy")), NOTE)
    assert "Run on the emulator, not the GPU: busy." in table
