"""The whole engine, one call each: what the pages, the shell and the links use too.

Each call takes a design of ``design``, or its document: a mapping that becomes one here.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tileviz.errors import DesignError
from tileviz.studies.design import Design
from tileviz.studies.registry import STUDIES, as_design, assets, make_design, study_of

if TYPE_CHECKING:
    from tileviz.cuda.kernel import Kernel
    from tileviz.runners import Run
    from tileviz.runners.bandwidth import Bandwidth
    from tileviz.studies.derivation import Numbers

On = Literal["auto", "emulator", "gpu"]
# A design, or the document of one.
Given: TypeAlias = "Design | Mapping[str, Any]"


def design(document: Mapping[str, Any] | None = None, **fields: Any) -> Design:
    """Return a validated design.

    Args:
        document: A design document (JSON object).
        **fields: Its fields, instead of or on top of the document.

    Raises:
        DesignError: Names the field, the value and what is allowed.

    Example:
        >>> design(study="access", bytes=4, addresses=[0, 128]).space
        'shared'
    """
    return make_design({**(document or {}), **fields})


def plan(of: Given) -> Any:
    """Return the plan of a design: what is decided, why, and what it costs.

    Args:
        of: The design, or its document.

    Raises:
        DesignError: The document is not a design, or has a fault that only its plan finds.

    Example:
        >>> plan(design(study="access", bytes=4, addresses=[0, 128])).verdict.wavefronts
        2
        >>> plan({"study": "access", "bytes": 4, "addresses": [0, 128]}).verdict.wavefronts
        2
    """
    of = as_design(of)
    return study_of(of).plan(of)


def explain(of: Given | Run) -> Numbers:
    """Return every number of a design's plan, or of a run, each with its arithmetic.

    Args:
        of: A design, its document, or a run of ``run``.

    Raises:
        DesignError: It is none of these, or the design has a fault that only its plan finds.

    Example:
        >>> both = explain(design(study="access", bytes=4, addresses=[0, 128])).find("wavefronts")
        >>> print(both)
        wavefronts = 2
          1. 4 bytes a lane: 32 lanes are served together.
               128 / 4 = 32
          2. This instruction: 1 bank is asked, bank 0 for 2 words by lanes 0, 1.
               max(2, 0) = 2
               lane 0: word        000000  0
               lane 1: word        100000  32
               bank = word mod 32   00000  0
        Rule: Lanes are served in groups. A bank delivers one 4-byte word a pass, so a group takes
        as many passes as its busiest bank is asked for distinct words; passes of the groups add
        up. (measured on sm_80, 86, 89, 110, 120 and 121)
    """
    if not isinstance(of, (Design, Mapping)):
        from tileviz.runners.derive import numbers as of_run
        from tileviz.runners.results import Run

        if isinstance(of, Run):
            return of_run(of)
    of = as_design(of)
    derive, planned = study_of(of).derive, plan(of)
    found: Numbers = derive.numbers(planned)
    return found + derive.further(planned) if hasattr(derive, "further") else found


def kernel(of: Given) -> Kernel:
    """Return the kernel of a design: CUDA text, launch, buffers and predicted accesses.

    Raises:
        DesignError: The study generates no CUDA.
        NotRunnable: The design has no kernel; the message says why.
    """
    of = as_design(of)
    return _kernel(of, plan(of))


def program(of: Given) -> Kernel:
    """Return the kernel of a whole design, for a program that is run elsewhere.

    A run here may take only the beginning of a very large output; a program takes all of it.

    Raises:
        DesignError: The study generates no CUDA.
        NotRunnable: The design has no kernel; the message says why.

    Example:
        >>> program(design(study="access", bytes=4, addresses=[0, 128])).entry
        'access'
    """
    of = as_design(of)
    _runnable(of)
    generated: Kernel = study_of(of).whole(plan(of))
    return generated


def run(of: Given, on: On = "auto", seed: int = 0) -> tuple[Any, Run]:
    """Plan a design, generate its CUDA, run that text and verify every element.

    Args:
        of: The design, or its document.
        on: ``emulator``, ``gpu``, or ``auto`` for the GPU where there is one.
        seed: Seed of the inputs.

    The run is kept in the history of this installation, unless ``TILEVIZ_HISTORY=off``.

    Returns:
        The plan and the run. Where a study has a smaller design that shows the same on the
        emulator (a tile order on the same grid of smaller tiles), that one runs, and the run's
        ``note`` says so. Where only the beginning of a large output is run, its ``part`` says so.

    Raises:
        DesignError: The study generates no CUDA, or no such runner is available.
        NotRunnable: The design has no kernel; the message says why.
    """
    from tileviz.runners.store import HistoryWarning, keep

    of = as_design(of)
    planned = plan(of)
    done = _done(of, planned, on, seed)
    unkept = keep(of, done, seed=seed, plan=planned)
    if unkept:
        warnings.warn(unkept, HistoryWarning, stacklevel=2)
    return planned, done


def _done(of: Design, planned: Any, on: On, seed: int) -> Run:
    from tileviz.runners import run_kernel, select_runner

    small = study_of(of).emulated(of) if select_runner(on).name == "emulator" else of
    if small == of:
        return run_kernel(_kernel(of, planned), on=on, seed=seed, study=of.study)
    done = run_kernel(_kernel(small, plan(small)), on=on, seed=seed, study=of.study)
    instead = f"too large for the emulator; ran instead: {json.dumps(small.document())}"
    return replace(done, note="; ".join(filter(None, (done.note, instead))))


def bandwidth(
    of: Given, on: On = "auto", seed: int = 0, say: Callable[[str], None] = lambda stage: None
) -> Bandwidth:
    """Return the bandwidths of broadcast kernels: published, recorded, and measured now on a GPU.

    Args:
        of: A broadcast design, or its document; the one that is measured.
        on: ``auto`` measures where there is a GPU, ``gpu`` insists.
        seed: Seed of the inputs.
        say: Called with what is being done now.

    Returns:
        Rows, each with device, source and ceiling; ``not_measured`` says why there is no live one.

    Raises:
        DesignError: It is no broadcast design, or there is no GPU and one is insisted on.
        NotRunnable: The design has no kernel; the message says why.

    Example:
        >>> found = bandwidth(design(study="broadcast", operands=[[192]], out=[64, 192]))
        >>> found.rows[0].device, found.rows[0].published_percent
        ('V100', 92.26)
    """
    from tileviz.runners.bandwidth import find_bandwidth
    from tileviz.studies.broadcast.design import BroadcastDesign

    of = as_design(of)
    if not isinstance(of, BroadcastDesign):
        raise DesignError("study", "has no bandwidth table; the study broadcast has", of.study)
    return find_bandwidth(of, assets() / "runs", on=on, seed=seed, say=say)


def _kernel(of: Design, planned: Any) -> Kernel:
    _runnable(of)
    generated: Kernel = study_of(of).kernel(planned)
    return generated


def _runnable(of: Design) -> None:
    if not study_of(of).runnable:
        runnable = ", ".join(name for name, known in STUDIES.items() if known.runnable)
        raise DesignError("study", f"generates no CUDA; studies that run: {runnable}", of.study)
