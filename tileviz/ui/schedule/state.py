"""What the Block schedule page remembers between reruns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.ui.schedule.form import ScheduleForm
from tileviz.ui.state import PageState as AnyState
from tileviz.ui.state import StateRules

# What the page opens with: ragged, and the rule of thumb is not best.
DEMO = "schedule-ragged"

PageState = AnyState[ScheduleForm, ScheduleDesign]

RULES = StateRules("schedule", ScheduleDesign, ScheduleForm.of, ScheduleForm.from_query, demo=DEMO)
schedule_presets, preset_design = RULES.presets, RULES.preset_design
matching_preset, opened, edited = RULES.matching_preset, RULES.opened, RULES.edited
address, with_link = RULES.address, RULES.with_link

_REMEMBERED = 4


def outruns(
    state: PageState,
    query: Mapping[str, str],
    typed: ScheduleForm,
    earlier: Sequence[Mapping[str, str]],
) -> bool:
    """Return whether somebody edits faster than the browser takes up our last address.

    The browser then still reports an address from before. The way back in its history does too,
    but there nothing is typed at the same time.

    Args:
        state: What was there.
        query: The address bar's keys.
        typed: What the controls hold.
        earlier: Addresses before the one last written.
    """
    return typed != state.form and dict(query) in [dict(address) for address in earlier]


def remembered(
    earlier: Sequence[Mapping[str, str]], before: PageState | None, now: PageState
) -> tuple[Mapping[str, str], ...]:
    """Return the addresses before the present one, the newest last."""
    if before is None or before.link is None or before.link == now.link:
        return tuple(earlier)
    return (*earlier, before.link)[-_REMEMBERED:]
