"""What this machine can do, in the words of the sidebar, of Home and of empty result groups."""

from __future__ import annotations

from functools import lru_cache

from tileviz.cuda.diagnostics import NvrtcNotFound
from tileviz.cuda.nvrtc import architectures, version
from tileviz.runners import RunnerStatus, statuses
from tileviz.ui import html
from tileviz.ui.html import CardText


@lru_cache(maxsize=1)
def runner_statuses() -> tuple[RunnerStatus, ...]:
    """Return what every runner says of itself; asked once, it does not change while we serve."""
    return statuses()


def _status(name: str) -> RunnerStatus:
    found = [status for status in runner_statuses() if status.name == name]
    return found[0] if found else RunnerStatus(name, False, "not part of this version")


def has_gpu() -> bool:
    """Return whether kernels can run on a GPU here."""
    return _status("gpu").available


def emulates() -> bool:
    """Return whether kernels can run in the emulator here."""
    return _status("emulator").available


def runner_summary() -> tuple[str, str]:
    """Return the best runner here and what it can do, for the sidebar."""
    if _status("gpu").available:
        return "GPU", _status("gpu").reason
    if _status("emulator").available:
        return "Emulator", "No GPU on this machine: access counts are exact, timing needs one."
    return "Model only", f"{_status('emulator').reason} Predictions work; nothing is executed."


def gpu_note() -> tuple[str, str]:
    """Return two lines for the GPU group of a result table that has no GPU run."""
    if _status("gpu").available:
        return "not run on the GPU", "choose it under “On”"
    return "no GPU in use", _status("gpu").fix or "timing needs one"


def machine_cards() -> tuple[CardText, CardText, CardText]:
    """Return the three cards of Home: emulator, GPU, compiler."""
    emulator, gpu = _status("emulator"), _status("gpu")
    return (
        CardText(
            "Emulator",
            "ok" if emulator.available else "attention",
            "Ready" if emulator.available else "Not available",
            "Runs any kernel here; access counts and races are exact"
            if emulator.available
            else f"{emulator.reason} {emulator.fix}".strip(),
        ),
        CardText(
            "GPU",
            "ok" if gpu.available else "neutral",
            gpu.reason if gpu.available else "None in use",
            "Runs the same text and adds timing"
            if gpu.available
            else f"{html.sentence(gpu.reason)} {gpu.fix or 'Timing needs one.'}",
        ),
        _compiler_card(),
    )


@lru_cache(maxsize=1)
def _compiler_card() -> CardText:
    try:
        major, minor = version()
        known = architectures()
    except NvrtcNotFound as error:
        return CardText("Compiler", "attention", "No NVRTC", str(error))
    return CardText("Compiler", "ok", f"NVRTC {major}.{minor}", f"sm_{known[0]} to sm_{known[-1]}")
