"""Recording on the stand-in: what is written, what is skipped, and what a page finds again."""

import json
import re
from dataclasses import replace

import pytest

from tileviz.cuda import library
from tileviz.errors import DesignError
from tileviz.runners import record as module
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.history import (
    RecordedCase,
    Recording,
    find_recorded,
    read_recording,
    recordings,
    write_recording,
)
from tileviz.runners.protocol import RunnerStatus
from tileviz.runners.record import Case, line_of, preset_case, record, record_presets
from tileviz.studies.registry import assets, preset, presets

needs_nvrtc = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")


@pytest.fixture
def gpu(make_queue, quick):
    return GpuRunner(queue=make_queue(), settings=quick, check_seconds=5.0)


@needs_nvrtc
def test_a_preset_is_recorded_with_everything_that_names_the_machine(gpu, tmp_path):
    case = preset_case(preset("permute-demo"))
    assert isinstance(case, Case) and case.baseline_name == "k = 0"
    lines = []
    recording = record([case], gpu, gpu.facts(), seed=5, say=lines.append)
    (done,) = recording.cases
    assert done.run["verified"] is True and done.seed == 5
    assert done.run["timing"]["n"] >= 6 and done.run["gpu"]["clocks_mhz"]
    assert done.baseline == "k = 0" and done.speedup.startswith("no difference")  # both take 40 us
    assert recording.device == "Stand-in GPU" and recording.facts["arch"] == "sm_90"
    assert {"python", "numpy", "nvrtc", "driver", "binding"} <= set(recording.versions)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", recording.recorded)
    assert recording.commit == "" or re.match(r"[0-9a-f]{7,40}", recording.commit)
    assert lines[0].startswith("permute-demo: verified, 40.0 us")

    path = write_recording(recording, tmp_path / "runs")
    assert path.name == f"stand-in-gpu-{recording.recorded}.json"
    assert read_recording(path) == json_like(recording)
    recordings.cache_clear()
    found = find_recorded(preset("permute-demo").design.document(), tmp_path / "runs")
    assert found is not None and found[1].name == "permute-demo"
    assert found[0].label == f"recorded on Stand-in GPU, {recording.recorded}"
    assert find_recorded(preset("permute-padded-33").design.document(), tmp_path / "runs") is None


def json_like(recording):
    cases = tuple(
        replace(case, **json.loads(json.dumps({"run": case.run, "design": case.design})))
        for case in recording.cases
    )
    facts = json.loads(json.dumps(recording.facts))
    return replace(recording, cases=cases, facts=facts)


def test_what_cannot_run_is_recorded_with_its_reason(gpu, monkeypatch):
    case = preset_case(preset("permute-demo"))
    large = replace(case.kernel, grid=(1, 70_000, 1))
    unable = RecordedCase("other", "layout", {}, skipped="the study layout generates no kernel")
    recording = record([replace(case, kernel=large), unable], gpu, gpu.facts())
    first, second = recording.cases
    assert first.run is None and first.skipped.startswith("grid: 70000")
    assert second == unable


def test_no_case_is_begun_when_the_time_is_over(gpu):
    ticks = iter([0.0, 500.0, 501.0])
    case = preset_case(preset("permute-demo"))
    facts = gpu.facts()
    recording = record([case], gpu, facts, budget=240.0, clock=lambda: next(ticks))
    assert recording.cases[0].skipped == "no time was left of 240 s" and recording.seconds == 501.0


def test_every_preset_becomes_a_case_or_says_why_not():
    found = [preset_case(known) for known in presets()]
    assert len(found) == len(presets())
    for case in found:
        assert isinstance(case, Case) or case.skipped
    assert sum(isinstance(case, Case) for case in found) >= 4


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "cases": [1]}'])
def test_a_file_that_is_no_recording_is_named(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"bad\.json is no recording"):
        read_recording(path)


def test_the_newest_recording_of_a_design_is_found(tmp_path):
    design = {"study": "permute", "src": {"layout": "S[4]"}}
    for day, device in (("2026-01-01", "Old"), ("2026-02-01", "New")):
        case = RecordedCase("demo", "permute", design, run={"verified": True})
        write_recording(Recording(day, device, {}, {}, "", 1.0, (case,)), tmp_path)
    recordings.cache_clear()
    recording, _ = find_recorded(dict(reversed(design.items())), tmp_path)
    assert recording.device == "New"


def test_committed_recordings_are_valid_and_name_device_and_date():
    recordings.cache_clear()
    for recording in recordings(assets() / "runs"):
        assert recording.device and recording.file_name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", recording.recorded)


def test_without_a_gpu_nothing_is_recorded(monkeypatch, tmp_path):
    missing = RunnerStatus("gpu", False, "no driver", "install one")
    monkeypatch.setattr(module.GpuRunner, "status", lambda self: missing)
    with pytest.raises(DesignError, match="nothing to record on: no driver; install one"):
        record_presets(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(module.GpuRunner, "status", lambda self: RunnerStatus("gpu", True, ""))
    monkeypatch.setattr(module, "preset_cases", lambda: pytest.fail("began to run"))
    (tmp_path / "file").write_text("")
    with pytest.raises(DesignError, match="out: cannot be written"):
        record_presets(tmp_path / "file" / "runs")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"verified": False, "timing": None}, "NOT VERIFIED, not timed"),
        (
            {
                "verified": True,
                "timing": {
                    "median_us": 3.0,
                    "p10_us": 2.9,
                    "p90_us": 3.2,
                    "mode": "warm",
                    "resolved": False,
                },
            },
            "verified, 3.0 us (2.9 to 3.2), warm, at the floor of a launch",
        ),
    ],
)
def test_a_line_about_a_case_hides_nothing(run, words):
    assert line_of(RecordedCase("demo", "permute", {}, run=run)) == f"demo: {words}"


def test_the_command_says_what_is_missing_and_exits_with_2(monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from tileviz.cli import app

    missing = RunnerStatus("gpu", False, "no driver", "install one")
    monkeypatch.setattr(module.GpuRunner, "status", lambda self: missing)
    plain = CliRunner().invoke(app, ["record", "--out", str(tmp_path)])
    assert plain.exit_code == 2 and "nothing to record on: no driver; install one" in plain.output
    spoken = CliRunner().invoke(app, ["record", "--out", str(tmp_path), "--json"])
    assert spoken.exit_code == 2
    assert json.loads(spoken.stdout)["error"]["field"] == "gpu"


@needs_nvrtc
def test_the_command_records_every_preset(gpu, monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from tileviz.cli import app

    monkeypatch.setattr(module, "GpuRunner", lambda **options: gpu)
    monkeypatch.setattr(gpu, "status", lambda: RunnerStatus("gpu", True, "a stand-in"))
    cases = [preset_case(preset("permute-demo")), preset_case(preset("permute-padded-33"))]
    monkeypatch.setattr(module, "preset_cases", lambda: cases)
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "runs"), "--json"])
    assert done.exit_code == 0, done.output
    (file,) = (tmp_path / "runs").glob("*.json")
    assert json.loads(done.stdout) == {"file": str(file)}
    assert all(case.run["verified"] for case in read_recording(file).cases)
