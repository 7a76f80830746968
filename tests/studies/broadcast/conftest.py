"""The oracle document as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def oracle_document() -> Callable[[str], Any]:
    folder = Path(__file__).parents[2] / "oracle" / "data"
    return lambda name: json.loads((folder / f"{name}.json").read_text())
