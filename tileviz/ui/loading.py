"""Loading the pages: everything at once, and one thread at a time.

Every session of a server runs its page in a thread. Two threads that import packages whose modules
import each other can meet half-loaded modules, so that two tabs opened at once on a fresh server
end in an import error. Imported here, under one lock, nothing is left to be loaded later.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from threading import Lock
from types import ModuleType

_LOCK = Lock()
# The shell and the entry of `python -m`; no page needs them.
_LEFT_OUT = {"tileviz.cli", "tileviz.__main__"}
_loaded = False


def draw(page: str) -> None:
    """Draw a page.

    Args:
        page: The module that holds its ``page`` function.
    """
    load()
    import_module(page).page()


def load() -> None:
    """Import every module that a page can need; the first call takes about a second."""
    global _loaded
    with _LOCK:
        if not _loaded:
            for _ in _modules(import_module("tileviz")):
                pass
            _loaded = True


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    """Yield every module below a package, imported."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name not in _LEFT_OUT:
            module = import_module(found.name)
            yield module
            if found.ispkg:
                yield from _modules(module)
