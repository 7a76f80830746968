"""Write the kernels that the GPU tests run: ``python tests/gpu/export_kernels.py``.

The machine with the GPU may lack what the studies need, so texts, launches and expected outputs are
kept here as files. Run it again when generated texts have changed.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from dataclasses import asdict
from pathlib import Path

from tileviz import api
from tileviz.cuda import nvrtc
from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.runners.inputs import make_arrays
from tileviz.studies.registry import presets

FOLDER = Path(__file__).resolve().parent / "kernels"
SEED = 20
MOST_BYTES = 128 << 10

# Small forms of what the presets show large.
DESIGNS: dict[str, dict[str, object]] = {
    "schedule-catlass": {
        "study": "schedule",
        "problem": [100, 72, 48],
        "tile": [64, 64],
        "policy": "catlass",
        "offset": 3,
        "direction": 1,
    },
    "schedule-triton": {
        "study": "schedule",
        "problem": [64, 96, 64],
        "tile": [64, 64],
        "policy": "triton_grouped",
        "group_m": 2,
    },
    "broadcast-add": {"study": "broadcast", "operands": [[1, 33]], "out": [128, 33]},
    "broadcast-half": {
        "study": "broadcast",
        "operands": [[64, 1]],
        "out": [64, 96],
        "dtype": "float16",
    },
}
ADD = 'extern "C" __global__ void k(int* x) { x[threadIdx.x] += 1; }'


def document_of(kernel: Kernel) -> dict[str, object]:
    """Return a kernel with its expected outputs as JSON data."""
    assert kernel.reference is not None
    arrays = make_arrays(kernel, seed=SEED)
    expected = kernel.reference({b.name: arrays[b.name] for b in kernel.buffers if b.role != "out"})
    return {
        "entry": kernel.entry,
        "grid": kernel.grid,
        "block": kernel.block,
        "shared_bytes": kernel.shared_bytes,
        "tolerance": kernel.tolerance,
        "seed": SEED,
        "parameters": [
            {"buffer" if isinstance(item, Buffer) else "scalar": asdict(item)}
            for item in kernel.parameters
        ],
        "expected": {
            name: [
                array.dtype.name,
                base64.b64encode(zlib.compress(array.tobytes(), 9)).decode(),
            ]
            for name, array in expected.items()
        },
        "source": kernel.source,
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    kernels = {
        preset.name: api.kernel(preset.design) for preset in presets() if preset.study == "permute"
    }
    kernels |= {name: api.kernel(api.design(given)) for name, given in DESIGNS.items()}
    for name, kernel in kernels.items():
        text = json.dumps(document_of(kernel), indent=1)
        assert len(text) <= MOST_BYTES, f"{name}: {len(text)} bytes"
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(name, len(text))
    # The compiler writes its working folder into the image; nobody's own belongs in a snapshot.
    os.chdir(FOLDER.anchor)
    code = nvrtc.compile_cubin(ADD, arch="sm_90").image
    assert nvrtc.version()[0] == 12
    (FOLDER / "add_sm90_nvrtc12.cubin").write_bytes(code)


if __name__ == "__main__":
    main()
