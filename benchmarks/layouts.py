"""Layouts and the permute decision, beside TVM in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import ROOT, Row, fastest, process
from tileviz.layouts import TileLayout
from tileviz.studies.permute.reference import xor_free

TVM = "apache-tvm==0.27.0.post1"
ENVIRONMENT = ROOT / ".venv-tvm"

# Extents, source strides, destination strides of float32; the goal in ms.
CASES = [([32, 32], [32, 1], [1, 32], 0.13), ([4, 32], [32, 1], [1, 4], 0.05)]


def rows() -> list[Row]:
    """Time both engines on the same cases and check that they agree."""
    reference = _reference()
    found = []
    for (extents, src, dst, goal), (k, seconds) in zip(CASES, reference, strict=True):
        arguments = (tuple(extents), tuple(src), tuple(dst), 4)
        free = xor_free(*arguments)
        if k != next(k for k, pair in enumerate(free) if all(pair)):
            raise AssertionError(f"the reference chooses k = {k} for {extents}")
        ours = fastest(lambda given=arguments: xor_free(*given), repeat=200)
        name = f"k search {'x'.join(map(str, extents))} float32"
        found.append(Row(name, 1e3 * ours, "ms", goal, ("TVM", 1e3 * seconds)))
    return [*found, _apply(), _batch()]


def _reference() -> list[tuple[int, float]]:
    """Install the reference into an environment of its own, once, and time it there."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / "installed.txt"
    if not stamp.is_file() or stamp.read_text() != TVM:
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", TVM, "numpy"]
        subprocess.run(pip, check=True)
        stamp.write_text(TVM)
    script = ROOT / "benchmarks" / "peers" / "tvm_permute.py"
    cases = json.dumps([case[:3] for case in CASES])
    done = subprocess.run(
        [str(python), str(script), cases], capture_output=True, text=True, check=True
    )
    answers = json.loads(done.stdout.splitlines()[-1])
    return [(answer["k"], answer["seconds"]) for answer in answers]


def _apply() -> Row:
    layout = TileLayout([(32, 8, "m"), (8, 1024, "m"), (64, 16384, "m"), (64, 1, "m")])
    flat = np.random.default_rng(0).permutation(layout.size)
    seconds = fastest(lambda: layout.apply(flat), repeat=10)
    return Row("apply over 1,048,576 coordinates", 1e3 * seconds, "ms", 20)


def _batch() -> Row:
    """Plan 10,000 different designs through the command line."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "designs.jsonl"
        path.write_text("".join(_design(random) + "\n" for _ in range(10_000)))
        seconds = process("tileviz", "batch", str(path), repeat=3)
    return Row("10,000 plan designs through batch", seconds, "s", 5)


def _design(random: np.random.Generator) -> str:
    rows = int(random.choice([1, 2, 4, 8]))
    pitch = 32 + int(random.integers(0, 500))
    return json.dumps(
        {
            "study": "permute",
            "src": {"layout": f"S[({rows}, 32):({pitch}, 1)]"},
            "dst": {"layout": f"S[({rows}, 32):(1, {rows + int(random.integers(0, 300))})]"},
        }
    )
