"""The axes of the output as the operands see them, every operand right-aligned below."""

from __future__ import annotations

from collections.abc import Sequence

from tileviz.studies.broadcast.axes import Axis
from tileviz.studies.broadcast.design import BroadcastDesign, Shape, access_of, aligned
from tileviz.studies.broadcast.plan import BroadcastPlan
from tileviz.ui import html

_LETTERS = {"nhwc": "NHWC", "nchw": "NCHW"}
# Above this rank a column has room for one short word.
_ROOMY_RANK = 5


def axis_names(plan: BroadcastPlan) -> tuple[str, ...]:
    """Return what the axes are called: letters at rank 4, by the branch that is asked.

    Example:
        >>> from tileviz.studies.broadcast.plan import plan
        >>> from tileviz.studies.registry import preset
        >>> axis_names(plan(preset("broadcast-nchw").design))
        ('N', 'C', 'H', 'W')
    """
    rank = len(plan.design.out)
    return tuple(_LETTERS[plan.cinn.branch]) if rank == 4 else tuple(map(str, range(rank)))


def axes(plan: BroadcastPlan) -> str:
    """Return the classification strip, every operand right-aligned below it."""
    names = axis_names(plan)
    head = '<span class="who">output</span>' + "".join(
        _axis(axis, name, plan) for axis, name in zip(plan.axes, names, strict=True)
    )
    rows = "".join(_operand(who, shape, plan.design) for who, shape in _distinct(plan.design))
    css = "tv-axes" if len(names) <= _ROOMY_RANK else "tv-axes dense"
    return (
        f'<div class="tv-scroll"><div class="{css}" style="--rank:{len(names)}" role="group" '
        f'aria-label="Axes of the output">{head}{_summary(plan, names)}{rows}</div></div>'
    )


def _axis(axis: Axis, name: str, plan: BroadcastPlan) -> str:
    group, roomy = axis.group, len(plan.design.out) <= _ROOMY_RANK
    if group == "preserved":
        word = "unit" if axis.extent == 1 else "preserved" if roomy else "kept"
    elif plan.cinn.branch == "nhwc":
        word = "broadcast" if roomy else "bcast"
    else:
        word = f"broadcast, {group}" if roomy else group
    css = "kept" if group == "preserved" else "spread"
    extent = "?" if axis.extent < 0 else f"{axis.extent:,}"
    return (
        f'<div class="axis {css}"><span>{html.text(name)}</span>'
        f"<strong>{extent}</strong><span>{word}</span></div>"
    )


def _distinct(design: BroadcastDesign) -> list[tuple[str, Shape]]:
    """Return each shape once, with the names of all operands that have it."""
    found: dict[Shape, list[str]] = {}
    for name, shape in zip(design.names, design.shapes, strict=True):
        found.setdefault(shape, []).append(name)
    return [(", ".join(names), shape) for shape, names in found.items()]


def _operand(who: str, shape: Shape, design: BroadcastDesign) -> str:
    access = access_of(shape, design.out)
    rank = len(design.out)
    missing = rank - len(shape)
    cells = []
    for at, (extent, whole) in enumerate(zip(aligned(shape, rank), design.out, strict=True)):
        shown = "?" if extent < 0 else f"{extent:,}"
        times = "× ?" if whole < 0 else f"× {whole:,}"
        if access in ("transpose", "reduce"):
            css, body = "odd", shown
        elif extent == 1 != whole:
            css = "spread missing" if at < missing else "spread"
            body = f"{'–' if at < missing else shown} <em>{times}</em>"
        else:
            css, body = "kept", "–" if at < missing else shown
        cells.append(f'<div class="part {css}">{body}</div>')
    note = "" if access in ("broadcast", None) else f"read as {access}"
    label = f'<span class="who" title="{html.text(who)}">{html.text(who)}</span>'
    return f'{label}{"".join(cells)}<span class="sum tv-muted">{note}</span>'


def _summary(plan: BroadcastPlan, names: Sequence[str]) -> str:
    groups = plan.cinn.groups

    def product(chosen: tuple[int, ...]) -> str:
        return "·".join(names[axis] for axis in chosen)

    def size(chosen: tuple[int, ...]) -> str:
        found = groups.size(chosen)
        return "?" if found < 0 else f"{found:,}"

    if not groups.broadcast:
        return '<div class="sum"><span>no axis is broadcast in every operand</span></div>'
    if plan.cinn.branch == "nhwc":
        kept = product(groups.preserved)
        return (
            f'<div class="sum"><span>B = {product(groups.broadcast)}</span>'
            f"<strong>{size(groups.broadcast)}</strong><span>rows of {kept} values</span></div>"
        )
    return (
        f'<div class="sum"><span>P = {product(groups.preserved) or "1"}</span>'
        f"<strong>{size(groups.preserved)}</strong>"
        f"<span>values, each {size(groups.high)} × {size(groups.low)}</span></div>"
    )
