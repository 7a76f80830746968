"""What the Kernel lab remembers between reruns."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.export.links import MAX_LINK, page_url
from tileviz.studies.kernel.design import KernelDesign
from tileviz.ui.kernel.form import LabForm
from tileviz.ui.state import PageState as AnyState
from tileviz.ui.state import StateRules

PageState = AnyState[LabForm, KernelDesign]


@dataclass(frozen=True)
class LabRules(StateRules[LabForm, KernelDesign]):
    """The rules of every page, but for texts that are too long for an address."""

    def address(self, state: PageState) -> dict[str, str] | None:
        """Return what the address bar should say: nothing for a design that no link can hold."""
        if not state.problems and too_long(state.design):
            return {}
        return super().address(state)


def too_long(design: KernelDesign) -> int:
    """Return the length of a design's link if that is more than is read, else 0."""
    # Every character of the text takes one of the link at least.
    length = len(design.source)
    if length <= MAX_LINK:
        length = len(page_url(design))
    return length if length > MAX_LINK else 0


RULES = LabRules("kernel", KernelDesign, LabForm.of, LabForm.from_query)
