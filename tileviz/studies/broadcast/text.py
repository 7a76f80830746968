"""What the texts of all broadcast kernels share: names, formula, header, conversions."""

from __future__ import annotations

import textwrap
from typing import Any

from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.expressions import EPSILON
from tileviz.studies.broadcast.ours import INDEX_32
from tileviz.studies.broadcast.values import ValueType

_HALVES = {
    "float16": ("__half", "__half2float", "__float2half_rn"),
    "bfloat16": ("__nv_bfloat16", "__bfloat162float", "__float2bfloat16_rn"),
}
_COLUMNS = 100
_PARAMETER_COLUMNS = 72
_FUNCTIONS = {
    "float": {"fma": "fmaf", "rsqrt": "rsqrtf"},
    "double": {"fma": "fma", "rsqrt": "rsqrt"},
}


def common(design: BroadcastDesign, header: list[str]) -> dict[str, Any]:
    """Return the template variables that every broadcast kernel needs.

    Args:
        design: A static design.
        header: Comment lines below the formula.
    """
    values = ValueType.of(design.dtype)
    raw, widen, narrow = _HALVES.get(design.dtype, ("", "", ""))
    shapes = ", ".join(
        f"{name} {_shape(shape)}" for name, shape in zip(design.names, design.shapes, strict=True)
    )
    first = f"{design.formula.formula(len(design.operands))}, {design.dtype}"
    return {
        "values": values,
        "raw": raw,
        "widen": widen,
        "narrow": narrow,
        "names": list(design.names),
        "formula": formula(design, values),
        "clamped": design.formula.clamped,
        "parameters": parameters(design, values),
        "epsilon": f"{EPSILON:g}{'f' if values.compute == 'float' else ''}",
        "wide": design.elements >= INDEX_32,
        "header": _wrapped([first, f"x, y {_shape(design.out)}; {shapes}", *header]),
    }


def formula(design: BroadcastDesign, values: ValueType) -> str:
    """Return the expression in CUDA.

    Example:
        >>> from tileviz.studies.design import validated
        >>> two = validated(BroadcastDesign, {"operands": [[8]], "out": [4, 8],
        ...                                   "expression": "scale_shift"})
        >>> formula(two, ValueType.of("float32")), formula(two, ValueType.of("int32"))
        ('fmaf(x, scale, shift)', 'x * scale + shift')
    """
    text = design.formula.cuda
    sign = " * " if design.expression == "mul" else " + "
    functions = _FUNCTIONS.get(values.compute)
    if functions is None:
        text = text.replace("{fma}(x, scale, shift)", "x * scale + shift")
        functions = {"fma": "", "rsqrt": ""}
    return text.format(chain=sign.join(design.names), **functions)


def parameters(design: BroadcastDesign, values: ValueType) -> str:
    """Return the pointer parameters of the kernel, on as few lines as fit."""
    wanted = [f"const {values.storage}* __restrict__ {name}" for name in ("x", *design.names)]
    lines = [""]
    for text in [*wanted, f"{values.storage}* __restrict__ y"]:
        if lines[-1] and len(lines[-1]) + len(text) > _PARAMETER_COLUMNS:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{text}"
    return (",\n" + " " * len("broadcast(")).join(lines)


def applied(
    target: str, arguments: list[str], values: ValueType, indent: int, mark: str = ""
) -> str:
    """Return the statement that stores the expression's value, on as few lines as fit.

    Args:
        target: Where it is stored.
        arguments: The values of x and the operands.
        values: The element type.
        indent: Columns that the statement stands in.
        mark: The template mark of its first line, where x is read and y written.

    Example:
        >>> applied("y[i]", ["to_float(x[i])", "b_value"], ValueType.of("float16"), 4)
        'y[i] = from_float(apply(to_float(x[i]), b_value));'
    """
    start, end = values.to_element("apply(|)").split("|")
    lines = [f"{target} = {start}"]
    hanging = " " * len(lines[0])
    for number, text in enumerate(arguments):
        piece = text + (f"{end};" if number == len(arguments) - 1 else ",")
        if number and indent + len(lines[-1]) + 1 + len(piece) > _COLUMNS:
            lines.append(hanging)
        lines[-1] += f" {piece}" if lines[-1].strip() and number else piece
    if mark:
        lines[0] += f" @{{{mark}}}"
    return f"\n{' ' * indent}".join(lines)


def _wrapped(lines: list[str]) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, _COLUMNS - len("// "))]


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
