"""The bandwidth table through Python and the command line: the same numbers from the same call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from tileviz import api
from tileviz.cli import app
from tileviz.errors import DesignError
from tileviz.runners import bandwidth as module
from tileviz.runners.protocol import RunnerStatus, RunnerUnavailable
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.measured import Measured, VersionTime
from tileviz.studies.registry import preset

NAME = "broadcast-published-256x64x64x192"


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that says it is here."""
    here = RunnerStatus("gpu", True, "a made-up GPU")
    monkeypatch.setattr(module.GpuRunner, "status", lambda self: here)
    monkeypatch.setattr(module, "measure_bandwidth", measure)


def measure(design: BroadcastDesign, runner: Any, **told: Any) -> Measured:
    told["say"]("timing")
    times = tuple(VersionTime(name, 400.0, 399.0, 401.0, 50) for name in ("before", "ours"))
    missing = (("cinn", "the tactic declines"),)
    return Measured(design, "Made-up GPU", "2026-11-29", "live", 390.0, times, missing)


def shell(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["bandwidth", *arguments])


def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    none = RunnerStatus("gpu", False, "no NVIDIA GPU here", "get one")
    monkeypatch.setattr(module.GpuRunner, "status", lambda self: none)


def test_python_and_the_command_line_give_the_same_rows() -> None:
    found = preset(NAME)
    assert found is not None
    said: list[str] = []
    table = api.bandwidth(found.design, say=said.append)
    assert said == ["timing"] and table.not_measured == ""
    live = [row for row in table.rows if row.source == "live"]
    assert [(row.device, row.rates["ours"].us) for row in live] == [("Made-up GPU", 400.0)]
    done = shell(NAME, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(json.dumps(table.to_json()))


def test_the_terminal_says_the_verdict_first_then_every_row_with_its_source() -> None:
    done = shell(NAME)
    lines = " ".join(done.stdout.split())
    assert done.stdout.startswith("✓ Of the 4,130 GB/s of a plain copy in the same run: before 97")
    assert "V100, published" in lines and "92.26 %" in lines and "97.50 %" in lines
    assert lines.count("published only as a") == 4


def test_without_a_gpu_the_table_says_what_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch)
    done = shell(NAME)
    assert done.exit_code == 0 and "Not measured: no NVIDIA GPU here; get one." in done.stdout
    document = json.loads(shell(NAME, "--json").stdout)
    assert document["not_measured"] == "no NVIDIA GPU here; get one"
    assert all(row["source"] != "live" for row in document["rows"])


def test_a_gpu_that_is_insisted_on_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch)
    assert shell(NAME, "--on", "gpu").exit_code == 2
    assert "says nothing of time" in shell(NAME, "--on", "emulator").output

    def lost(*arguments: Any, **options: Any) -> Measured:
        raise RunnerUnavailable("the GPU is busy")

    here = RunnerStatus("gpu", True, "a made-up GPU")
    monkeypatch.setattr(module.GpuRunner, "status", lambda self: here)
    monkeypatch.setattr(module, "measure_bandwidth", lost)
    assert "the GPU is busy" in shell(NAME, "--on", "gpu").output
    assert "Not measured: the GPU is busy." in shell(NAME).stdout


def test_other_studies_have_no_bandwidth_table() -> None:
    other = preset("permute-demo")
    assert other is not None
    with pytest.raises(DesignError, match="the study broadcast has"):
        api.bandwidth(other.design)
    assert shell("permute-demo", "--json").exit_code == 2
