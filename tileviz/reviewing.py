"""A report of one design: planned, drawn, and run where that is wanted."""

from __future__ import annotations

from datetime import datetime

from tileviz import api
from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.export.report import Reviewed, html_report
from tileviz.figures.overview import pictures
from tileviz.figures.tokens import LIGHT
from tileviz.runners.results import Run
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
        run: Whether to run it in the emulator first; the report says why where that is impossible.
        now: The date in the report; the present by default.
        address: ``http://host:port`` of a server that opens the link.

    Raises:
        DesignError: The title or the note is too long.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> "TVM demo" in report_of(preset("permute-demo").design)
        True
    """
    plan = api.plan(design)
    (drawn,) = pictures([plan], LIGHT)
    kernel, done, reason = _run(design) if run else (None, None, "")
    called = name or name_of(design)
    reviewed = Reviewed(called, design, plan, done, drawn, kernel, reason)
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


def _run(design: Design) -> tuple[Kernel | None, Run | None, str]:
    """Return the kernel that the emulator runs for a design and its run, or why there is none."""
    study = study_of(design)
    try:
        # Planned first: what has no kernel needs no emulator.
        kernel = api.kernel(study.emulated(design))
        return kernel, api.run(design, on="emulator")[1], ""
    except NotRunnable as error:
        return None, None, str(error)
    except DesignError as error:
        return None, None, error.message
