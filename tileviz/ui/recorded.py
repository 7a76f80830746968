"""Recorded GPU runs, shown where there is no GPU: always with device and date."""

from __future__ import annotations

from tileviz.runners.history import find_recorded
from tileviz.runners.words import gpu_lines
from tileviz.studies.design import Design
from tileviz.studies.registry import assets
from tileviz.ui import html


def recorded(design: Design) -> str:
    """Return what a recorded run of the design told, or "" where none is kept."""
    found = find_recorded(design.document(), assets() / "runs")
    if found is None:
        return ""
    recording, case = found
    if case.run is None:
        return ""
    verdict = "output correct" if case.run["verified"] else "output NOT verified"
    driver = recording.versions.get("driver", "an unknown driver")
    lines = [f"Not run here: {recording.label}, {driver}; {verdict}.", *gpu_lines(case.run)]
    if case.speedup:
        lines.append(html.sentence(f"against {case.baseline}: {case.speedup}"))
    return "".join(f'<p class="tv-note">{html.text(line)}</p>' for line in lines)
