"""Oracle documents as a whole, for tests that need more than one section's cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

_DATA = Path(__file__).parents[2] / "oracle" / "data"


def _document(name: str) -> Any:
    return json.loads((_DATA / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def catlass_document() -> dict[str, Any]:
    return _document("catlass_block_swizzle")


@pytest.fixture(scope="session")
def measurements() -> dict[str, Any]:
    return _document("swizzle_measurements")
