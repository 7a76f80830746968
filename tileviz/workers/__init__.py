"""Child processes for what must not run in this one: compiling, emulating, the GPU.

They are started with ``subprocess``, never with ``multiprocessing``, whose spawn would run a
Streamlit script again in the child.
"""

from tileviz.workers.errors import (
    WorkerBusy,
    WorkerClosed,
    WorkerCrashed,
    WorkerDisabled,
    WorkerError,
    WorkerFailed,
    WorkerGarbled,
    WorkerTimeout,
)
from tileviz.workers.pool import Job, Reply, WorkerPool
from tileviz.workers.worker import Worker

__all__ = [
    "Job",
    "Reply",
    "Worker",
    "WorkerBusy",
    "WorkerClosed",
    "WorkerCrashed",
    "WorkerDisabled",
    "WorkerError",
    "WorkerFailed",
    "WorkerGarbled",
    "WorkerPool",
    "WorkerTimeout",
]
