import json
from dataclasses import asdict

import pytest

from tileviz.runners.gpu.counters import Counters
from tileviz.runners.gpu.patterns import CycleRow
from tileviz.runners.gpu.report import GpuReport
from tileviz.runners.protocol import RunnerInfo, Timing
from tileviz.runners.results import Run
from tileviz.runners.words import gpu_lines, timing_line

COLD = Timing(41.25, 40.0, 43.0, 120, "cold", floor_us=2.0)
SHORT = Timing(3.0, 2.9, 3.2, 500, "warm", floor_us=2.5, launches=200, resolved=False)


@pytest.fixture
def document(standin):
    def make(**changes):
        fields = {
            "device": standin.FACTS,
            "timings": (COLD, SHORT),
            "moved_bytes": 1 << 20,
            "bytes_per_s": 2.5e10,
            "ceiling_bytes_per_s": 1e12,
            "copy_us": 5.0,
            "clocks_mhz": (1500.0, 1490.0),
            "cycles": (CycleRow(6, "st", 4, 32.0, 1.0, 33.1, 1.2),),
            "counters": Counters(2048, 64, None, None),
            "checked": "every access was checked in the emulator first",
        }
        info = RunnerInfo("gpu", "Stand-in GPU", "sm_90")
        run = Run(info, True, None, (), (), None, {}, gpu=GpuReport(**{**fields, **changes}))
        return json.loads(json.dumps(run.to_json()))

    return make


def test_everything_measured_has_its_line(document):
    lines = gpu_lines(document())
    assert lines == [
        "Cold cache: 41.2 µs median, 40.0 to 43.0 (10th to 90th percentile, 120 launches).",
        "Warm cache, 200 launches back to back: too short to time: an empty kernel takes 2.5 µs.",
        "25.00 GB/s of its 1,048,576 bytes, 2 % of the 1.00 TB/s of a large copy in the same run; "
        "a copy of as many bytes takes 5.0 µs.",
        "Cycles of a shared access: line 6 st 33.1 (1.2 free of conflicts).",
        "Counted by the hardware: 2,048 shared wavefronts, 64 ideal.",
        "Clock before and after: 1500 and 1490 MHz.",
    ]


def test_what_was_not_measured_has_none(document):
    lines = gpu_lines(
        document(
            timings=(SHORT,),
            bytes_per_s=None,
            cycles=(),
            clocks_mhz=(),
            counters=None,
            counters_note="counters not permitted: the administrator must allow them",
            checked="not checked beforehand: more than 20 seconds",
        )
    )
    assert lines[0].startswith("Warm cache, 200 launches back to back: too short")
    assert lines[1:] == [
        "Counters not permitted: the administrator must allow them.",
        "Not checked beforehand: more than 20 seconds.",
    ]
    assert "3.0" not in lines[0]  # the time itself is not said


def test_noise_is_said():
    assert timing_line(asdict(Timing(9.0, 5.0, 30.0, 20, "warm", noisy=True))).endswith("; noisy.")


def test_a_run_elsewhere_says_only_its_note():
    run = Run(RunnerInfo("emulator", "", ""), True, None, (), (), None, {}, note="not a GPU: busy.")
    assert gpu_lines(run.to_json()) == ["Not a GPU: busy."]
    assert gpu_lines(Run(RunnerInfo("e", "", ""), True, None, (), (), None, {}).to_json()) == []
