"""What is installed, which runners work, and the one command that fixes what does not."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tileviz.runners import RunnerStatus, statuses

# Distribution, what it is for, and whether the app needs it.
_PACKAGES = (
    ("numpy", "the engine", True),
    ("pydantic", "designs", True),
    ("typer", "the command line", True),
    ("jinja2", "generated CUDA", True),
    ("streamlit", "the pages", True),
    ("plotly", "the figures", True),
    ("nvidia-cuda-nvrtc-cu12", "compiling CUDA without a GPU", False),
    ("nvidia-cuda-runtime-cu12", "half-precision headers", False),
    ("nvidia-cuda-nvdisasm", "machine-code counts (optional)", False),
    ("nvidia-ml-py", "GPU clocks (optional)", False),
    ("pycuda", "running on a GPU", False),
)


@dataclass(frozen=True)
class Package:
    """An installed or missing package.

    Attributes:
        name: Its name for pip.
        purpose: What it is for.
        version: Installed version, None where missing.
        needed: Whether the app cannot do without it.
    """

    name: str
    purpose: str
    version: str | None
    needed: bool


@dataclass(frozen=True)
class Diagnosis:
    """The state of this installation.

    Attributes:
        python: Version of the interpreter.
        system: Operating system and machine.
        packages: What is installed.
        runners: Which runners work, and why not.
        fixes: One command for each thing that does not work, most useful first.
    """

    python: str
    system: str
    packages: tuple[Package, ...]
    runners: tuple[RunnerStatus, ...]
    fixes: tuple[str, ...]

    @property
    def mode(self) -> str:
        """``gpu``, ``emulator``, or ``model only`` where nothing can run."""
        working = [runner.name for runner in self.runners if runner.available]
        return "gpu" if "gpu" in working else working[0] if working else "model only"

    def to_json(self) -> dict[str, Any]:
        """Return the ``doctor`` object of the results."""
        return {
            "mode": self.mode,
            "python": self.python,
            "system": self.system,
            "runners": [asdict(runner) for runner in self.runners],
            "packages": [asdict(package) for package in self.packages],
            "fixes": list(self.fixes),
        }


def diagnose() -> Diagnosis:
    """Look at this installation; starts no runner.

    Example:
        >>> diagnose().mode in ("gpu", "emulator", "model only")
        True
    """
    packages = tuple(
        Package(name, purpose, _version(name), needed) for name, purpose, needed in _PACKAGES
    )
    runners = statuses()
    return Diagnosis(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=packages,
        runners=runners,
        fixes=tuple(_fixes(packages, runners)),
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _fixes(packages: Iterable[Package], runners: Iterable[RunnerStatus]) -> list[str]:
    missing = [package.name for package in packages if package.needed and not package.version]
    fixes = [f"{sys.executable} -m pip install -r requirements.txt"] if missing else []
    for runner in runners:
        if not runner.available and runner.fix and runner.fix not in fixes:
            fixes.append(runner.fix)
    return fixes
