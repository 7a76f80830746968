"""What a wheel holds: presets, lessons, templates and styles come along."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = re.findall(
    r'"([^"]+)"',
    re.search(r'^"\*" = \[(.*)\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1],
)


def _data() -> list[Path]:
    found = [path for folder in ("assets", "tileviz") for path in (ROOT / folder).rglob("*")]
    return [
        path
        for path in found
        if path.is_file() and path.suffix not in (".py", ".pyc") and not path.name.startswith(".")
    ]


def test_every_kind_of_file_is_package_data() -> None:
    left_out = [
        str(path.relative_to(ROOT))
        for path in _data()
        if not any(fnmatch(path.name, pattern) for pattern in PATTERNS)
    ]
    assert left_out == []


def test_every_folder_is_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("setuptools")
    from distutils.core import run_setup

    monkeypatch.chdir(ROOT)
    packages = set(run_setup("setup.py", stop_after="init").packages)
    wanted = {path.parent.relative_to(ROOT) for path in _data()}
    wanted |= {path.parent.relative_to(ROOT) for path in (ROOT / "tileviz").rglob("*.py")}
    names = {".".join(folder.parts) for folder in wanted}
    names = {f"tileviz.{name}" if name.startswith("assets") else name for name in names}
    assert names - packages == set()
