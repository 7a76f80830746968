"""Running the designs of a comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileviz import api
from tileviz.comparing.comparison import Comparison
from tileviz.comparing.measured import Measured, measured_rows, measured_statement
from tileviz.comparing.measures import Row
from tileviz.comparing.registry import NUMBERS
from tileviz.cuda.kernel import Kernel
from tileviz.errors import DesignError
from tileviz.studies.design import Design
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import study_of
from tileviz.studies.statement import Statement

if TYPE_CHECKING:
    from tileviz.runners import On


def target_of(design: Design, on: On) -> Design:
    """Return what runs for a design: the emulator may take a smaller one that shows the same.

    Raises:
        NotRunnable: It is too large, and there is no smaller one.
    """
    return design if on == "gpu" else study_of(design).emulated(design)


def kernel_of(design: Design, on: On) -> Kernel:
    """Return the kernel that runs for a design.

    Raises:
        DesignError: The study generates no CUDA.
        NotRunnable: The design has no kernel.
    """
    return api.kernel(target_of(design, on))


def instead_of(design: Design, on: On) -> str:
    """Say what runs instead of a design, "" where it runs itself."""
    target = target_of(design, on)
    if target == design:
        return ""
    return f"Too large for the emulator; ran instead: {json.dumps(target.document())}"


def measure(design: Design, on: On) -> Measured | str:
    """Run a design and return what was measured, or why it cannot run.

    Args:
        design: The design.
        on: Where; ``auto`` for a GPU where there is one.

    Example:
        >>> from tileviz.studies.registry import preset
        >>> measure(preset("layout-row-major").design, "emulator")
        'generates no CUDA; studies that run: permute, access, kernel, schedule, broadcast'
    """
    try:
        kernel = kernel_of(design, "gpu" if on == "gpu" else "emulator")
        _, run = api.run(design, on=on)
    except DesignError as error:
        return error.message
    except NotRunnable as error:
        return str(error)
    return Measured.of(run, kernel)


@dataclass(frozen=True)
class Both:
    """What was measured of both designs of a comparison.

    Attributes:
        left: The left run, or why there is none; likewise ``right``.
        right: The right run, or why there is none.
    """

    left: Measured | str
    right: Measured | str

    @property
    def sides(self) -> tuple[Measured | str, Measured | str]:
        """Both, left first."""
        return self.left, self.right

    @property
    def failed(self) -> bool:
        """Whether an output is wrong, or a kernel was at fault."""
        return any(isinstance(side, Measured) and side.verified is False for side in self.sides)

    def rows(self, found: Comparison) -> tuple[Row, ...]:
        """Return the numbers of both runs; none where one did not run."""
        if isinstance(self.left, str) or isinstance(self.right, str):
            return ()
        return measured_rows(self.left, self.right, same_work(found))

    def statement(self, found: Comparison) -> Statement:
        """Return what both runs say together."""
        for name, side in zip(found.names, self.sides, strict=True):
            if isinstance(side, str):
                return Statement("error", f"{name} did not run: {side}.", "")
        return measured_statement(self.rows(found), found.names)

    def to_json(self, found: Comparison) -> dict[str, Any]:
        """Return ``{"verdict", "left", "right", "numbers"}``; a side is a ``run``, or a reason."""
        said = self.statement(found)
        left, right = (
            {"reason": side}
            if isinstance(side, str)
            else None
            if side.run is None
            else side.run.to_json()
            for side in self.sides
        )
        return {
            "verdict": {"state": said.state, "sentence": said.sentence},
            "left": left,
            "right": right,
            "numbers": [row.to_json() for row in self.rows(found)],
        }


def run_both(found: Comparison, on: On) -> Both:
    """Run both designs of a comparison, one after the other."""
    return Both(measure(found.left.design, on), measure(found.right.design, on))


def same_work(found: Comparison) -> bool:
    """Return whether both designs do the same, so that totals of their runs compare."""
    numbers = NUMBERS.get(found.study)
    if numbers is None:
        return False
    return numbers.work(found.left.plan) == numbers.work(found.right.plan)
