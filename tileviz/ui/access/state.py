"""What the Banks page remembers between reruns."""

from __future__ import annotations

from tileviz.studies.access.design import AccessDesign
from tileviz.ui.access.cached import checked
from tileviz.ui.access.form import AccessForm, told
from tileviz.ui.state import PageState as AnyState
from tileviz.ui.state import StateRules

PageState = AnyState[AccessForm, AccessDesign]

RULES = StateRules(
    "access",
    AccessDesign,
    AccessForm.of,
    AccessForm.from_query,
    check=checked,
    told=told,
)
matching_preset, opened, edited = RULES.matching_preset, RULES.opened, RULES.edited
address, with_link = RULES.address, RULES.with_link
preset_design = RULES.preset_design
