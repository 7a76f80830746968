"""What the Broadcast page remembers between reruns."""

from __future__ import annotations

from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.ui.broadcast.form import BroadcastForm
from tileviz.ui.state import PageState as AnyState
from tileviz.ui.state import StateRules

PageState = AnyState[BroadcastForm, BroadcastDesign]

RULES = StateRules(
    "broadcast",
    BroadcastDesign,
    BroadcastForm.of,
    BroadcastForm.from_query,
    canonical=True,
)
matching_preset, opened, edited = RULES.matching_preset, RULES.opened, RULES.edited
address, with_link = RULES.address, RULES.with_link
