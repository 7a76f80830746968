"""The child that owns the GPU's context: ``python -m tileviz.runners.gpu.worker``."""

from __future__ import annotations

from tileviz.runners.gpu.driver import PycudaDevice
from tileviz.runners.gpu.service import Service
from tileviz.runners.gpu.settings import FRAME_BYTES
from tileviz.workers import process

if __name__ == "__main__":
    service = Service(PycudaDevice)
    # No limits: CUDA reserves far more address space than it uses, and opens devices as it goes.
    process.serve(service.handle, prepare=service.prepare, frame_bytes=FRAME_BYTES)
