"""The layout plan in words."""

from __future__ import annotations

from tileviz.studies.layout.check import keeps_promise
from tileviz.studies.layout.forms import Facts, digits_table, facts_of, printed_forms
from tileviz.studies.layout.grid import Layout
from tileviz.studies.layout.plan import LayoutPlan
from tileviz.studies.statement import Statement, TextTable

_SHOWN = 64

# What the check of a result has shown, for the operations that have one.
_PROMISES = {
    "canonicalize": "every element keeps its address",
    "group": "every element keeps its address",
    "slice": "every element of the region stays where it was",
    "tile": "every element lies at the outer place times the inner span, plus the inner place",
    "direct_sum": "every element lies at the outer place plus the inner place",
}
_BROKEN = {"slice": "which is not this region: a carry runs through more than one outer digit"}


def verdict(plan: LayoutPlan) -> Statement:
    """Return the one sentence that sums up an operation.

    Example:
        >>> from tileviz import api
        >>> said = verdict(api.plan(api.design(study="layout", layout="S[(4, 32):(33, 1)]")))
        >>> print(said.sentence, said.facts)
        One-to-one: 128 elements. Addresses 0 to 130, 3 of them idle.
    """
    design = plan.design
    if plan.result is None:
        return Statement("reject", f"{_name(plan)} gives nothing.", _sentence(plan.reason or ""))
    facts = facts_of(plan.result, plan.result_shape)
    held = keeps_promise(design, plan.result)
    if held is False:
        broken = _BROKEN.get(design.op, "which is not the same map")
        sentence = f"{_name(plan)} gives {plan.result}, {broken}."
        return Statement("attention", sentence, _sentence(facts.addresses))
    about = [_promise(plan, held), *_copies(facts), _sentence(facts.addresses)]
    sentence = _gives(plan, facts)
    if facts.collision is not None:
        shared = f"Not one-to-one: {facts.collision}."
        if not plan.makes_another:
            return Statement("attention", shared, " ".join(filter(None, about)))
        about.insert(0, shared)
    return Statement(
        "ok" if facts.collision is None else "attention", sentence, " ".join(filter(None, about))
    )


def _gives(plan: LayoutPlan, facts: Facts) -> str:
    if plan.design.op == "span":
        spans = [f"{span} on {axis}" for axis, span in (plan.value or {}).items()]
        return f"The span is {', '.join(spans) or '1'}."
    if plan.design.op == "apply":
        elements = f"{facts.size} element{'s' * (facts.size != 1)}"
        return f"One-to-one: {elements}." if facts.checked else f"{elements}, not checked."
    return f"{_name(plan)} gives {plan.result}."


def _name(plan: LayoutPlan) -> str:
    return plan.design.op.replace("_", " ").capitalize()


def _promise(plan: LayoutPlan, held: bool | None) -> str:
    if not held or plan.result is None:
        return ""
    promise = _PROMISES[plan.design.op]
    if plan.design.op == "canonicalize":
        before, after = _digits(plan.operand), _digits(plan.result)
        change = f"{before} digit{'s' * (before != 1)} became {after}"
        if after == before:
            same = str(plan.result) == str(plan.operand)
            change = "It was canonical already" if same else "As many digits as before"
        return f"{change}; {promise}."
    return f"Checked: {promise}."


def _digits(layout: Layout) -> int:
    return sum(row[0] == "shard" for row in digits_table(layout).rows)


def _copies(facts: Facts) -> list[str]:
    return [f"{facts.copies} copies of each element."] if facts.copies > 1 else []


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "." if words else ""


def facts_table(plan: LayoutPlan, layout: Layout, shape: tuple[int, ...]) -> TextTable:
    """Return what is true of one of a plan's layouts: a name and a value a row.

    Args:
        plan: The plan, for the element's width.
        layout: Its operand or its result.
        shape: The logical shape that the layout is seen in.

    Example:
        >>> from tileviz import api
        >>> made = api.plan(api.design(study="layout", layout="S[(4, 32):(33, 1)]"))
        >>> facts_table(made, made.operand, (4, 32)).rows[:2]
        (('elements', '128 = 4 × 32'), ('span', '131, 524 bytes'))
    """
    facts = facts_of(layout, shape)
    size = " × ".join(map(str, shape))
    rows = [("elements", f"{facts.size} = {size}" if len(shape) > 1 else str(facts.size))]
    if facts.copies > 1:
        rows.append(("copies of each", str(facts.copies)))
    for axis, span in facts.span:
        in_memory = axis == "m" and len(facts.span) == 1
        size = f", {span * plan.design.element_bytes} bytes" if in_memory else ""
        rows.append(("span" if in_memory else f"span of {axis}", f"{span}{size}"))
    rows.append(("addresses", facts.addresses.removeprefix("addresses").lstrip(": ")))
    rows.append(("one-to-one", facts.one_to_one))
    return TextTable("facts", ("what", "value"), tuple(rows))


def tables(plan: LayoutPlan) -> tuple[TextTable, ...]:
    """Return printed forms, parts, facts and the first addresses, for the terminal."""
    layout = plan.operand if plan.result is None else plan.result
    shape = plan.operand_shape if plan.result is None else plan.result_shape
    found = [
        TextTable("printed forms", ("notation", "text"), printed_forms(layout)),
        digits_table(layout),
        facts_table(plan, layout, shape),
    ]
    if plan.value is not None:
        rows = tuple((axis, str(span)) for axis, span in plan.value.items())
        found.append(TextTable("span", ("axis", "elements"), rows))
    if plan.table is not None:
        rows = tuple(
            (axis, " ".join(map(str, places[:_SHOWN].tolist())) + " ..." * (len(places) > _SHOWN))
            for axis, places in plan.table.items()
        )
        found.append(TextTable("address of every element", ("axis", "addresses"), rows))
    return tuple(found)
