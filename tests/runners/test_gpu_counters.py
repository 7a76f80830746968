import pytest

from tileviz.cuda.kernel import Buffer
from tileviz.runners.gpu import counters
from tileviz.runners.gpu.counters import Counters, count, parse
from tileviz.runners.gpu.transport import Images, Program

CSV = """\
==PROF== Connected to process 12
==PROF== Profiling "k" - 0: 0%....50%....100% - 3 passes
==PROF== Disconnected from process 12
"ID","Kernel Name","memory_l1_wavefronts_shared","memory_l1_wavefronts_shared_ideal",\
"memory_l2_theoretical_sectors_global","memory_l2_theoretical_sectors_global_ideal"
"","","","","",""
"0","k","2,048","64","512","n/a"
"""
PROGRAM = Program(
    "k",
    (1, 1, 1),
    (1, 1, 1),
    (Buffer("y", "float32", (1,), "out"),),
    0,
    Images(b"", b""),
)


def test_counters_are_read_from_the_raw_page():
    assert parse(CSV) == (Counters(2048, 64, 512, None), "")


@pytest.mark.parametrize(
    ("output", "messages", "words"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "", "not permitted"),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded", "", "LibraryNotLoaded"),
        ("", "error: cuInit failed: no CUDA-capable device is detected", "no CUDA-capable"),
        ('"ID"\n""\n"0"', "", "printed nothing"),
        ("", "", "printed nothing"),
    ],
)
def test_why_there_are_none_is_one_plain_line(output, messages, words):
    found, reason = parse(output, messages)
    assert found is None and words in reason and "\n" not in reason


def test_without_the_profiler_nothing_is_started(monkeypatch):
    monkeypatch.setattr(counters, "find_profiler", lambda: None)
    monkeypatch.setattr(counters, "launch_once", lambda *a: pytest.fail("started"))
    assert count(PROGRAM) == (None, "no hardware counters: ncu is not found")


def test_a_profiler_that_hangs_or_is_missing_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(counters, "find_profiler", lambda: str(tmp_path / "ncu"))
    found, reason = count(PROGRAM)
    assert found is None and "ncu does not start" in reason
    slow = tmp_path / "ncu"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    found, reason = count(PROGRAM, seconds=0.2)
    assert found is None and "ncu took more than 0.2 s" in reason


def test_what_a_profiler_prints_is_read(monkeypatch, tmp_path):
    text = tmp_path / "printed"
    text.write_text(CSV)
    fake = tmp_path / "ncu"
    fake.write_text(f"#!/bin/sh\ncat {text}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(counters, "find_profiler", lambda: str(fake))
    assert count(PROGRAM)[0] == Counters(2048, 64, 512, None)
