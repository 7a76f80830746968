"""The design row; its controls write one form."""

from __future__ import annotations

import streamlit as st

from tileviz.studies.broadcast.design import DTYPES, MAX_SMS
from tileviz.studies.broadcast.expressions import EXPRESSIONS
from tileviz.ui import inputs
from tileviz.ui.broadcast.form import FIELDS, LABELS, BroadcastForm
from tileviz.ui.broadcast.state import RULES
from tileviz.ui.controls import Controls, choose_preset

_CONTROLS = Controls("broadcast", RULES, BroadcastForm, FIELDS)
key, fill, collect = _CONTROLS.key, _CONTROLS.fill, _CONTROLS.collect
_load_preset = _CONTROLS.load_preset


def expression_title(name: str) -> str:
    """Return what the choice calls an expression.

    Example:
        >>> expression_title("batchnorm"), expression_title("relu(x*a+b)")
        ('batchnorm: mean, var, scale, bias', 'relu(x*a+b)')
    """
    operands = EXPRESSIONS[name].operands
    return name if not operands or "(" in name else f"{name}: {', '.join(operands)}"


def design_row() -> None:
    """Draw preset, output, operands, expression, dtype and multiprocessors in one row."""
    with st.container(key="design_row"):
        columns = st.columns([2.05, 1.65, 1.7, 2.55, 1.15, 0.9], gap="xsmall")
    with columns[0]:
        choose_preset(RULES.presets(), key("preset"), _load_preset)
    with columns[1]:
        inputs.text_input(LABELS["out"], key=key("out"), autocomplete="off")
    with columns[2]:
        inputs.text_input("Operands, “;” between", key=key("operands"), autocomplete="off")
    with columns[3]:
        inputs.selectbox(
            LABELS["expression"],
            tuple(EXPRESSIONS),
            key=key("expression"),
            format_func=expression_title,
        )
    with columns[4]:
        inputs.selectbox(LABELS["dtype"], DTYPES, key=key("dtype"))
    with columns[5]:
        inputs.number_input(LABELS["sm_count"], 1, MAX_SMS, step=1, key=key("sm_count"))
