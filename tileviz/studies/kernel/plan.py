"""The plan of a user's own kernel: nothing is predicted, everything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileviz.studies.kernel.design import KernelDesign


@dataclass(frozen=True)
class KernelPlan:
    """A user's kernel, ready to run.

    Attributes:
        design: The design.
    """

    design: KernelDesign

    @property
    def threads(self) -> int:
        """Threads of the whole launch."""
        total = 1
        for extent in (*self.design.grid, *self.design.block):
            total *= extent
        return total

    def to_json(self) -> dict[str, Any]:
        """Return the ``kernel`` object of the results."""
        design = self.design
        return {
            "study": "kernel",
            "entry": design.entry,
            "grid": list(design.grid),
            "block": list(design.block),
            "threads": self.threads,
        }


def plan(design: KernelDesign) -> KernelPlan:
    """Return the plan of a user's kernel."""
    return KernelPlan(design)
