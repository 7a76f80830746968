"""Hardware counters of one launch by Nsight Compute, where it is found and allowed.

The profiler watches a child that launches the kernel once (`tileviz.runners.gpu.once`). Where
counters are not permitted, the cycles that the probes count are what is left.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tileviz.runners.gpu.settings import Settings
from tileviz.runners.gpu.transport import Program, Request, pack_request
from tileviz.workers import wire

# Of the source counters: summed over all instructions of the kernel.
_METRICS = {
    "memory_l1_wavefronts_shared": "shared_wavefronts",
    "memory_l1_wavefronts_shared_ideal": "shared_ideal",
    "memory_l2_theoretical_sectors_global": "global_sectors",
    "memory_l2_theoretical_sectors_global_ideal": "global_ideal",
}
_SECONDS = 120
_ROOT = Path(__file__).resolve().parents[3]
_PLACES = ("/usr/local/cuda/bin", "/opt/nvidia/nsight-compute")


@dataclass(frozen=True)
class Counters:
    """What the hardware counted in one launch, summed over the kernel.

    Attributes:
        shared_wavefronts: Wavefronts of shared-memory instructions.
        shared_ideal: Those that the accesses would need without conflicts.
        global_sectors: Sectors that global instructions ask of L2.
        global_ideal: Those that perfectly coalesced accesses would ask.
    """

    shared_wavefronts: int | None
    shared_ideal: int | None
    global_sectors: int | None
    global_ideal: int | None


def find_profiler() -> str | None:
    """Return the path of ``ncu``, or None."""
    found = shutil.which("ncu")
    if found is None:
        folders = [place for place in _PLACES if Path(place).is_dir()]
        names = [str(path) for folder in folders for path in Path(folder).glob("**/ncu")]
        found = max(names, default=None)
    return found


def count(program: Program, *, seconds: float = _SECONDS) -> tuple[Counters | None, str]:
    """Return the counters of one launch, or None and the reason in one line."""
    profiler = find_profiler()
    if profiler is None:
        return None, "no hardware counters: ncu is not found"
    options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    options += ["--metrics", ",".join(_METRICS), "--launch-count", "1"]
    return parse(*launch_once([profiler, *options], program, seconds))


def launch_once(before: Sequence[str], program: Program, seconds: float) -> tuple[str, str]:
    """Run the one-launch child behind a tool's command line; return its output and its messages."""
    request = Request((program,), Settings(timing=False))
    header, arrays = pack_request(request)
    with tempfile.TemporaryDirectory(prefix="tileviz-once-") as folder:
        path = Path(folder) / "request"
        with path.open("wb") as file:
            wire.send(file, header, arrays)
        command = [*before, sys.executable, "-m", "tileviz.runners.gpu.once", str(path)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": _search_path()},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "", f"{Path(before[0]).name} took more than {seconds:g} s"
        except OSError as error:
            return "", f"{Path(before[0]).name} does not start: {error}"
    return done.stdout, done.stderr


def parse(output: str, messages: str = "") -> tuple[Counters | None, str]:
    """Return the counters in ncu's CSV output, or None and the reason.

    Example:
        >>> parse("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission ...")[1]
        'counters not permitted: the administrator must allow them (ERR_NVGPUCTRPERM)'
    """
    everything = f"{output}\n{messages}"
    if "ERR_NVGPUCTRPERM" in everything:
        reason = "the administrator must allow them (ERR_NVGPUCTRPERM)"
        return None, f"counters not permitted: {reason}"
    rows = list(csv.reader(line for line in output.splitlines() if line.startswith('"')))
    if len(rows) >= 3:  # names, units, then one row a launch
        found = dict(zip(rows[0], rows[2], strict=False))
        values = {field: _whole(found.get(metric)) for metric, field in _METRICS.items()}
        if any(value is not None for value in values.values()):
            return Counters(**values), ""
    lines = [line for line in everything.splitlines() if "==ERROR==" in line or "rror:" in line]
    spoken = lines or [line for line in messages.splitlines() if line.strip()]
    reason = spoken[0].replace("==ERROR==", "").strip()[:200] if spoken else "it printed nothing"
    return None, f"no hardware counters: {reason}"


def _whole(text: str | None) -> int | None:
    cleaned = (text or "").replace(",", "").strip()
    try:
        return round(float(cleaned))
    except ValueError:
        return None


def _search_path() -> str:
    return os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
