from pathlib import Path

import pytest

from tileviz.workers import Worker, WorkerPool

STANDIN = str(Path(__file__).parent / "standin")


@pytest.fixture
def worker():
    made = Worker("misbehaving_worker", search=[STANDIN])
    yield made
    made.close()


@pytest.fixture
def make_pool():
    pools = []

    def make(**options):
        pools.append(WorkerPool("misbehaving_worker", search=[STANDIN], **options))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()
