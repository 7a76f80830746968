"""What the Block schedule page remembers between reruns."""

from __future__ import annotations

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
