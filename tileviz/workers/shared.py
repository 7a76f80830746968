"""This process's worker pools, one for each kind of worker."""

from __future__ import annotations

from functools import lru_cache

from tileviz.workers.pool import WorkerPool

# Named here, not imported: loading the emulator to start its worker would cost the time that an
# early start is to save.
EMULATOR = "tileviz.emulator.worker"


@lru_cache(maxsize=8)
def shared_pool(module: str) -> WorkerPool:
    """Return the pool of workers that run ``module``; none is started yet.

    Example:
        >>> shared_pool("tileviz.emulator.worker") is shared_pool(EMULATOR)
        True
    """
    return WorkerPool(module)
