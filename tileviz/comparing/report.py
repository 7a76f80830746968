"""The report of a comparison: one HTML file that opens offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileviz.comparing.comparison import Comparison

if TYPE_CHECKING:
    from tileviz.comparing.measured import Measured

Runs = tuple["Measured | str | None", "Measured | str | None"]


def report_of(comparison: Comparison, runs: Runs = (None, None)) -> str:
    """Return a report of both designs: verdict, inputs, pictures on one scale, CUDA.

    Args:
        comparison: The comparison.
        runs: What was measured of the left and of the right design, why one could not run, or
            None where none was made.

    Example:
        >>> from tileviz.comparing.comparison import compare
        >>> from tileviz.studies.registry import preset
        >>> pair = [preset(f"banks-{name}").design for name in ("transpose-32x32", "padding-33")]
        >>> text = report_of(compare(*pair, left_name="<b>plain"))
        >>> "&lt;b&gt;plain" in text, "31 fewer" in text
        (True, True)
    """
    from tileviz.export.report import Reviewed, html_report
    from tileviz.figures.overview import pictures
    from tileviz.figures.tokens import LIGHT

    sides = (comparison.left, comparison.right)
    drawn = pictures([side.plan for side in sides], LIGHT)
    reviewed = [
        Reviewed(
            name,
            side.design,
            side.plan,
            None if run is None or isinstance(run, str) else run.run,
            figures,
        )
        for name, side, run, figures in zip(comparison.names, sides, runs, drawn, strict=True)
    ]
    said = comparison.statement
    words = " ".join(filter(None, (said.sentence, said.facts)))
    note = "\n\n".join(filter(None, (words, comparison.note.strip())))
    return html_report(reviewed, title=f"{' against '.join(comparison.names)}", note=note)
