"""Every study, found in one place: its design class, and how to plan, generate and name it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tileviz.errors import DesignError
from tileviz.studies.design import Design, shown, validated


@dataclass(frozen=True)
class Study:
    """A study by name; its modules are imported when first needed.

    Attributes:
        name: What ``study`` says in a design document.
        design_class: Name of the design class in the study's ``design`` module.
        runnable: Whether the study has a ``kernel`` module.
        shrinks: Whether its ``proof`` module has a smaller design for the emulator.
    """

    name: str
    design_class: str
    runnable: bool
    shrinks: bool = False

    def _module(self, part: str) -> Any:
        return import_module(f"tileviz.studies.{self.name}.{part}")

    @property
    def model(self) -> type[Design]:
        """The design class."""
        model: type[Design] = getattr(self._module("design"), self.design_class)
        return model

    @property
    def plan(self) -> Callable[[Any], Any]:
        """The study's ``plan(design)``."""
        function: Callable[[Any], Any] = self._module("plan").plan
        return function

    @property
    def explain(self) -> Any:
        """The study's ``explain`` module: ``verdict(plan)`` and ``tables(plan)``."""
        return self._module("explain")

    @property
    def derive(self) -> Any:
        """The study's ``derive`` module: ``numbers(plan)``, each number with its arithmetic."""
        return self._module("derive")

    @property
    def link(self) -> Any:
        """The study's ``link`` module: ``PAGE`` and the ``KEYS`` of its links."""
        return self._module("link")

    def emulated(self, design: Any) -> Design:
        """Return what the emulator runs for a design: itself, or a smaller one that shows the same.

        Raises:
            NotRunnable: The design is too large, and there is no smaller one.
        """
        if not self.shrinks:
            of: Design = design
            return of
        small: Design = self._module("proof").emulated(design)
        return small

    @property
    def kernel(self) -> Callable[..., Any]:
        """The study's ``kernel(plan)``."""
        function: Callable[..., Any] = self._module("kernel").kernel
        return function

    @property
    def whole(self) -> Callable[[Any], Any]:
        """What makes the kernel of all of a plan, where a run here takes only a part of it."""
        module = self._module("kernel")
        function: Callable[[Any], Any] = getattr(module, "whole", module.kernel)
        return function


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study("permute", "PermuteDesign", runnable=True),
        Study("access", "AccessDesign", runnable=True),
        Study("layout", "LayoutDesign", runnable=False),
        Study("kernel", "KernelDesign", runnable=True),
        Study("schedule", "ScheduleDesign", runnable=True, shrinks=True),
        Study("broadcast", "BroadcastDesign", runnable=True),
    )
}


def study_of(design: Design) -> Study:
    """Return the study that a design belongs to."""
    return STUDIES[design.study]


def make_design(document: Mapping[str, Any]) -> Design:
    """Return the validated design of a JSON document.

    Raises:
        DesignError: The document is not a design; names field, value and what is allowed.

    Example:
        >>> make_design({"study": "weave"})
        Traceback (most recent call last):
        ...
        tileviz.errors.DesignError: study: must be one of permute, access, layout, kernel, schedule,
            broadcast
    """
    if not isinstance(document, Mapping):
        raise DesignError("", "a design is a JSON object", shown(document))
    name = document.get("study")
    if not isinstance(name, str) or name not in STUDIES:
        raise DesignError("study", f"must be one of {', '.join(STUDIES)}", shown(name))
    return validated(STUDIES[name].model, document)


def as_design(given: object) -> Design:
    """Return a design as it is, and a document as the design that it describes.

    Raises:
        DesignError: It is neither, or the document is not a design.

    Example:
        >>> as_design({"study": "layout", "layout": "S[32:1]"}).study
        'layout'
        >>> as_design("permute-demo")
        Traceback (most recent call last):
        ...
        tileviz.errors.DesignError: design: a design or its document (a mapping) is expected
    """
    if isinstance(given, Design):
        return given
    if isinstance(given, Mapping):
        return make_design(given)
    message = "a design or its document (a mapping) is expected"
    raise DesignError("design", message, shown(given))


@dataclass(frozen=True)
class Preset:
    """A named design worth opening.

    Attributes:
        name: The name on the command line, such as ``permute-demo``.
        title: A few words for people.
        note: One sentence: what it shows.
        document: The design as JSON.
    """

    name: str
    title: str
    note: str
    document: Mapping[str, Any]

    @property
    def study(self) -> str:
        """The study's name."""
        return str(self.document["study"])

    @property
    def design(self) -> Design:
        """The validated design."""
        return make_design(self.document)


def assets() -> Path:
    """Return the folder of presets and recorded runs, in a checkout or an installed package."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "assets"
    return inside if inside.is_dir() else package.parent / "assets"


@lru_cache(maxsize=1)
def presets() -> tuple[Preset, ...]:
    """Return every preset, in the order of their files.

    Example:
        >>> presets()[0].name
        'permute-demo'
    """
    found = []
    for path in sorted((assets() / "presets").glob("*.json")):
        for entry in json.loads(path.read_text(encoding="utf-8")):
            found.append(Preset(entry["name"], entry["title"], entry["note"], entry["design"]))
    return tuple(found)


def preset(name: str) -> Preset | None:
    """Return the preset called ``name``, or None."""
    return next((found for found in presets() if found.name == name), None)
