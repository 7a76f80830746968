"""What the Layouts page remembers between reruns."""

from __future__ import annotations

from tileviz.studies.layout.design import LayoutDesign
from tileviz.ui.layouts.form import LayoutForm
from tileviz.ui.state import PageState as AnyState
from tileviz.ui.state import StateRules

PageState = AnyState[LayoutForm, LayoutDesign]

RULES = StateRules("layout", LayoutDesign, LayoutForm.of, LayoutForm.from_query)
matching_preset, opened, edited = RULES.matching_preset, RULES.opened, RULES.edited
address, with_link = RULES.address, RULES.with_link
