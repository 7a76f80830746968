"""Runs inside the reference's own environment: times its k search, prints JSON."""

import json
import sys
import time

from tvm.backend.cuda.tile_primitive.permute_layout import warp_xor_swizzle as reference


def fastest(work, repeat):
    """Return the shortest of several runs, in seconds."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


answers = []
for extents, src, dst in json.loads(sys.argv[1]):
    registers = 1
    for extent in extents:
        registers *= extent
    arguments = (extents, src, dst, 4, registers // 32)
    seconds = fastest(lambda given=arguments: reference._choose_xor_k(*given), 20)
    answers.append({"k": reference._choose_xor_k(*arguments), "seconds": seconds})
print(json.dumps(answers))
