import io
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tileviz.workers import wire

KINDS = st.sampled_from([*"?bBhHiIqQefd"]).map(np.dtype)
ARRAYS = st.lists(hnp.arrays(KINDS, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def frame(header: object, payload: bytes = b"") -> io.BytesIO:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return io.BytesIO(struct.pack("<I", len(text)) + text + payload)


@given(st.dictionaries(st.text().filter(lambda key: key != "arrays"), JSON), ARRAYS)
def test_what_is_sent_is_received(header, arrays):
    pipe = io.BytesIO()
    wire.send(pipe, header, arrays)
    pipe.seek(0)
    got, received = wire.receive(pipe)
    assert got == header and pipe.read() == b""
    assert [a.dtype for a in received] == [a.dtype for a in arrays]
    assert [a.shape for a in received] == [a.shape for a in arrays]
    assert [a.tobytes() for a in received] == [a.tobytes() for a in arrays]
    assert all(a.flags.writeable for a in received)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_a_clear_error(data):
    try:
        wire.receive(io.BytesIO(data))
    except (EOFError, wire.WireError):
        return


@pytest.mark.parametrize(
    "header",
    [
        [],
        {},
        {"arrays": 3},
        {"arrays": [["<f4"]]},
        {"arrays": [["|O", [1]]]},
        {"arrays": [["V9", [1]]]},
        {"arrays": [[["<f4"], [1]]]},
        {"arrays": [["<f4", [-1]]]},
        {"arrays": [["<f4", [True]]]},
        {"arrays": [["<f4", [2.0]]]},
        {"arrays": [["<f4", [1 << 40]]]},
        {"arrays": [["<f4", [1 << 20, 1 << 20]]]},
        {"arrays": [["|u1", [1] * 9]]},
        {"arrays": [["|u1", [0]]] * (wire.MAX_ARRAYS + 1)},
        b"\xff\xff\xff",
        b"[" * 100_000,
    ],
)
def test_a_bad_header_is_refused_before_anything_is_allocated(header):
    with pytest.raises(wire.WireError):
        wire.receive(frame(header))


def test_a_long_header_is_refused_by_its_length_alone():
    with pytest.raises(wire.WireError, match="at most"):
        wire.receive(io.BytesIO(struct.pack("<I", wire.MAX_HEADER_BYTES + 1)))


def test_a_cut_frame_is_the_end_of_the_stream():
    with pytest.raises(EOFError):
        wire.receive(frame({"arrays": [["<f4", [4]]]}, b"\0" * 15))


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({}, [np.zeros(1, object)]),
        ({}, [np.zeros(1, "S3")]),
        ({}, [np.zeros(1, ">i4")]),
        ({}, [np.zeros(0)] * (wire.MAX_ARRAYS + 1)),
        ({"text": "x" * wire.MAX_HEADER_BYTES}, []),
    ],
)
def test_what_cannot_be_sent_writes_nothing(header, arrays):
    pipe = io.BytesIO()
    with pytest.raises(wire.WireError):
        wire.send(pipe, header, arrays)
    assert pipe.getvalue() == b""


def test_a_reader_and_a_writer_of_their_own_take_as_much_as_they_say():
    pipe = io.BytesIO()
    array = np.arange(64, dtype=np.uint8)
    with pytest.raises(wire.WireError, match="to send"):
        wire.send(pipe, {}, [array], most=63)
    wire.send(pipe, {}, [array], most=64)
    pipe.seek(0)
    with pytest.raises(wire.WireError):
        wire.receive(pipe, most=63)
    pipe.seek(0)
    assert wire.receive(pipe, most=64)[1][0].tolist() == array.tolist()
