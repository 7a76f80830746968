"""A report of one design: planned, drawn, and run where that is wanted."""

from __future__ import annotations

from datetime import datetime

from tileviz import api
from tileviz.cuda.kernel import Kernel
from tileviz.export.report import Reviewed, html_report
from tileviz.figures.overview import pictures
from tileviz.figures.tokens import LIGHT
from tileviz.studies.design import Design
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import presets, study_of


def report_of(
    design: Design,
    *,
    name: str = "",
    title: str = "",
    note: str = "",
    run: bool = False,
    now: datetime | None = None,
    address: str = "",
) -> str:
    """Return the report of a design, as one HTML text.

    Args:
        design: The design.
        name: What people call it; the title of its preset, or its study, by default.
        title: The report's heading; the name by default.
        note: Free text.
        run: Whether to run it in the emulator first; what cannot run is reported without a run.
        now: The date in the report; the present by default.
        address: ``http://host:port`` of a server that opens the link.

    Raises:
        DesignError: The title or note is too long, or the emulator is not available.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> "TVM demo" in report_of(preset("permute-demo").design)
        True
    """
    plan = api.plan(design)
    (drawn,) = pictures([plan], LIGHT)
    kernel = _executed(design) if run else None
    done = None if kernel is None else api.run(design, on="emulator")[1]
    reviewed = Reviewed(name or name_of(design), design, plan, done, drawn, kernel)
    return html_report([reviewed], title=title, note=note, now=now, address=address)


def name_of(design: Design) -> str:
    """Return what people call a design: the title of its preset, or its study.

    Example:
        >>> from tileviz.studies.registry import make_design
        >>> name_of(make_design({"study": "access", "bytes": 4, "addresses": [0, 128]}))
        'A design of the access study'
    """
    found = (known.title for known in presets() if known.design == design)
    return next(found, f"A design of the {design.study} study")


def _executed(design: Design) -> Kernel | None:
    """Return the kernel that the emulator runs for a design, or None."""
    study = study_of(design)
    if not study.runnable:
        return None
    try:
        return api.kernel(study.emulated(design))
    except NotRunnable:
        return None
