"""Runs inside an environment with Numba: times its CUDA simulator on the permute, prints JSON."""

import json
import sys
import time

import numpy as np
from numba import cuda, float32


@cuda.jit
def permute(source, target):
    """Move 4x32 floats a warp from lane-major to register-major order, as permute.cu does."""
    tile = cuda.shared.array((4, 128), float32)
    lane, warp = cuda.threadIdx.x & 31, cuda.threadIdx.x >> 5
    base = (cuda.blockIdx.x * 4 + warp) * 128
    for r in range(4):
        tile[warp, (lane * 4 + r) ^ (lane >> 3)] = source[base + r * 32 + lane]
    cuda.syncthreads()
    for r in range(4):
        element = r * 32 + lane
        target[base + element] = tile[warp, element ^ (element >> 5)]


blocks = int(sys.argv[1])
data = np.arange(blocks * 512, dtype=np.float32)
out = np.zeros_like(data)
start = time.perf_counter()
permute[blocks, 128](data, out)
print(json.dumps({"seconds": time.perf_counter() - start}))
