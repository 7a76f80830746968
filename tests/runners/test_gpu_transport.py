import json

import numpy as np
import pytest

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.emulator.problems import Problem
from tileviz.runners.gpu.device import Usage
from tileviz.runners.gpu.loaded import sharing
from tileviz.runners.gpu.patterns import strided
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.gpu.transport import (
    Answer,
    Images,
    Outcome,
    Program,
    Request,
    Series,
    pack_answer,
    pack_request,
    unpack_answer,
    unpack_request,
)

PARAMETERS = (
    Buffer("x", "float32", (4, 2), "in"),
    Scalar("n", "int32", 8),
    Buffer("y", "bfloat16", (3,), "out"),
    Buffer("z", "uint128", (2,), "inout"),
)
X, Z = np.arange(8, dtype=np.float32), np.arange(4, dtype=np.uint64)
PROGRAM = Program(
    "k", (2, 1, 1), (32, 1, 1), PARAMETERS, 64, Images(b"\x7fELF", b"ptx"), {"x": X, "z": Z}
)
REQUEST = Request(
    (PROGRAM, Program("j", (1, 1, 1), (1, 1, 1), (), 0, Images(b"", b"other"))),
    Settings(limit_seconds=2.5),
    Images(b"a", b"b"),
    (strided(2, "ld"),),
)


def answer(standin):
    times = np.array([1.0, 2.0])
    series = (
        Series("cold", 1, times, times / 2, times),
        Series("warm", 200, times, times, times[:0]),
    )
    first = Outcome(
        {"y": np.zeros(3, np.uint16), "z": Z},
        (Problem("out_of_bounds", "k wrote\nmore", buffer="y"),),
        Usage(10, 0, 128),
        series,
    )
    return Answer(standin.FACTS, "", (first, Outcome()), (64, times), (1500.0, 1510.0), (3.5,))


def through_json(header):
    return json.loads(json.dumps(header))


def test_a_request_survives_the_wire():
    header, arrays = pack_request(REQUEST)
    got = unpack_request(through_json(header), arrays)
    assert got.settings == REQUEST.settings and got.probes == REQUEST.probes
    assert got.patterns == REQUEST.patterns
    first, second = got.programs
    assert first.parameters == PARAMETERS and first.images == PROGRAM.images
    assert (first.entry, first.grid, first.block, first.shared_bytes) == (
        *("k", (2, 1, 1), (32, 1, 1), 64),
    )
    assert first.inputs["x"].tolist() == X.tolist() and first.inputs["z"].tolist() == Z.tolist()
    assert second.inputs == {} and second.parameters == ()


def test_an_answer_survives_the_wire(standin):
    header, arrays = pack_answer(answer(standin))
    got = unpack_answer(through_json(header), arrays, REQUEST)
    assert got.facts == standin.FACTS and got.clocks == (1500.0, 1510.0) and got.cycles == (3.5,)
    assert got.copy[0] == 64 and got.copy[1].tolist() == [1.0, 2.0]
    first, second = got.outcomes
    assert first.problems == (Problem("out_of_bounds", "k wrote more", buffer="y"),)
    assert first.usage == Usage(10, 0, 128) and second.usage is None
    assert [(s.mode, s.launches, s.samples.tolist()) for s in first.series] == [
        ("cold", 1, [1.0, 2.0]),
        ("warm", 200, [1.0, 2.0]),
    ]
    assert first.outputs["z"].tolist() == Z.tolist()


def test_what_programs_have_in_common_is_sent_once(standin):
    twin = Program(**{**vars(PROGRAM), "entry": "twin"})
    other = Program(**{**vars(PROGRAM), "inputs": {"x": X.copy(), "z": Z}})
    header, arrays = pack_request(Request((PROGRAM, twin, other)))
    assert sum(array is X for array in arrays) == sum(array is Z for array in arrays) == 1
    first, second, third = unpack_request(through_json(header), arrays).programs
    assert first.inputs["x"] is second.inputs["x"] is not third.inputs["x"]
    assert sharing((first, second, third)) == [first, second, third]  # z is changed

    y = np.zeros(3, np.uint16)
    outcomes = tuple(Outcome({"y": y, "z": Z}) for _ in range(2))
    answered = Answer(standin.FACTS, outcomes=outcomes)
    header, arrays = pack_answer(answered)
    assert sum(array is y for array in arrays) == 1
    got = unpack_answer(through_json(header), arrays, Request((PROGRAM, twin)))
    assert got.outcomes[0].outputs["y"] is got.outcomes[1].outputs["y"]


def swap(*path, to):
    def change(header, arrays):
        place = header
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


HOSTILE = {
    "another output": swap("outcomes", 0, "outputs", to=[["y", 1], ["w", 2]]),
    "a missing output": swap("outcomes", 0, "outputs", to=[["y", 1]]),
    "an output out of range": swap("outcomes", 0, "outputs", 0, to=["y", 99]),
    "an output from behind": swap("outcomes", 0, "outputs", 0, to=["y", -8]),
    "one output as another": swap("outcomes", 0, "outputs", 0, to=["y", 2]),
    "an unknown problem": swap("outcomes", 0, "problems", 0, "kind", to="bad"),
    "an unknown mode": swap("outcomes", 0, "series", 0, to=["tepid", 1, 3]),
    "no launches": swap("outcomes", 0, "series", 0, to=["cold", 0, 3]),
    "negative usage": swap("outcomes", 0, "usage", "registers", to=-1),
    "a float count": swap("copy_bytes", to=1.5),
    "too few outcomes": swap("outcomes", to=[{}]),
    "more cycles": swap("cycles", to=[1.0, 2.0]),
    "no facts": swap("facts", to={}),
    "short capability": swap("facts", "capability", to=[9]),
    "missing keys": lambda header, arrays: header.pop("clocks"),
    "a short output": lambda header, arrays: arrays.__setitem__(1, np.zeros(2, np.uint16)),
    "another type": lambda header, arrays: arrays.__setitem__(1, np.zeros(3, np.float32)),
    "times that are none": lambda header, arrays: arrays.__setitem__(3, np.array([np.nan])),
    "negative times": lambda header, arrays: arrays.__setitem__(0, np.array([-1.0])),
    "too many arrays": lambda header, arrays: arrays.append(np.zeros(1)),
    "too few arrays": lambda header, arrays: arrays.pop(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nonsense_is_refused(standin, name):
    header, arrays = pack_answer(answer(standin))
    header = through_json(header)
    HOSTILE[name](header, arrays)
    with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
        unpack_answer(header, arrays, REQUEST)


def test_times_are_limits_of_the_whole_request():
    assert Settings().total_seconds > 3 * Settings().limit_seconds
    assert Settings(timing=False).total_seconds < Settings().total_seconds
