"""tileviz: plan a layout, predict its memory behaviour, write the CUDA, run that very text.

Example:
    >>> import tileviz as tv
    >>> demo = tv.design(study="permute", src={"layout": "S[(4, 32):(32, 1)]"},
    ...                  dst={"layout": "S[(4, 32):(1, 4)]"})
    >>> tv.plan(demo).reference.k
    2
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Loaded on first use, so that importing the package costs nothing.
_HOMES = {
    "BlockSwizzle": "tileviz.studies.schedule.swizzle",
    "DesignError": "tileviz.errors",
    "Swizzle": "tileviz.layouts",
    "TileLayout": "tileviz.layouts",
    "bandwidth": "tileviz.api",
    "check": "tileviz.checking",
    "compare": "tileviz.comparing",
    "parse_layout": "tileviz.layouts",
    "design": "tileviz.api",
    "explain": "tileviz.api",
    "kernel": "tileviz.api",
    "plan": "tileviz.api",
    "program": "tileviz.api",
    "run": "tileviz.api",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
