"""What every test shares, doctests of the package included: a data folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

_NUMBERS = count()


@pytest.fixture(scope="session", autouse=True)
def _no_data_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep everything that is run in this session out of the user's data folder."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEVIZ_DATA", str(folder))
        patch.delenv("TILEVIZ_HISTORY", raising=False)
        yield folder


@pytest.fixture(autouse=True)
def data_folder(_no_data_of_the_user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return this test's data folder, which is made when something is kept in it."""
    folder = _no_data_of_the_user / str(next(_NUMBERS))
    monkeypatch.setenv("TILEVIZ_DATA", str(folder))
    return folder
