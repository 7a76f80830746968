"""Whether there is a GPU to use, without touching the driver in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tileviz.runners.gpu.device import DeviceError, Facts
from tileviz.runners.gpu.faults import INSTALL, Fault, explain
from tileviz.runners.gpu.transport import unpack_facts
from tileviz.runners.install_gpu import DRIVER_LIBRARY, has_driver

_SECONDS = 60
_ROOT = Path(__file__).resolve().parents[3]
_NVIDIA = "0x10de"


@lru_cache(maxsize=1)
def look() -> Facts | Fault:
    """Return the device that would be used, or why there is none; asked once a process.

    Only where a driver loads and PyCUDA is installed does this start anything: a child that looks
    and ends, so that no CUDA is initialised here.

    Example:
        >>> isinstance(look(), (Facts, Fault))
        True
    """
    if not has_driver():
        if _has_card():
            return Fault(
                f"an NVIDIA card, but no driver ({DRIVER_LIBRARY} does not load)",
                "install the NVIDIA driver",
            )
        return Fault("no NVIDIA GPU on this machine")
    if find_spec("pycuda") is None:
        return Fault("a GPU driver, but PyCUDA is not installed", INSTALL)
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            cwd=_ROOT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Fault("the GPU driver does not answer", "look at nvidia-smi")
    try:
        said = json.loads(done.stdout)
        return unpack_facts(said["facts"]) if said["facts"] else explain(str(said["fault"]))
    except (ValueError, TypeError, KeyError):
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        return Fault(f"looking for a GPU failed: {last[:200]}")


def _has_card() -> bool:
    """Return whether the PCI bus holds a display or compute device of NVIDIA's."""
    found = Path("/sys/bus/pci/devices")
    for device in found.glob("*") if found.is_dir() else ():
        try:
            vendor = (device / "vendor").read_text(encoding="ascii").strip()
            kind = (device / "class").read_text(encoding="ascii").strip()
        except OSError:  # it was unplugged meanwhile, or is hidden from us
            continue
        if vendor == _NVIDIA and kind.startswith("0x03"):
            return True
    return False


def main() -> None:
    """Print what the device says, or why there is none, as one JSON object."""
    from tileviz.runners.gpu.driver import look as look_here

    try:
        print(json.dumps({"facts": asdict(look_here()), "fault": ""}))
    except DeviceError as error:
        print(json.dumps({"facts": None, "fault": error.message}))


if __name__ == "__main__":
    main()
