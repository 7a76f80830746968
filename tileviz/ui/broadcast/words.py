"""What the Broadcast page calls versions, launches and shares."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.studies.broadcast.ours import NAMES, THREADS
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.studies.broadcast.portion import Version
from tileviz.ui import html


def version_name(plan: BroadcastPlan, version: Version) -> str:
    """Return what the page calls a version of a plan."""
    if version == "ours" and plan.ours is not None:
        return f"Ours · {NAMES[plan.ours.kind]}"
    if version == "cinn":
        kind = "declines" if plan.cinn.launch is None else plan.cinn.launch.kind
        return f"CINN · {kind}"
    return "Before · general tactic" if version == "before" else "Ours"


def short_launch(plan: BroadcastPlan, version: Version) -> str:
    """Return block and grid of a version in a few words, "" where it has none."""
    launch = plan.cinn.launch
    if version == "ours":
        return "" if plan.ours is None else f"block {THREADS}, grid {plan.ours.grid:,}"
    if version == "cinn" and launch is not None:
        return f"block {times(launch.block)}, grid {times(launch.grid)}"
    tactic = plan.before
    return "" if tactic is None else f"block {tactic.threads}, grid {tactic.grid:,}"


def about(plan: BroadcastPlan, version: Version) -> str:
    """Return what one version does, in a sentence or two."""
    if version == "ours" and plan.proof is not None:
        words = f"{plan.proof.loads}. {plan.proof.coverage}."
    elif version == "cinn" and plan.cinn.launch is not None:
        words = (
            "The thread's position in the broadcast dimension does not change from step to step, "
            "so the value is loaded once, before the loop."
        )
    elif version == "cinn":
        words = "The tactic declines, so this is the general kernel under its own name."
    elif plan.loads_before == 1:
        words = (
            "Each step moves a whole block ahead in the flat output; the operand's index comes out "
            "the same every time, so the value is loaded once."
        )
    else:
        words = (
            "Each step moves a whole block ahead in the flat output, so the operand's index is "
            "computed, and the value loaded, in every step."
        )
    return f'<p class="tv-body">{html.text(html.sentence(words))}</p>'


def percent(share: float) -> str:
    """Return a share as whole percents."""
    return f"{share:.0%}"


def times(extents: Sequence[int | str]) -> str:
    """Return the extents of a block or grid, without a second one of 1."""
    kept = extents[:1] if extents[1] == 1 else extents
    return " × ".join(f"{extent:,}" if isinstance(extent, int) else extent for extent in kept)
