"""Fixtures that every folder of tests shares."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import settings

# Speed is measured in benchmarks/; on a busy machine a deadline only makes tests flaky.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

_DATA = Path(__file__).parent / "oracle" / "data"


@cache
def _load(name: str) -> Any:
    return json.loads((_DATA / f"{name}.json").read_text())


def pytest_generate_tests(metafunc: Any) -> None:
    """Parametrise ``@pytest.mark.oracle(file, section, id_fields...)`` tests by their cases."""
    marker = metafunc.definition.get_closest_marker("oracle")
    if marker is None:
        return
    document = _load(marker.args[0])
    section = marker.kwargs.get("section")
    keep = marker.kwargs.get("keep", lambda case: True)
    cases = [case for case in (document[section] if section else document) if keep(case)]
    ids = [str(case.get("id", index)) for index, case in enumerate(cases)]
    metafunc.parametrize("case", cases, ids=ids)
