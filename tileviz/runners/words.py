"""What a run says, in words for people: the same for pages, terminal, reports, recorded runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tileviz.runners.line_words import json_words, run_words
from tileviz.studies.statement import State, Statement
from tileviz.words import counted

if TYPE_CHECKING:
    from tileviz.cuda.kernel import Kernel
    from tileviz.runners.compare import AccessRow
    from tileviz.runners.results import Run

_US = "µs"


def run_statement(run: Run) -> Statement:
    """Return the verdict on correctness: every output element, then prediction against count.

    Of a user's own kernel, which has neither reference nor prediction, what its lines cost.
    """
    own = run.study == "kernel" and not run.verified and run.mismatch is None
    return run_words(run) if own else statement_of(run.to_json())


def statement_of(run: Mapping[str, Any]) -> Statement:
    """Return the verdict on a ``run`` object: live, kept or recorded.

    Example:
        >>> done = {"verified": True, "accesses": [], "outputs": {"y": {"count": 32}}}
        >>> statement_of(done).sentence
        'Output correct, 32 of 32 elements.'
        >>> statement_of({**done, "part": "runs the first 32 of 64 elements"}).sentence
        'Output correct, runs the first 32 of 64 elements.'
    """
    problems, wrong = run.get("problems") or [], run.get("mismatch")
    if run.get("study") == "kernel" and not run["verified"] and not wrong:
        return json_words(run)
    if problems:
        return _problem(problems)
    total = sum(output["count"] for output in (run.get("outputs") or {}).values())
    if wrong:
        at = ", ".join(map(str, wrong["index"]))
        sentence = f"Output wrong: {wrong['count']:,} of {total:,} elements differ."
        facts = f"First: {wrong['buffer']}[{at}] is {wrong['got']}, should be {wrong['want']}."
        return Statement("error", sentence, facts)
    rows = run.get("accesses") or []
    differ = [row for row in rows if row["predicted"] and row["predicted"] != row["measured"]]
    facts = "Emulated counts equal the prediction."
    state: State = "ok"
    if differ:
        lines = ", ".join(dict.fromkeys(str(row["line"]) for row in differ))
        facts = f"Counts differ from the prediction on line {lines}; the notes say why."
        state = "attention"
    unforeseen = sum(row["predicted"] is None for row in rows)
    if not rows and run.get("traced_blocks") == []:
        facts = "No access was counted."
    elif unforeseen and unforeseen == len(rows):
        facts = f"Nothing was predicted; {unforeseen} access{'es' * (unforeseen != 1)} counted."
    elif unforeseen:
        facts += f" {unforeseen} access{'es' * (unforeseen != 1)} had no prediction."
    caution = str(run.get("caution") or "")
    if caution:
        facts, state = f"{caution} {facts}", "attention"
    if run["verified"] is None:
        return Statement("attention", "Ran without a fault; no reference to check against.", facts)
    counted_in = traced_words(run) if rows else ""
    facts = " ".join(filter(None, [facts, f"Counted in {counted_in}." if counted_in else ""]))
    correct = run.get("part") or f"{total:,} of {total:,} elements"
    found = "equals the reference" if caution else "correct"
    return Statement(state, f"Output {found}, {correct}.", facts)


def traced_words(run: Mapping[str, Any]) -> str:
    """Return in which blocks of a ``run`` object accesses were counted, "" for all of them.

    Example:
        >>> traced_words({"traced_blocks": [[0, 0, 0], [7, 0, 0]], "blocks": 2559})
        '2 of 2,559 blocks'
    """
    blocks, launched = run.get("traced_blocks"), run.get("blocks")
    if not isinstance(blocks, list):
        return ""
    traced = run.get("blocks_traced") or len(blocks)
    return f"{traced:,} of {launched:,} blocks" if launched else counted(traced, "block")


def _problem(problems: list[Mapping[str, Any]]) -> Statement:
    first, more = problems[0], len(problems) - 1
    where = f", line {first['line']}" if first["line"] else ""
    kind = str(first["kind"]).replace("_", " ").capitalize()
    return Statement("error", f"{kind}{where}.", f"{more} more below." if more else "")


def named_accesses(rows: Sequence[AccessRow], kernel: Kernel | None) -> tuple[AccessRow, ...]:
    """Return accesses of a run, each by its own text where the kernel's prediction has one."""
    predicted = () if kernel is None else kernel.predicted
    texts = {(part.line, str(part.space), part.op): part.text for part in predicted}
    return tuple(
        replace(row, text=texts.get((row.line, row.space, row.op)) or row.text) for row in rows
    )


def gpu_lines(run: Mapping[str, Any]) -> list[str]:
    """Return the lines about a run's time and counts; none for a run that was not on a GPU.

    No figure is given that does not stand out from the floor of a launch; the line says so instead.

    Args:
        run: A ``run`` object, live or recorded.

    Example:
        >>> gpu_lines({"note": "run on the emulator, not the GPU: busy", "gpu": None})
        ['Run on the emulator, not the GPU: busy.']
    """
    note = str(run.get("note") or "")
    lines = [f"{note[0].upper()}{note[1:].rstrip('.')}."] if note else []
    gpu = run.get("gpu")
    if not gpu:
        return lines
    lines += [timing_line(timing) for timing in gpu["timings"]]
    lines += filter(None, [_rate(gpu), _cycles(gpu), _counters(gpu), _clock(gpu), _checked(gpu)])
    return lines


def timing_line(timing: Mapping[str, Any]) -> str:
    """Return one series of times as a sentence.

    Example:
        >>> timing_line({"median_us": 41.25, "p10_us": 40.0, "p90_us": 43.0, "n": 120,
        ...     "noisy": False, "mode": "cold", "floor_us": 2, "launches": 1, "resolved": True})
        'Cold cache: 41.2 µs median, 40.0 to 43.0 (10th to 90th percentile, 120 launches).'
    """
    how = f"{str(timing['mode']).capitalize()} cache"
    if timing["launches"] > 1:
        how += f", {timing['launches']} launches back to back"
    floor = timing["floor_us"]
    if not timing["resolved"]:
        empty = "" if floor is None else f": an empty kernel takes {_shown(floor)} {_US}"
        return f"{how}: too short to time{empty}."
    line = (
        f"{how}: {_shown(timing['median_us'])} {_US} median, {_shown(timing['p10_us'])} to "
        f"{_shown(timing['p90_us'])} (10th to 90th percentile, {timing['n']} launches)"
    )
    return f"{line}; noisy." if timing["noisy"] else f"{line}."


def _rate(gpu: Mapping[str, Any]) -> str:
    rate, ceiling = gpu["bytes_per_s"], gpu["ceiling_bytes_per_s"]
    if not rate or not ceiling:
        return ""
    line = (
        f"{_bytes(rate)}/s of its {gpu['moved_bytes']:,} bytes, {100 * rate / ceiling:.0f} % of "
        f"the {_bytes(ceiling)}/s of a large copy in the same run"
    )
    if gpu["copy_us"]:
        line += f"; a copy of as many bytes takes {_shown(gpu['copy_us'])} {_US}"
    return f"{line}."


def _cycles(gpu: Mapping[str, Any]) -> str:
    parts = [
        f"line {row['line']} {row['op']} {row['cycles']:.1f} ({row['free_cycles']:.1f} free of "
        "conflicts)"
        for row in gpu["cycles"]
    ]
    return f"Cycles of a shared access: {', '.join(parts)}." if parts else ""


def _counters(gpu: Mapping[str, Any]) -> str:
    counted = gpu["counters"]
    if not counted:
        note = gpu["counters_note"]
        return f"{note[0].upper()}{note[1:]}." if note else ""
    names = {
        "shared_wavefronts": "shared wavefronts",
        "shared_ideal": "ideal",
        "global_sectors": "global sectors",
        "global_ideal": "ideal",
    }
    parts = [f"{counted[key]:,} {word}" for key, word in names.items() if counted[key] is not None]
    return f"Counted by the hardware: {', '.join(parts)}."


def _clock(gpu: Mapping[str, Any]) -> str:
    clocks = gpu["clocks_mhz"]
    if not clocks:
        return ""
    return f"Clock before and after: {' and '.join(f'{mhz:.0f}' for mhz in clocks)} MHz."


def _checked(gpu: Mapping[str, Any]) -> str:
    text = gpu["checked"]
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text.startswith("not ") else ""


def _shown(microseconds: float) -> str:
    return f"{microseconds:.1f}" if microseconds < 1000 else f"{microseconds:.0f}"


def _bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count:.0f} B"
