"""What is kept of a run, and what may be asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from typing import Any, Literal, get_args

from tileviz.errors import DesignError
from tileviz.runners.results import Run
from tileviz.runners.words import run_statement
from tileviz.studies.design import Design, shown
from tileviz.studies.documents import json_line
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import STUDIES, study_of
from tileviz.studies.statement import Statement

# Of a run object, in characters; longer ones keep their first accesses.
MAX_RUN = 1 << 20
MAX_DESIGN = 1 << 23
MAX_NAME = 120
MAX_NOTE = 4000
MAX_SOUGHT = 400

Outcome = Literal["", "correct", "wrong", "unchecked"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
VERIFIED: dict[Outcome, bool | None] = {"correct": True, "wrong": False, "unchecked": None}

_KEPT_ROWS = 200
_KEPT_BLOCKS = 64
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class KeptRun:
    """A run as it is kept, without the bulk of its run object.

    Attributes:
        at: When, in UTC: ``2026-11-29T23:30:34Z``, or the day alone for a recorded run.
        study: Of the design.
        design: The design document.
        variant: Which of the design's kernels ran, "" for the one it chooses.
        verdict: What the plan says of the design.
        outcome: What the run says of correctness and counts.
        runner: ``emulator`` or ``gpu``.
        device: What it ran on.
        verified: True, False, or None where there is no reference.
        version: Of this program.
        seed: Of the inputs.
        name: Given by a person, or a preset's.
        note: Given by a person.
        id: In the store, None for a recorded run.
        recorded: Device and day of a recorded run, "" for one of this installation.
        key: How links name it.
        run: The run object, where it was asked for.
    """

    at: str
    study: str
    design: Mapping[str, Any]
    variant: str
    verdict: str
    outcome: Statement
    runner: str
    device: str
    verified: bool | None
    version: str
    seed: int
    name: str = ""
    note: str = ""
    id: int | None = None
    recorded: str = ""
    key: str = ""
    run: Mapping[str, Any] | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return one line of an export; ``run`` is None where it was not asked for."""
        return {
            "key": self.key,
            "at": self.at,
            "study": self.study,
            "design": dict(self.design),
            "variant": self.variant,
            "verdict": self.verdict,
            "outcome": dict(vars(self.outcome)),
            "runner": self.runner,
            "device": self.device,
            "verified": self.verified,
            "version": self.version,
            "seed": self.seed,
            "name": self.name,
            "note": self.note,
            "recorded": self.recorded,
            "run": self.run,
        }


def entry_of(
    design: Design, run: Run, *, version: str, seed: int = 0, plan: Any = None, variant: str = ""
) -> KeptRun:
    """Return what is kept of a run that has just ended.

    Args:
        design: What was run.
        run: Its result.
        version: Of this program.
        seed: Of the inputs.
        plan: The design's plan where it is at hand; it is made otherwise.
        variant: Which of the design's kernels ran.

    Raises:
        DesignError: The design's document is too long to keep.
    """
    document = design.document()
    if len(json_line(document)) > MAX_DESIGN:
        raise DesignError("design", f"has over {MAX_DESIGN} characters", None)
    result = run.to_json()
    return KeptRun(
        at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        study=design.study,
        design=document,
        variant=tidy(variant, MAX_NAME),
        verdict=_verdict(design, plan),
        outcome=run_statement(run),
        runner=run.runner.name,
        device=run.runner.device,
        verified=run.verified,
        version=version,
        seed=seed,
        run=fitting(result),
    )


def _verdict(design: Design, plan: Any) -> str:
    study = study_of(design)
    try:
        said: Statement = study.explain.verdict(study.plan(design) if plan is None else plan)
    except (DesignError, NotRunnable):
        return ""
    return said.sentence


def fitting(run: Mapping[str, Any], most: int = MAX_RUN) -> dict[str, Any]:
    """Return a run object that takes at most ``most`` characters; a note says what was left out.

    Example:
        >>> cut = fitting({"accesses": [{"line": n} for n in range(500)], "note": ""}, most=4000)
        >>> len(cut["accesses"]), cut["note"]
        (200, '300 accesses were not kept')
    """
    whole = dict(run)
    if len(json_line(whole)) <= most:
        return whole
    rows, blocks = whole.get("accesses") or [], whole.get("traced_blocks")
    for kept in (_KEPT_ROWS, 0):
        less = {**whole, "accesses": rows[:kept], "problems": whole.get("problems", [])[:kept]}
        if isinstance(blocks, list):
            less["traced_blocks"] = blocks[:_KEPT_BLOCKS]
        left_out = len(rows) - len(less["accesses"])
        said = f"{left_out} accesses were not kept" if left_out else "its record was shortened"
        less["note"] = "; ".join(filter(None, (str(whole.get("note") or ""), said)))
        if len(json_line(less)) <= most:
            return less
    return {**less, "gpu": None, "outputs": {}}


def tidy(text: str, most: int) -> str:
    """Return a person's text without control characters, cut to a length.

    Example:
        >>> tidy("a\\x00b", 10), len(tidy("long" * 99, 120))
        ('ab', 120)
    """
    return _CONTROL.sub("", text)[:most].strip()


def summary(design: Mapping[str, Any], most: int = 160) -> str:
    """Return a design on one short line, its study and CUDA text left out.

    Example:
        >>> summary({"study": "permute", "src": {"layout": "S[32:1]"}, "dst": {"layout": "S[32:2]"},
        ...          "stages": {"count": 2}})
        'src S[32:1], dst S[32:2], stages.count 2'
    """
    parts = []
    for name, value in design.items():
        if name in ("study", "source"):
            continue
        for inner, leaf in value.items() if isinstance(value, Mapping) else [("", value)]:
            dotted = f"{name}.{inner}" if inner and inner != "layout" else name
            parts.append(f"{dotted} {_brief(leaf)}")
    line = ", ".join(parts)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _brief(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        names = [str(item.get("name", "")) for item in value]
        return " ".join(names) if all(names) else f"({len(value)})"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Wanted:
    """What is asked for; an empty field asks for all.

    Attributes:
        study: A study's name.
        text: Words that all occur in design, verdict, name, note or device.
        runner: A runner's name.
        outcome: ``correct``, ``wrong``, or ``unchecked`` where there is no reference.
        since: First day, ``2026-11-29``, in UTC.
        until: Last day, likewise.
    """

    study: str = ""
    text: str = ""
    runner: str = ""
    outcome: Outcome = ""
    since: str = ""
    until: str = ""

    @classmethod
    def checked(cls, **fields: str) -> Wanted:
        """Return what is asked for, of text from outside.

        Raises:
            DesignError: A field is none of those allowed.

        Example:
            >>> Wanted.checked(study="weave")
            Traceback (most recent call last):
            ...
            tileviz.errors.DesignError: study: must be one of permute, access, layout, kernel,
                schedule, broadcast
        """
        # Text is only cut: a search for too much finds what a shorter one does.
        given = replace(cls(**fields), text=tidy(fields.get("text", ""), MAX_SOUGHT))  # type: ignore[arg-type]
        _one_of("study", given.study, tuple(STUDIES))
        _one_of("runner", given.runner, ("emulator", "gpu"))
        _one_of("outcome", given.outcome, OUTCOMES[1:])
        for name in ("since", "until"):
            _day(name, getattr(given, name))
        return given

    @property
    def words(self) -> tuple[str, ...]:
        """The words sought."""
        return tuple(self.text.split())

    def takes(self, run: KeptRun) -> bool:
        """Return whether a run is asked for: the same answer as the store's own."""
        if self.study not in ("", run.study) or self.runner not in ("", run.runner):
            return False
        if self.outcome and VERIFIED[self.outcome] is not run.verified:
            return False
        day = run.at[:10]
        if day < self.since or (self.until and day > self.until):
            return False
        design = json_line(run.design)
        said = f"{run.outcome.sentence} {run.outcome.facts}"
        texts = (design, run.verdict, said, run.name, run.note, run.device, run.variant)
        places = "\n".join((*texts, design.replace(" ", ""))).lower()
        return all(word.lower() in places for word in self.words)


def _one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value and value not in allowed:
        raise DesignError(field, f"must be one of {', '.join(allowed)}", shown(value))


def _day(field: str, value: str) -> None:
    try:
        if value and date.fromisoformat(value).isoformat() != value:
            raise ValueError
    except ValueError:
        raise DesignError(field, "must be a day such as 2026-11-29", shown(value)) from None
