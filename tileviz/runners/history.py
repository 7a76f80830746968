"""Recorded GPU runs: files that say on which device, with what, when and at which commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class RecordedCase:
    """One preset's run, or why there is none.

    Attributes:
        name: The preset.
        study: Its study.
        design: Its document; what a page looks for.
        seed: Of the inputs.
        run: The ``run`` object, or None where it did not run.
        skipped: Why it did not run, "" otherwise.
        baseline: What it was timed against, in alternation, "" for nothing.
        speedup: In words, how it compares; a difference within the spread is said to be none.
        bandwidth: Of a broadcast design, its versions beside a plain copy: the JSON of `Measured`;
            None where that was not measured, as in files of before this was kept.
        bandwidth_skipped: Why it was not measured, "" otherwise.
    """

    name: str
    study: str
    design: Mapping[str, Any]
    seed: int = 0
    run: Mapping[str, Any] | None = None
    skipped: str = ""
    baseline: str = ""
    speedup: str = ""
    bandwidth: Mapping[str, Any] | None = None
    bandwidth_skipped: str = ""


@dataclass(frozen=True)
class Recording:
    """One machine's runs.

    Attributes:
        recorded: Day in UTC: ``2026-11-29``.
        device: Name of the GPU.
        facts: What the device says of itself.
        versions: Of Python, NumPy, PyCUDA, NVRTC and this program.
        commit: Of this program, "" where unknown.
        seconds: The whole recording took.
        cases: One a preset.
    """

    recorded: str
    device: str
    facts: Mapping[str, Any]
    versions: Mapping[str, str]
    commit: str
    seconds: float
    cases: tuple[RecordedCase, ...] = field(default=())

    @property
    def label(self) -> str:
        """Device and date, as shown beside every recorded figure."""
        return f"recorded on {self.device}, {self.recorded}"

    @property
    def file_name(self) -> str:
        """Where it is kept: one file a device and day.

        Example:
            >>> Recording("2026-11-29", "NVIDIA H200", {}, {}, "", 1.0).file_name
            'nvidia-h200-2026-11-29.json'
        """
        kept = "".join(c if c.isalnum() else "-" for c in self.device.lower())
        return f"{'-'.join(filter(None, kept.split('-')))}-{self.recorded}.json"

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {"format": FORMAT, **asdict(self)}


def read_recording(path: Path) -> Recording:
    """Read one file.

    Raises:
        ValueError: It is no recording; names the file.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("format") != FORMAT:
            raise ValueError("another format")
        cases = tuple(RecordedCase(**case) for case in document.pop("cases"))
        return Recording(**document, cases=cases)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path.name} is no recording: {error!r:.200}") from error


def write_recording(recording: Recording, folder: Path) -> Path:
    """Write a recording into a folder, which is made; return the file.

    Raises:
        OSError: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / recording.file_name
    text = json.dumps(recording.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


@lru_cache(maxsize=4)
def recordings(folder: Path) -> tuple[Recording, ...]:
    """Return the recordings in a folder, newest first; none where there is no folder.

    Raises:
        ValueError: A file is no recording.

    Example:
        >>> recordings(Path("/nonexistent"))
        ()
    """
    found = [read_recording(path) for path in sorted(folder.glob("*.json"))]
    return tuple(sorted(found, key=lambda recording: recording.recorded, reverse=True))


def find_recorded(design: Mapping[str, Any], folder: Path) -> tuple[Recording, RecordedCase] | None:
    """Return the newest recorded run of a design, or None.

    Args:
        design: A design document.
        folder: Of the recordings.

    Raises:
        ValueError: A file is no recording.
    """
    wanted = _key(design)
    for recording in recordings(folder):
        for case in recording.cases:
            if case.run is not None and _key(case.design) == wanted:
                return recording, case
    return None


def _key(design: Mapping[str, Any]) -> str:
    # Layouts are texts in which spaces are free.
    return "".join(json.dumps(design, sort_keys=True).split())
