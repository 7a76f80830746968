import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileviz.cuda.kernel import Buffer
from tileviz.dtypes import dtype
from tileviz.runners.gpu.arena import ALIGNMENT, Arena, layout, reveal_unwritten

BUFFERS = st.lists(
    st.tuples(
        st.sampled_from(["float32", "bfloat16", "int8", "uint128", "float32x4", "float64"]),
        st.lists(st.integers(0, 40), max_size=3).map(tuple),
        st.sampled_from(["in", "out", "inout"]),
    ),
    min_size=1,
    max_size=5,
).map(lambda many: [Buffer(f"b{i}", *item) for i, item in enumerate(many)])


def contents(buffers):
    random = np.random.default_rng(1)
    return {
        b.name: np.frombuffer(
            random.bytes(b.count * dtype(b.dtype).lanes * dtype(b.dtype).numpy.itemsize), np.uint8
        ).view(dtype(b.dtype).numpy)
        for b in buffers
        if b.role != "out"
    }


@given(BUFFERS)
def test_buffers_lie_apart_aligned_and_between_guards(buffers):
    slots, size = layout(buffers)
    end = 0
    for slot in slots:
        assert slot.offset % ALIGNMENT == 0
        assert slot.offset - slot.before == end and slot.before >= 64 << 10
        assert slot.after >= 64 << 10
        end = slot.offset + slot.bytes + slot.after
    assert size == end


@settings(max_examples=20)
@given(buffers=BUFFERS, data=st.data())
def test_every_byte_written_outside_is_found(standin, buffers, data):
    device = standin.StandInDevice()
    arena = Arena(device, buffers, contents(buffers))
    arena.fill()
    assert arena.overruns() == [] and arena.written_inputs() == []
    slots, size = layout(buffers)
    base = arena.pointers()[buffers[0].name].address - slots[0].offset
    offset = data.draw(st.integers(0, size - 1))
    inside = [s for s in slots if s.offset <= offset < s.offset + s.bytes]
    device.at(base + offset, 1)[:] ^= data.draw(st.integers(1, 255))
    if not inside:
        (found,) = arena.overruns()
        beside = next(s for s in slots if s.buffer.name == found.buffer)
        assert found.count == 1
        if found.side == "before":
            assert beside.offset - beside.before <= offset < beside.offset and found.index < 0
        else:
            assert 0 <= offset - beside.offset - beside.bytes < beside.after
            assert found.index >= beside.buffer.count
    else:
        assert arena.overruns() == []
        assert arena.written_inputs() == [s.buffer.name for s in inside if s.buffer.role == "in"]


def test_an_overrun_names_the_element_that_reaches_it(device):
    buffers = [Buffer("x", "float32", (10,), "in"), Buffer("y", "float16", (4, 5), "out")]
    arena = Arena(device, buffers, contents(buffers))
    y = arena.pointers()["y"]
    device.at(y.address + 46, 4)[:] ^= 1
    device.at(y.address - 6, 2)[:] ^= 1
    before, after = arena.overruns()
    assert (before.buffer, before.side, before.count, before.index) == ("y", "before", 2, -3)
    assert (after.side, after.count, after.index) == ("after", 4, 23)
    assert after.message == "wrote 4 bytes after y: nearest is element 23, and it has 20"


def test_guards_of_inputs_are_nan_so_that_a_stray_read_shows(device):
    buffers = [Buffer("x", "float32", (10,), "in"), Buffer("y", "float32", (10,), "out")]
    arena = Arena(device, buffers, contents(buffers))
    x, y = arena.pointers()["x"], arena.pointers()["y"]
    assert np.isnan(device.read(x.address + 40, 4).view(np.float32)[0])
    assert np.isnan(device.read(x.address - 4, 4).view(np.float32)[0])
    band = device.read(y.address + 40, 2000)
    assert len(np.unique(band)) > 200  # what a constant store cannot match by chance


def test_outputs_are_poisoned_and_inputs_put_back(device):
    buffers = [Buffer("y", "int32", (4,), "out"), Buffer("z", "int32", (4,), "inout")]
    z = np.arange(4, dtype=np.int32)
    arena = Arena(device, buffers, {"z": z})
    arena.fill()
    assert arena.outputs()["y"].tolist() == [-1] * 4
    arena.save()
    device.write(arena.pointers()["z"].address, np.zeros(4, np.int32))
    arena.restore()
    assert arena.outputs()["z"].tolist() == z.tolist()
    arena.release()
    assert device.memory == {}


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.booleans()), max_size=20))
def test_only_what_neither_run_wrote_is_revealed(items):
    wrote = np.array([written for _, written in items], bool)
    values = np.array([value for value, _ in items], np.int32)
    first = np.where(wrote, values, np.int32(-1))
    second = np.where(wrote, values, np.int32(0x5A5A5A5A))
    revealed = reveal_unwritten(first, second)
    assert revealed.dtype == np.int32
    assert revealed.tolist() == [value if written else 0x5A5A5A5A for value, written in items]


@pytest.mark.parametrize("kind", ["bool", "uint8", "uint16", "int64", "uint128"])
def test_reveal_keeps_the_carrier(kind):
    carrier = dtype(kind).numpy
    ones = np.full(4, 0xFF, np.uint8).repeat(carrier.itemsize).view(carrier)
    other = np.full(4, 0x5A, np.uint8).repeat(carrier.itemsize).view(carrier)
    assert reveal_unwritten(ones, ones).tobytes() == ones.tobytes()
    assert reveal_unwritten(ones, other).tobytes() == other.tobytes()
