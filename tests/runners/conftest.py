"""Stand-ins for a GPU: a worker that has none, and a device in the test process."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tileviz.runners.gpu.client import GpuQueue
from tileviz.runners.gpu.settings import Settings
from tileviz.workers import WorkerPool

STANDIN = Path(__file__).parent / "standin"


@pytest.fixture(scope="session")
def standin() -> ModuleType:
    """The module of the stand-in device."""
    spec = importlib.util.spec_from_file_location("gpu_standin", STANDIN / "gpu_standin.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpu_standin"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def device(standin):
    return standin.StandInDevice()


@pytest.fixture(scope="session")
def quick() -> Settings:
    """Settings that time next to nothing."""
    return Settings(seconds=0.02, warm_up_seconds=0.001, least=6, most=12)


@pytest.fixture
def make_queue():
    """Make queues over the stand-in's worker; closed at the end."""
    pools = []

    def make(**options: object) -> GpuQueue:
        given = {"size": 1, "queue_limit": 32, **options}
        pools.append(WorkerPool("gpu_standin", search=[str(STANDIN)], **given))
        return GpuQueue(pools[-1])

    yield make
    for pool in pools:
        pool.close()
