"""All versions and a plain copy, timed together on the stand-in; recorded, and read again."""

import json
from dataclasses import replace

import pytest

from tileviz.cuda import library
from tileviz.errors import DesignError
from tileviz.runners import bandwidth as module
from tileviz.runners.bandwidth import bandwidth_table, measure_bandwidth, recorded_bandwidths
from tileviz.runners.emulator import EmulatorRunner
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.history import RecordedCase, Recording, recordings, write_recording
from tileviz.runners.launch import MAX_BUFFER_BYTES
from tileviz.runners.record import Case, lines_of, preset_case, record
from tileviz.studies.broadcast.bandwidth import PUBLISHED
from tileviz.studies.broadcast.design import BroadcastDesign
from tileviz.studies.broadcast.plan import bytes_moved
from tileviz.studies.design import validated
from tileviz.studies.errors import NotRunnable
from tileviz.studies.registry import preset

pytestmark = pytest.mark.skipif(library.find() is None, reason="no NVRTC on this machine")

DOCUMENT = {"operands": [[1, 1, 1, 64]], "out": [8, 8, 8, 64], "expression": "batchnorm"}


def design(**changes):
    return validated(BroadcastDesign, {**DOCUMENT, **changes})


@pytest.fixture
def gpu(make_queue, quick):
    return GpuRunner(queue=make_queue(), settings=quick)


def test_every_version_and_a_copy_are_timed_in_one_request(gpu, standin, monkeypatch):
    requests, real = [], gpu._queue.run

    def spy(request, **options):
        requests.append(request)
        return real(request, **options)

    monkeypatch.setattr(gpu._queue, "run", spy)
    stages = []
    found = measure_bandwidth(design(), gpu, say=stages.append)
    (request,) = requests
    assert [program.entry for program in request.programs] == ["broadcast"] * 3 + ["copy"]
    assert len({id(program.inputs["x"]) for program in request.programs}) == 1
    assert [time.version for time in found.times] == ["before", "cinn", "ours"]
    assert all(time.us == pytest.approx(40.0) and time.launches >= 6 for time in found.times)
    assert found.copy_us == pytest.approx(40.0) and found.missing == ()
    assert found.share("ours") == pytest.approx(bytes_moved(found.design) / found.copy_bytes)
    assert (found.device, found.source) == ("Stand-in GPU", "live")
    assert found.design.sm_count == standin.FACTS.multiprocessors  # not the design's own 80
    assert stages[0].startswith("checking the beginning of before")
    assert stages[-1] == "comparing every element"


def test_whole_shapes_are_launched_and_only_their_beginning_is_emulated(gpu, monkeypatch):
    emulated, real = [], EmulatorRunner.run

    def spy(self, kernel, arrays, **options):
        emulated.append(arrays["x"].size)
        return real(self, kernel, arrays, **options)

    monkeypatch.setattr(EmulatorRunner, "run", spy)
    found = measure_bandwidth(design(out=[8, 64, 64, 64]), gpu)
    assert max(emulated) <= 1 << 20 < found.design.elements
    assert len(found.times) == 3


def test_where_the_tactic_declines_there_is_no_time_of_it(gpu):
    found = measure_bandwidth(design(operands=[[33]], out=[64, 33], expression="add"), gpu)
    assert [time.version for time in found.times] == ["before", "ours"]
    assert dict(found.missing)["cinn"].startswith("the tactic declines")


def test_a_wrong_version_has_no_time_and_says_so(gpu, monkeypatch):
    real = module.kernel

    def wrong(plan, version, whole=None):
        made = real(plan, version, whole)
        if version == "before" and whole:
            return replace(made, source=made.source.replace("- mean", "+ mean"))
        return made

    monkeypatch.setattr(module, "kernel", wrong)
    found = measure_bandwidth(design(), gpu)
    assert dict(found.missing) == {"before": "its output is wrong, so its time says nothing"}
    assert [time.version for time in found.times] == ["cinn", "ours"]


def test_a_version_that_the_emulator_faults_is_never_launched(gpu, monkeypatch):
    real = module.kernel

    def stray(plan, version, whole=None):
        made = real(plan, version, whole)
        if version != "before":
            return made
        return replace(made, source=made.source.replace("y[i] =", "y[i + 99999999] ="))

    monkeypatch.setattr(module, "kernel", stray)
    found = measure_bandwidth(design(), gpu)
    assert dict(found.missing)["before"].startswith("not launched:")
    assert [time.version for time in found.times] == ["cinn", "ours"]


def test_times_at_the_floor_are_no_figures(gpu, standin, monkeypatch):
    real = gpu._queue.run

    def short(request, **options):
        answer = real(request, **options)
        outcomes = [
            replace(
                outcome,
                series=tuple(
                    replace(series, samples=series.floor * 1.1) for series in outcome.series
                ),
            )
            for outcome in answer.outcomes
        ]
        return replace(answer, outcomes=tuple(outcomes))

    monkeypatch.setattr(gpu._queue, "run", short)
    found = measure_bandwidth(design(), gpu)
    assert found.times == () and found.copy_us is None
    assert "too short to time" in dict(found.missing)["ours"]
    rows = [row for row in module.bandwidth_rows([found]) if row.source == "live"]
    assert rows[0].rates == {} and rows[0].ceiling_gb_per_s is None


def test_a_shape_beyond_this_machine_is_refused_before_anything_is_made(gpu, monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  1024 kB\n")
    monkeypatch.setattr(module, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(module, "make_arrays", lambda *a, **k: pytest.fail("made arrays"))
    with pytest.raises(DesignError, match="1 MiB are free"):
        measure_bandwidth(design(), gpu)


def test_a_published_shape_is_beyond_the_emulator_and_within_a_gpu(gpu):
    sizes = [row.bytes for row in PUBLISHED]
    assert min(sizes) > MAX_BUFFER_BYTES
    assert sum(size <= gpu.memory_bytes() for size in sizes) == 3  # of a device of 4 GiB
    with pytest.raises(NotRunnable):
        measure_bandwidth(design(out=[-1, 8, 8, 64]), gpu)


# -- recording -------------------------------------------------------------------------------------


def test_recording_keeps_what_was_measured_and_the_table_finds_it(gpu, tmp_path):
    case = preset_case(preset("broadcast-33"))
    assert isinstance(case, Case) and case.broadcast == preset("broadcast-33").design
    lines = []
    recording = record([case], gpu, gpu.facts(), say=lines.append)
    assert recording.cases[0].bandwidth["mode"] == "cold"
    assert any("broadcast-33: bandwidth: before 40.0 us, ours 40.0 us, a plain" in s for s in lines)

    write_recording(recording, tmp_path)
    recordings.cache_clear()
    (found,) = recorded_bandwidths(tmp_path)
    assert (found.device, found.date, found.source) == (
        *("Stand-in GPU", recording.recorded),
        "recorded",
    )
    live = replace(found, source="live")
    table = bandwidth_table(tmp_path, (live,), "")
    assert [row.source for row in table.rows] == [*["published"] * 4, "live", "recorded"]
    document = json.loads(json.dumps(table.to_json(), allow_nan=False))
    assert document["rows"][4]["rates"]["ours"]["share"] == pytest.approx(found.share("ours"))


def test_every_broadcast_preset_with_a_kernel_is_to_be_timed():
    for row in PUBLISHED:
        name = "broadcast-published-" + "x".join(map(str, row.shape))
        case = preset_case(preset(name))
        assert isinstance(case, Case) and case.broadcast is not None
    other = preset_case(preset("permute-demo"))
    assert isinstance(other, Case) and other.broadcast is None


def test_what_keeps_bandwidth_from_being_measured_is_recorded(gpu, monkeypatch):
    from tileviz.runners import record as record_module

    def refuse(*arguments, **options):
        raise DesignError("out", "too little memory", [1])

    monkeypatch.setattr(record_module, "measure_bandwidth", refuse)
    case = preset_case(preset("broadcast-33"))
    (done,) = record([case], gpu, gpu.facts()).cases
    assert done.run["verified"] and done.bandwidth is None
    assert lines_of(done)[1] == "broadcast-33: bandwidth skipped (out: too little memory)"
    ticks = iter([0.0, 1.0, 500.0, 501.0])
    (late,) = record([case], gpu, gpu.facts(), clock=lambda: next(ticks)).cases
    assert late.run["verified"] and late.bandwidth_skipped == "no time was left"


def test_a_file_of_before_bandwidth_was_kept_still_reads(tmp_path):
    path = write_recording(
        Recording("2026-01-01", "Old", {}, {}, "", 1.0, (RecordedCase("a", "broadcast", {}),)),
        tmp_path,
    )
    document = json.loads(path.read_text())
    for case in document["cases"]:
        del case["bandwidth"], case["bandwidth_skipped"]
    path.write_text(json.dumps(document))
    recordings.cache_clear()
    assert recorded_bandwidths(tmp_path) == ()
    assert len(bandwidth_table(tmp_path).rows) == 4
