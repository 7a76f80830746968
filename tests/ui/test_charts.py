"""Every chart of every page: the menu that saves it as SVG, and the same in words."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

UI = Path(__file__).resolve().parents[2] / "tileviz" / "ui"


def charts() -> list[tuple[str, ast.Call]]:
    return [
        (f"{path.relative_to(UI)}:{node.lineno}", node)
        for path in sorted(UI.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "plotly_chart"
    ]


CHARTS = charts()


@pytest.mark.parametrize("call", [call for _, call in CHARTS], ids=[where for where, _ in CHARTS])
def test_every_chart_has_the_one_menu_and_words(call: ast.Call) -> None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    config = given["config"]
    assert isinstance(config, ast.Call) and getattr(config.func, "id", "") == "chart_config"
    assert "alt" in given


def test_there_are_charts() -> None:
    assert len(CHARTS) > 8
