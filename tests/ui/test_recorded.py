"""Recorded runs: shown with device and date, and only for the design they are of."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tileviz.runners.history import RecordedCase, Recording, recordings, write_recording
from tileviz.studies.registry import preset
from tileviz.ui import recorded as module
from tileviz.ui.recorded import recorded

RUN = {
    "verified": True,
    "note": "",
    "gpu": {
        "timings": [
            {
                "median_us": 12.0,
                "p10_us": 11.0,
                "p90_us": 13.0,
                "n": 99,
                "mode": "cold",
                "noisy": False,
                "floor_us": 2.0,
                "launches": 1,
                "resolved": True,
            }
        ],
        "bytes_per_s": None,
        "ceiling_bytes_per_s": None,
        "cycles": [],
        "counters": None,
        "counters_note": "",
        "clocks_mhz": [],
        "checked": "",
    },
}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep one made-up recording of one preset, as a file of a folder of this test."""
    design = preset("permute-declined").design.document()  # type: ignore[union-attr]
    case = RecordedCase("permute-declined", "permute", design, run=RUN, baseline="k = 0")
    case = RecordedCase(**{**vars(case), "speedup": "no difference beyond the spread of ± 9.0 %"})
    made = Recording("2031-05-06", "Test GPU", {}, {"driver": "CUDA 13.0"}, "", 1.0, (case,))
    write_recording(made, tmp_path / "runs")
    recordings.cache_clear()
    monkeypatch.setattr(module, "assets", lambda: tmp_path)


def _words(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", markup))


def test_device_date_and_figures_are_shown(kept: None) -> None:
    said = _words(recorded(preset("permute-declined").design))  # type: ignore[union-attr]
    assert "Not run here: recorded on Test GPU, 2031-05-06, CUDA 13.0; output correct." in said
    assert "Cold cache: 12.0 µs median" in said
    assert "Against k = 0: no difference beyond the spread of ± 9.0 %." in said


def test_another_design_has_none(kept: None) -> None:
    assert recorded(preset("permute-demo").design) == ""  # type: ignore[union-attr]


def test_the_page_shows_it_where_there_is_no_gpu(
    kept: None, open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    link = {"src": "S[(8,16):(16,1)]", "dst": "S[(8,16):(1,8)]"}
    monkeypatch.setattr("tileviz.ui.machine.has_gpu", lambda: False)
    page = open_page("pages/1_Permute_layout.py", link)
    assert any("recorded on Test GPU" in e.proto.body for e in page.get("html"))
    monkeypatch.setattr("tileviz.ui.machine.has_gpu", lambda: True)
    page = open_page("pages/1_Permute_layout.py", link)
    assert not any("recorded on Test GPU" in e.proto.body for e in page.get("html"))
