"""The worker's work on a stand-in device, in the test process."""

from dataclasses import replace

import numpy as np
import pytest

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.runners.gpu.device import DeviceError
from tileviz.runners.gpu.patterns import strided
from tileviz.runners.gpu.service import Service, Session
from tileviz.runners.gpu.transport import Images, Program, Request

COUNT = 64
X = np.linspace(1, 2, COUNT, dtype=np.float32)
PROBES = Images(b"", b"probes")


def program(entry, kind="float32", role="out", **changes):
    parameters = (Buffer("x", kind, (COUNT,), "in"), Buffer("y", kind, (COUNT,), role))
    inputs = {"x": X.astype(np.dtype(kind))}
    given = Program(entry, (1, 1, 1), (64, 1, 1), parameters, 0, Images(b"", b"text"), inputs)
    return replace(given, **changes)


@pytest.fixture
def ask(device, quick):
    session = Session(device)

    def run(*programs, timing=False, patterns=(), **changes):
        settings = replace(quick, timing=timing, **changes)
        return session.answer(Request(programs, settings, PROBES, patterns))

    run.session = session
    return run


def test_a_right_kernel_is_run_and_everything_freed(ask, device):
    answer, lost = ask(program("double"))
    (outcome,) = answer.outcomes
    assert not lost and outcome.problems == () and outcome.series == ()
    assert outcome.outputs["y"].tolist() == (2 * X).tolist()
    assert outcome.usage.registers == 16
    assert device.memory == {}


def test_what_a_kernel_does_not_write_is_nan(ask):
    (outcome,) = ask(program("half"))[0].outcomes
    assert np.isnan(outcome.outputs["y"][COUNT // 2 :]).all()
    assert outcome.outputs["y"][0] == X[0]


def test_integers_are_run_over_two_poisons(ask):
    given = {"x": np.full(COUNT, -1, np.int32)}
    right = ask(program("copy_int", "int32", inputs=given))[0].outcomes[0]
    assert right.outputs["y"].tolist() == [-1] * COUNT  # -1 is the first poison, and legal
    half = ask(program("half_int", "int32", inputs=given))[0].outcomes[0]
    assert half.outputs["y"].tolist() == [-1] * 32 + [0x5A5A5A5A] * 32


@pytest.mark.parametrize(
    ("entry", "buffer", "words"),
    [
        ("after", "y", "wrote 4 bytes after y: nearest is element 66, and it has 64"),
        ("before", "y", "wrote 4 bytes before y: nearest is element -1"),
        ("writes_input", "x", "wrote to its input x"),
    ],
)
def test_stray_writes_are_reported_and_not_timed(ask, entry, buffer, words):
    answer, lost = ask(program(entry), timing=True)
    (problem,) = answer.outcomes[0].problems
    assert (problem.kind, problem.buffer) == ("out_of_bounds", buffer) and words in problem.message
    assert answer.outcomes[0].series == () and not lost


@pytest.mark.parametrize(
    ("entry", "kind", "lost"),
    [
        ("illegal", "out_of_bounds", True),
        ("failure", "trap", True),
        ("resources", "limit", False),
        ("hang", "limit", True),
    ],
)
def test_faults_of_a_kernel_end_the_context_or_not(ask, device, entry, kind, lost):
    answer, gone = ask(program(entry), limit_seconds=0.05)
    assert gone is lost and answer.unavailable == ""
    assert answer.outcomes[0].problems[0].kind == kind
    if not lost:
        assert device.memory == {}


def test_the_program_at_fault_is_named_among_several(ask):
    answer, _ = ask(program("double"), program("resources"), program("double"))
    first, second, third = answer.outcomes
    assert first.outputs and not first.problems
    assert second.problems and not second.outputs
    assert not third.problems and not third.outputs


def test_a_program_that_dies_while_it_is_timed_keeps_its_outputs(ask, device):
    def fail(address, size):
        raise DeviceError("cuMemAlloc failed: out of memory")

    real = device.allocate
    device.allocate = lambda size: fail(0, size) if size > 1 << 24 else real(size)
    answer, _ = ask(program("double"), timing=True)
    assert answer.unavailable == "cuMemAlloc failed: out of memory"
    assert device.memory == {}


def test_times_come_with_floor_copy_ceiling_clock_and_cycles(ask, standin):
    patterns = (strided(1, "ld"), strided(32, "ld"))
    answer, _ = ask(program("double"), timing=True, patterns=patterns)
    cold, warm = answer.outcomes[0].series
    assert (cold.mode, warm.mode, cold.launches) == ("cold", "warm", 1)
    assert set(cold.samples.tolist()) == {standin.KERNEL_US}
    assert set(cold.floor.tolist()) == {standin.EMPTY_US}
    assert len(cold.copy) == len(cold.samples) and len(warm.copy) == 0
    copied, times = answer.copy
    assert copied == 2 * (64 << 20) and len(times) == 20
    assert answer.clocks == (1000.0, 1000.0) and answer.cycles == (1.0, 32.0)


def test_short_kernels_are_timed_back_to_back_too(ask, standin, monkeypatch):
    monkeypatch.setattr(standin, "KERNEL_US", 4.0)
    series = ask(program("double"), timing=True)[0].outcomes[0].series
    assert [s.launches for s in series] == [1, 1, 200]
    assert set(series[2].samples.round(6).tolist()) == {4.0}
    assert set(series[2].floor.round(6).tolist()) == {2.0}


def test_a_kernel_in_place_sees_the_same_input_in_every_cold_launch(ask, device):
    buffers = (Buffer("z", "float32", (COUNT,), "inout"),)
    one = Program("twice", (1, 1, 1), (64, 1, 1), buffers, 0, Images(b"", b"text"), {"z": X})
    answer, _ = ask(one, timing=True)
    assert answer.outcomes[0].outputs["z"].tolist() == (2 * X).tolist()
    launches = [i for i, entry in enumerate(device.log) if entry == ("launch", "twice")]
    cold = [i for i in launches if device.log[i - 1] == ("fill", 64 << 20)]
    assert cold and all(device.log[i - 2] == ("copy", 4 * COUNT) for i in cold)


def test_a_request_that_is_too_large_is_refused_before_anything_is_allocated(device, quick):
    device.free = 1 << 19
    session = Session(device)
    answer, lost = session.answer(Request((program("double"),), quick, PROBES))
    assert not lost and "0.3 MiB" in answer.unavailable and answer.outcomes == ()
    assert device.log == [] and device.memory == {}


def test_machine_code_for_another_device_falls_back_to_ptx(ask):
    images = Images(b"\x7fELF....", b"text")
    assert ask(program("double", images=images))[0].outcomes[0].problems == ()


def test_a_ptx_that_is_too_new_says_so(ask):
    answer, lost = ask(program("double", images=Images(b"", b"toolchain")))
    assert "unsupported toolchain" in answer.unavailable and not lost


def test_scalars_reach_the_kernel(ask, device):
    seen = []
    device.run_scaled = lambda *arguments: seen.append(arguments)
    parameters = (Buffer("y", "float32", (4,), "out"), Scalar("n", "float16", 1.5))
    ask(Program("scaled", (1, 1, 1), (1, 1, 1), parameters, 0, Images(b"", b"text")))
    pointer, scalar = seen[0]
    assert pointer.bytes == 16 and (scalar.dtype, scalar.value) == ("float16", 1.5)


def test_without_a_device_every_request_says_why():
    def none():
        raise DeviceError("cuInit failed: no CUDA-capable device is detected")

    service = Service(none)
    assert service.prepare() == {}
    header, _ = service.handle({"op": "look"}, [])
    assert header["unavailable"].endswith("is detected") and header["retire"]


def test_a_lost_or_leaking_context_retires_the_worker(device):
    service = Service(lambda: device)
    service.prepare()
    assert not service.handle({"op": "look"}, [])[0]["retire"]
    session = service._session
    assert not session.leaking()
    device.free -= 300 << 20
    assert session.leaking()
    device.lost = "gone"
    assert session.leaking()
    with pytest.raises(ValueError, match="unknown operation"):
        service.handle({"op": "dance"}, [])


def test_on_a_card_with_a_screen_a_launch_may_take_a_second(standin, quick):
    device = standin.StandInDevice(replace(standin.FACTS, display=True))
    settings = replace(quick, timing=False, limit_seconds=60.0)
    answer, lost = Session(device).answer(Request((program("hang"),), settings, PROBES))
    assert lost and answer.outcomes[0].problems[0].message.startswith(
        "the kernel ran for more than 1 s"
    )


def test_programs_that_read_and_write_alike_share_memory_and_equal_outputs(ask, device):
    first, twin = program("double"), program("double")
    other = program("copy_int", "int32", inputs={"x": X.view(np.int32)})
    twin = replace(twin, inputs=first.inputs)
    wanted = []
    allocate = device.allocate
    device.allocate = lambda size: wanted.append(size) or allocate(size)
    answer, lost = ask(first, twin, other, timing=True)
    one, two, three = answer.outcomes
    assert not lost and len(wanted) == 2 + 4  # two pieces of memory, and four to measure with
    assert one.outputs["y"] is two.outputs["y"] and one.outputs["y"].tolist() == (2 * X).tolist()
    assert three.outputs["y"].tolist() == X.view(np.int32).tolist()
    assert all(outcome.series for outcome in answer.outcomes)
    assert device.memory == {}
    fits = replace(program("double"), inputs={"x": X.copy()})
    device.free = 1 << 20  # enough for one piece of 0.25 MiB, not for two
    answer, _ = ask(first, twin)
    assert answer.unavailable == "" and "one run may take" in ask(first, fits)[0].unavailable


def test_a_wrong_twin_is_not_hidden_by_shared_memory(ask):
    first = program("double")
    half = replace(program("half"), inputs=first.inputs)
    right, wrong = ask(first, half)[0].outcomes
    assert right.outputs["y"].tolist() == (2 * X).tolist()
    assert np.isnan(wrong.outputs["y"][COUNT // 2 :]).all()
