"""The README shows every page, names real presets and commands, and its pictures exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from tileviz.cli import app
from tileviz.studies.registry import presets
from tileviz.ui.frame import PAGES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_has_its_picture() -> None:
    shown = re.findall(r"!\[([^\]:]+)\S*\]\((docs/images/\w+\.png)\)", README)
    gallery = README[README.index("## The pages") :]
    for page in PAGES:
        assert f"![{page.title}](docs/images/" in gallery, page.title
    for _, path in shown:
        assert (ROOT / path).is_file(), path


def test_every_picture_can_be_taken_again() -> None:
    kept = {path.stem for path in (ROOT / "docs" / "images").glob("*.png")}
    assert set(_pictures().PICTURES) == kept


@pytest.mark.parametrize("line", re.findall(r"python -m tileviz (\w+)", README))
def test_every_command_exists(line: str) -> None:
    assert line in get_command(app).commands  # type: ignore[attr-defined]


def test_every_preset_that_is_named_exists() -> None:
    known = {found.name for found in presets()}
    named = re.findall(r"\b(?:permute|schedule|broadcast|banks|layout|kernel)-[a-z0-9-]+", README)
    assert named
    assert set(named) <= known


def test_every_document_that_is_linked_exists() -> None:
    for path in re.findall(r"\]\((docs/[\w./]+)\)", README):
        assert (ROOT / path).exists(), path
