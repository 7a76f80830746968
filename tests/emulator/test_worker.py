from dataclasses import replace

import numpy as np
import pytest

from tileviz.cuda.diagnostics import Resources
from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.emulator.emulation import StaticAccess, Statistics
from tileviz.emulator.limits import Limits
from tileviz.emulator.problems import Problem
from tileviz.emulator.transport import (
    Answer,
    Request,
    pack_answer,
    pack_request,
    unpack_answer,
    unpack_request,
)
from tileviz.memory import Accesses

PARAMETERS = (
    Buffer("x", "float32", (4, 2), "in"),
    Scalar("n", "int32", 8),
    Buffer("y", "bfloat16", (3,), "out"),
    Buffer("z", "uint128", (2,), "inout"),
)
REQUEST = Request(
    "text",
    "k",
    (2, 1, 1),
    (32, 1, 1),
    PARAMETERS,
    shared_bytes=64,
    limits=Limits(seconds=1.5),
    blocks=((0, 0, 0), (1, 0, 0)),
)
X, Z = np.arange(8, dtype=np.float32), np.arange(4, dtype=np.uint64)


def test_a_request_survives_the_wire_and_only_inputs_are_sent():
    header, sent = pack_request(REQUEST, {"x": X, "y": np.zeros(3, np.uint16), "z": Z})
    assert len(sent) == 2
    request, contents = unpack_request(header, sent)
    assert request == REQUEST
    assert list(contents) == ["x", "z"]
    assert contents["x"].tolist() == X.tolist() and contents["z"].tolist() == Z.tolist()


def answer():
    lanes = np.arange(32)
    store = Accesses.of(
        np.stack([4 * lanes, 128 * lanes]),
        space="shared",
        op="st",
        bytes=4,
        line=7,
        buffer="tile",
        active=np.stack([lanes < 5, lanes >= 0]),
    )
    load = Accesses.of(16 * lanes + (1 << 40), space="global", op="ld", bytes=16)
    return Answer(
        outputs={"y": np.zeros(3, np.uint16), "z": Z},
        accesses=(
            replace(store, warps=np.array([3, 8])),
            replace(load, warps=np.array([5])),
        ),
        problems=(Problem("race", "two\nlines", 7, (0, 0, 1), (3, 0, 0), "tile"),),
        traced_blocks=((0, 0, 0),),
        static=(StaticAccess(7, "shared", "st", 4, 2),),
        statistics=Statistics(1024, 32, 0.5, 0.25),
        resources=Resources(10, 128, 0),
        compiler="NVRTC 12.9",
    )


def test_an_answer_survives_the_wire():
    sent = answer()
    got = unpack_answer(*pack_answer(sent), PARAMETERS)
    assert list(got.outputs) == ["y", "z"] and got.outputs["z"].tolist() == Z.tolist()
    for mine, theirs in zip(sent.accesses, got.accesses, strict=True):
        assert mine.addresses.tolist() == theirs.addresses.tolist()
        assert mine.active.tolist() == theirs.active.tolist()
        assert theirs.active.dtype == np.bool_ and theirs.addresses.dtype == np.int64
        for name in ("space", "op", "bytes", "line", "buffer"):
            assert getattr(mine, name) == getattr(theirs, name)
        assert mine.warps.tolist() == theirs.warps.tolist()
    assert got.problems == (Problem("race", "two lines", 7, (0, 0, 1), (3, 0, 0), "tile"),)
    assert got.traced_blocks == ((0, 0, 0),) and got.static == sent.static
    assert got.resources == sent.resources and got.compiler == sent.compiler
    assert got.statistics == sent.statistics


def test_an_empty_answer_survives_the_wire():
    got = unpack_answer(*pack_answer(Answer()), PARAMETERS)
    assert got.outputs == {} and got.accesses == () and got.traced_blocks is None


def _short(header, arrays):
    return header, arrays[1:]


def _renamed(header, arrays):
    return {**header, "outputs": ["y", "x"]}, arrays


def _resized(header, arrays):
    return header, [np.zeros(4, np.uint16), *arrays[1:]]


def _miscounted(header, arrays):
    return {**header, "accesses": [[*header["accesses"][0][:5], 9]]}, arrays


def _negative(header, arrays):
    kinds = [[*header["accesses"][0][:5], -1], [*header["accesses"][1][:5], 4]]
    return {**header, "accesses": kinds}, arrays


def _space(header, arrays):
    return {**header, "accesses": [["moon", *row[1:]] for row in header["accesses"]]}, arrays


def _kind(header, arrays):
    return {**header, "problems": [{**header["problems"][0], "kind": "fun"}]}, arrays


def _coordinates(header, arrays):
    return {**header, "problems": [{**header["problems"][0], "block": [1, 2]}]}, arrays


def _warpless(header, arrays):
    return header, [*arrays[:-1], arrays[-1][:1]]


def _before_the_first(header, arrays):
    return header, [*arrays[:-1], -arrays[-1]]


def _missing(header, arrays):
    return {key: value for key, value in header.items() if key != "static"}, arrays


@pytest.mark.parametrize(
    "spoil",
    [
        *(_short, _renamed, _resized, _miscounted, _negative),
        *(_space, _kind, _coordinates, _missing, _warpless, _before_the_first),
    ],
)
def test_an_answer_that_is_none_is_refused(spoil):
    with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
        unpack_answer(*spoil(*pack_answer(answer())), PARAMETERS)
