"""Generated kernels: the text, the indices printed in it, and the NumPy reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tileviz.cuda.kernel import Kernel
from tileviz.dtypes import dtype
from tileviz.memory import Accesses
from tileviz.studies.design import validated
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.design import PermuteDesign
from tileviz.studies.permute.kernel import kernel
from tileviz.studies.permute.plan import PermutePlan, plan
from tileviz.studies.registry import presets


def planned(src: str, dst: str, **fields: Any) -> PermutePlan:
    return plan(
        validated(PermuteDesign, {"src": {"layout": src}, "dst": {"layout": dst}, **fields})
    )


TABLES = ("SRC_AT", "DST_AT")


def phase_accesses(generated: Kernel) -> list[Accesses]:
    """The predicted accesses of the read and of the write phase."""
    return [
        access
        for access in generated.predicted
        if "reg" in generated.line(access.line or 0) and access.buffer not in TABLES
    ]


def phases(generated: Kernel) -> list[np.ndarray]:
    """Element positions of the read and of the write phase, ``[instruction, lane]``."""
    return [access.addresses // access.bytes for access in phase_accesses(generated)]


@pytest.mark.oracle("tvm_permute_layout", section="codegen")
def test_printed_indices_touch_the_references_addresses(case: dict[str, Any]) -> None:
    shard = ",".join(map(str, case["extent"]))
    layouts = [
        f"S[({shard}):({','.join(map(str, case[side]))})]"
        for side in ("src_strides", "dst_strides")
    ]
    width = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint128"}[case["dtype_bytes"]]
    decided = planned(*layouts, space="global", dtype=width)
    generated = kernel(decided, decided.reference.k)
    read, write = phases(generated)
    assert read.tolist() == case["src_addr"]
    assert write.tolist() == case["dst_addr"]


@pytest.mark.oracle("tvm_permute_layout", section="demo")
def test_demo_addresses_of_every_stage(case: dict[str, Any]) -> None:
    demo = presets()[0].design
    assert isinstance(demo, PermuteDesign)
    global_demo = demo.model_copy(update={"space": "global"})
    decided = plan(global_demo)
    read, write = phases(kernel(decided, decided.reference.k))
    rows = slice(4 * case["stage"], 4 * case["stage"] + 4)
    assert read[rows].tolist() == case["src_addr"]
    assert write[rows].tolist() == case["dst_addr"]


def test_demo_text_is_what_the_document_shows() -> None:
    source = kernel(plan(presets()[0].design)).source
    assert "const int j = r ^ (lane >> 3);" in source
    assert "reg[r] = a[s * 128 + j * 32 + lane];" in source
    assert "b[s * 128 + lane * 4 + j] = reg[r];" in source
    assert "@{" not in source


def test_lines_point_at_their_access() -> None:
    generated = kernel(plan(presets()[0].design))
    for access in generated.predicted:
        assert access.text in generated.line(access.line or 0)


def test_one_element_a_lane_has_no_loop() -> None:
    source = kernel(planned("S[32:1]", "S[32:1]")).source
    assert "for (int r" not in source
    assert "REGISTERS" not in source


def test_gaps_of_the_destination_keep_their_values() -> None:
    generated = kernel(planned("S[(32, 32):(32, 1)]", "S[(32, 32):(1, 33)]"))
    assert [buffer.role for buffer in generated.buffers] == ["in", "inout"]
    source = np.arange(1024, dtype=np.float32)
    before = np.full(32 * 33 - 1, -7, dtype=np.float32)
    assert generated.reference is not None
    after = generated.reference({"src": source, "dst": before})["dst"]
    padded = np.append(after, -7).reshape(32, 33)
    assert np.array_equal(padded[:, :32], source.reshape(32, 32).T)
    assert (padded[:, 32] == -7).all()


def test_negative_addresses_move_the_origin_by_whole_rows() -> None:
    generated = kernel(planned("S[(4, 32):(32, 1)]", "S[(4, 32):(-32, 1)] + 3"))
    (src, dst) = generated.buffers
    assert src.count == 128
    assert dst.count == 96 + 32 + 3 - 0
    source = np.arange(128, dtype=np.float32)
    assert generated.reference is not None
    after = generated.reference({"src": source, "dst": np.zeros(dst.count, np.float32)})["dst"]
    assert after[96 + 3 :].tolist() == source[:32].tolist()


def test_stages_that_are_not_evenly_spaced_use_a_table() -> None:
    fields = {
        "src": {"layout": "S[(4, 32):(32, 1)]"},
        "dst": {"layout": "S[(2, 2, 32):(100, 32, 1)]", "shape": [4, 32]},
        "stages": {"count": 4},
        "space": "global",
    }
    generated = kernel(plan(validated(PermuteDesign, fields)))
    assert "__constant__ int DST_STAGE[4] = {0, 32, 100, 132};" in generated.source
    assert phases(generated)[1][:, 0].tolist() == [0, 32, 100, 132]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"dst": {"layout": "S[(4, 32):(32, 1@laneid)]"}}, "thread or tensor axes"),
        ({"dst": {"layout": "S[(4, 32):(4000000, 1)]"}}, "a buffer spans"),
        ({"dst": {"layout": "S[(4, 32):(100000, 1)]"}}, "bytes of shared memory"),
        (
            {"src": {"layout": "S[(4, 48):(48, 1)]"}, "dst": {"layout": "S[(4, 48):(1, 3)]"}},
            r"rejects it: .*; ours: \(0, 1\) and \(3, 0\) share the destination offset 3",
        ),
    ],
)
def test_what_cannot_run_says_why(fields: dict[str, Any], reason: str) -> None:
    base = {"src": {"layout": "S[(4, 32):(32, 1)]"}, **fields}
    with pytest.raises(NotRunnable, match=reason):
        kernel(plan(validated(PermuteDesign, base)))


def test_stages_that_depend_on_order_need_one_warp() -> None:
    fields = {
        "src": {"layout": "S[(2, 32):(32, 1)]"},
        "dst": {"layout": "S[(2, 32):(0, 1)]"},
        "stages": {"count": 2},
    }
    kernel(plan(validated(PermuteDesign, fields)))
    with pytest.raises(NotRunnable, match="stages write"):
        kernel(plan(validated(PermuteDesign, {**fields, "block": [64, 1, 1]})))


@st.composite
def moves(draw: st.DrawFn) -> dict[str, Any]:
    """Two layouts of one region: permuted strides, padding, offsets, stages, any width."""
    bits = draw(st.integers(5, 9))
    extents, left = [], bits
    while left:
        step = draw(st.integers(1, left)) if len(extents) < 6 else left
        extents.append(1 << step)
        left -= step
    stages = draw(st.sampled_from([1, 1, 2, 3]))
    shape = [stages, *extents]

    def layout() -> str:
        order = draw(st.permutations(range(len(shape))))
        strides, reach = [0] * len(shape), 1
        for dim in order:
            strides[dim] = reach + draw(st.sampled_from([0, 0, 0, 1, 3]))
            reach = strides[dim] * shape[dim]
        offset = draw(st.sampled_from([0, 0, 5]))
        return f"S[({','.join(map(str, shape))}):({','.join(map(str, strides))})] + {offset}"

    return {
        "src": {"layout": layout()},
        "dst": {"layout": layout()},
        "dtype": draw(st.sampled_from(["uint8", "float16", "float32", "float64", "float32x4"])),
        "stages": {"count": stages},
        "space": draw(st.sampled_from(["shared", "global"])),
        "in_place": draw(st.booleans()),
    }


@settings(max_examples=60, deadline=None)
@given(moves())
def test_printed_indices_move_what_the_layouts_say(fields: dict[str, Any]) -> None:
    """Replay the predicted reads and writes; compare with both layouts' own addresses."""
    design = validated(PermuteDesign, fields)
    decided = plan(design)
    assume(decided.schedules)
    try:
        generated = kernel(decided)
    except NotRunnable as reason:
        assume("shared memory" not in str(reason))
        raise
    width = dtype(generated.buffers[0].dtype).bytes
    read, write = (elements(access, width) for access in phase_accesses(generated))
    start = _array_start(generated, width)
    move = dict(zip(read.tolist(), (write - start).tolist(), strict=True))
    src = design.src.parsed.table()["m"].ravel()
    dst = design.dst.parsed.table()["m"].ravel()
    assert move == dict(zip(src.tolist(), dst.tolist(), strict=True))
    assert len(read) == len(src)


def elements(access: Accesses, width: int) -> np.ndarray:
    """Every element position of the active lanes, those of a word one after the other."""
    first = access.addresses[access.active] // width
    return (first[:, None] + np.arange(access.bytes // width)).ravel()


def _array_start(generated: Kernel, width: int) -> int:
    """Position of the shared array ``b`` behind ``a``, in elements; 0 elsewhere."""
    if "SRC_SPAN" not in generated.source:
        return 0
    return -(-generated.buffers[0].count * width // 16) * 16 // width


def test_a_cell_of_global_memory_ends_in_its_sector() -> None:
    from tileviz.studies.permute.explain import cell_bits

    decided = planned("S[(4, 32):(32, 1)]", "S[(4, 32):(1, 4)]", space="global")
    last = cell_bits(decided, 0, "write", 9, 2)[-1]
    assert (last.label, last.value) == ("sector = offset / 8", (9 * 4 + 2) // 8)


def test_comment_lines_fit_a_code_panel() -> None:
    long = "S[(2, 1, 4, 32):(1280, 1280, 320, 1)] + 123456"
    source = kernel(planned(long, long, space="global")).source
    assert max(len(line) for line in source.splitlines() if line.startswith("//")) <= 70
