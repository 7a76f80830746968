"""What the Permute page remembers between reruns."""

from __future__ import annotations

from tileviz.studies.permute.design import PermuteDesign
from tileviz.ui.permute.cached import checked
from tileviz.ui.permute.form import PermuteForm
from tileviz.ui.state import PageState as AnyState
from tileviz.ui.state import StateRules

PageState = AnyState[PermuteForm, PermuteDesign]

RULES = StateRules("permute", PermuteDesign, PermuteForm.of, PermuteForm.from_query, check=checked)
matching_preset, opened, edited = RULES.matching_preset, RULES.opened, RULES.edited
address, with_link = RULES.address, RULES.with_link
