"""The Runs page's rows and facts as HTML text."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tileviz.runners.store_entry import KeptRun, summary
from tileviz.ui import html

HEADS = ("study", "design", "outcome", "where")


@lru_cache(maxsize=1)
def style() -> str:
    """Return what only this page needs."""
    form = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>{form}</style>"


def when(run: KeptRun) -> str:
    """Return the time of a run in UTC; the day alone for a recorded one.

    Example:
        >>> from tileviz.studies.statement import Statement
        >>> made = KeptRun("2026-11-29T23:30:34Z", "permute", {}, "", "", Statement("ok", ""),
        ...                "emulator", "", True, "", 0)
        >>> when(made)
        '2026-11-29 23:30:34'
    """
    return run.at.rstrip("Z").replace("T", " ")


def heads() -> str:
    """Return the head of the list."""
    cells = "".join(f"<span>{name}</span>" for name in HEADS)
    return f'<div class="tv-row tv-row-head">{cells}</div>'


def row(run: KeptRun) -> str:
    """Return one run of the list, but for the button that opens it."""
    title = run.name or run.verdict or "No verdict."
    details = " · ".join(filter(None, (run.variant, summary(run.design))))
    where = "GPU" if run.runner == "gpu" else run.runner.capitalize()
    place = run.recorded or ("" if run.runner == "emulator" else run.device)
    return (
        f'<div class="tv-row"><span>{html.text(run.study)}</span>'
        f"<div><strong>{html.text(title)}</strong><small>{html.text(details)}</small></div>"
        f"<div>{html.glyph(run.outcome.state)} <span>{html.text(run.outcome.sentence)}</span></div>"
        f"<div>{html.text(where)}<small>{html.text(place)}</small></div></div>"
    )


def facts(run: KeptRun) -> str:
    """Return what is known of a run beside its result."""
    pairs = (
        ("When", f"{when(run)} UTC"),
        ("Study", run.study),
        ("The plan says", run.verdict),
        ("Kernel", run.variant),
        ("Ran on", run.recorded or run.device or run.runner),
        ("Seed", str(run.seed)),
        ("tileviz", run.version),
        # One's own note is in its field; a recorded run's is nowhere else.
        ("Note", run.note if run.recorded else ""),
    )
    rows = [(html.text(name), html.text(value)) for name, value in pairs if value]
    return html.table((), rows, css="tv-run-facts", label="About this run")
