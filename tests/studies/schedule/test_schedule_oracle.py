"""Every order of the real CATLASS, CUTLASS and DeepGEMM headers, case by case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileviz.errors import DesignError
from tileviz.studies.design import validated
from tileviz.studies.schedule.design import ScheduleDesign
from tileviz.studies.schedule.schedule import Schedule, schedule_of

CATLASS, OTHERS = "catlass_block_swizzle", "other_schedulers"


def made(policy: str, problem: list[int], tile: list[int], **fields: Any) -> Schedule:
    document = {"policy": policy, "problem": problem, "tile": tile, **fields}
    return schedule_of(validated(ScheduleDesign, document))


def catlass(case: dict[str, Any], policy: str, *names: str) -> Schedule:
    """The schedule of a CATLASS case; names are fields it shares with the design."""
    tile = [case[key] for key in ("tileM", "tileN", "tileK") if key in case]
    fields = {name: case[name] for name in names}
    if "cores" in case:
        fields["workers"] = case["cores"]
    return made(policy, [case["M"], case["N"], case["K"]], tile, **fields)


def on_tiles(case: dict[str, Any], policy: str, **fields: Any) -> Schedule:
    rows, columns = case["tiles"]
    return made(policy, [rows * 16, columns * 16, 32], [16, 16], **fields)


def rows(*columns: Any) -> list[list[int]]:
    return np.stack(columns, axis=1).tolist()


def mn(schedule: Schedule) -> list[list[int]]:
    return rows(schedule.m, schedule.n)


def mnk(schedule: Schedule) -> list[list[int]]:
    return rows(schedule.m, schedule.n, schedule.tasks.k)


def shapes(schedule: Schedule) -> list[list[int]]:
    return rows(schedule.heights, schedule.widths, schedule.lengths)


def facts(schedule: Schedule) -> dict[str, str]:
    return dict(schedule.tasks.facts)


def by_core(schedule: Schedule, table: list[list[int]]) -> list[list[list[int]]]:
    return [[table[task] for task in tasks] for tasks in schedule.per_core()]


@pytest.mark.oracle(CATLASS, section="identity")
def test_identity(case: dict[str, Any]) -> None:
    schedule = catlass(case, "catlass", "offset", "direction", "batch")
    if "bmn" in case:
        assert rows(schedule.batch, schedule.m, schedule.n) == case["bmn"]
    else:
        assert mn(schedule) == case["mn"]
    assert shapes(schedule)[: case["count"]] == case["shape"]
    for task, batch, m, n in case.get("beyond", ()):
        again = catlass({**case, "batch": batch + 1}, "catlass", "offset", "direction", "batch")
        assert [again.batch[task], again.m[task], again.n[task]] == [batch, m, n]


@pytest.mark.oracle(CATLASS, section="splitk")
def test_splitk(case: dict[str, Any]) -> None:
    names = ("offset", "direction", "batch", "splitk")
    if case["splitk"] > case["loops"][2]:
        with pytest.raises(DesignError, match="splitk: at most 3 slices"):
            catlass(case, "catlass_splitk", *names)
        return
    schedule = catlass(case, "catlass_splitk", *names)
    assert schedule.tasks.k is not None
    found = rows(schedule.batch, schedule.m, schedule.n, schedule.tasks.k)
    assert found == [[batch, m, n, k] for batch, _, m, n, k in case["batch_slice_mnk"]]
    assert shapes(schedule) == case["shape"]


@pytest.mark.oracle(CATLASS, section="single_core_splitk")
def test_single_core_splitk(case: dict[str, Any]) -> None:
    schedule = catlass(case, "catlass_single_core_splitk", "offset", "direction")
    orders, sizes = by_core(schedule, mnk(schedule)), by_core(schedule, shapes(schedule))
    for core in case["per_core"]:
        assert orders[core["core"]] == [entry[:3] for entry in core["mnk_atomic"]]
        assert sizes[core["core"]] == core["shape"]


@pytest.mark.oracle(CATLASS, section="tail_splitk")
def test_tail_splitk(case: dict[str, Any]) -> None:
    schedule = catlass(case, "catlass_tail_splitk", "offset", "direction")
    assert mnk(schedule) == case["mnk"]
    assert shapes(schedule) == case["shape"]


@pytest.mark.oracle(CATLASS, section="streamk")
def test_streamk(case: dict[str, Any]) -> None:
    schedule = catlass(case, "catlass_streamk", "offset", "direction")
    assert mnk(schedule) == [task["mnk"] for task in case["tasks"]]
    assert shapes(schedule) == [task["shape"] for task in case["tasks"]]
    parts = schedule.parts
    found = [] if parts is None else rows(parts.task, parts.m, parts.n, parts.k, parts.length)
    assert found == [
        [number, *task["next_mnk"], task["next_shape"][2]]
        for number, task in enumerate(case["tasks"])
        if "next_mnk" in task
    ]


@pytest.mark.oracle(CATLASS, section="l1_full_load")
def test_l1_full_load(case: dict[str, Any]) -> None:
    schedule = catlass(case, "catlass_l1_full_load", "offset", "direction")
    assert mn(schedule) == case["mn"]
    assert shapes(schedule) == case["shape"]


@pytest.mark.oracle(CATLASS, section="column")
def test_column(case: dict[str, Any]) -> None:
    schedule = catlass(case, "catlass_column")
    assert schedule.tasks.corner is not None
    left = schedule.tasks.corner[1]
    table = rows(schedule.m, schedule.n, schedule.heights, schedule.widths, left)
    own = case["N"] // (case["cores"] * case["tileN"]) * case["cores"] * case["tileN"]
    for core, found in zip(case["per_core"], by_core(schedule, table), strict=True):
        assert [entry[:4] for entry in found] == [e[:4] for e in core["m_n_am_an_istail"]]
        tails = [entry[4] - own for entry in found if entry[4] >= own]
        assert set(tails) <= {core["tail_col_offset"]}


@pytest.mark.oracle(CATLASS, section="aswt")
def test_aswt(case: dict[str, Any]) -> None:
    # The oracle writes its flags as 0 and 1.
    case = {**case, "tail_split_allowed": bool(case["tail_split_allowed"])}
    schedule = catlass(case, "catlass_aswt", "tail_split_allowed")
    assert schedule.tasks.corner is not None
    table = rows(schedule.m, schedule.n, *schedule.tasks.corner, schedule.heights, schedule.widths)
    assert by_core(schedule, table) == case["per_core_mTile_nTile_mElem_nElem_am_an"]
    assert facts(schedule)["parts of a tail tile"] == "{} x {}".format(*case["tail_split_mn"])


@pytest.mark.oracle(CATLASS, section="grouped_aswt")
def test_grouped_aswt(case: dict[str, Any]) -> None:
    tile = [case["baseM"], case["baseN"]]
    fields = {"group_m": case["group_m"], "workers": case["cores"]}
    schedule = made("catlass_grouped_aswt", [case["N"], case["K"]], tile, **fields)
    assert schedule.tasks.corner is not None
    down = schedule.tasks.corner[0] - schedule.m * tile[0]
    right = schedule.tasks.corner[1] - schedule.n * tile[1]
    sizes = (schedule.heights, schedule.widths)
    table = rows(schedule.batch, schedule.m, schedule.n, *sizes, down, right)
    assert by_core(schedule, table) == case["per_core_group_mTile_nTile_am_an_moff_noff"]


@pytest.mark.oracle(CATLASS, section="conv2d")
def test_conv2d(case: dict[str, Any]) -> None:
    names = ("batch_ho_wo_cout_cin1", "tile_ho_wo_cout", "offset", "direction")
    document = {"policy": "catlass_conv2d", **{name: case[name] for name in names}}
    schedule = schedule_of(validated(ScheduleDesign, document))
    across = case["loops"][1]
    found = rows(schedule.batch, schedule.m // across, schedule.m % across, schedule.n)
    assert found == case["b_h_w_c"]
    per_batch = rows(schedule.heights, schedule.widths)[: case["count"]]
    assert per_batch == [[h * w, c] for h, w, c in case["shape_h_w_c"]][: case["count"]]


def test_document_pictures(catlass_document: dict[str, Any]) -> None:
    pictures = catlass_document["doc_pictures"]
    for name, picture in pictures.items():
        offset, direction = int(name[6]), int(name[11])
        if isinstance(picture, dict):
            schedule = made("catlass", [160, 6144, 2048], [128, 256], offset=offset,
                            direction=direction, workers=20)  # fmt: skip
            share = np.bincount(schedule.worker, weights=schedule.heights)
            assert share.tolist() == picture["rows_of_M_per_core"]
            picture = picture["core_of_block"]
        else:
            schedule = made("catlass", [6, 6, 1], [1, 1], offset=offset, direction=direction,
                            workers=20)  # fmt: skip
        cores = np.empty(schedule.tiles, int)
        cores[schedule.m, schedule.n] = schedule.worker
        assert cores.tolist() == picture


def test_plain_kernel_loop(catlass_document: dict[str, Any]) -> None:
    for case in catlass_document["kernel_loops"]["plain"]:
        schedule = made("row_major", [1, case["total"], 1], [1, 1], workers=case["cores"])
        assert schedule.per_core() == case["tasks_of_core"]


def test_grouped_kernel_loop(catlass_document: dict[str, Any]) -> None:
    """Groups of tiles of one row: the task number in a group is the column."""
    for case in catlass_document["kernel_loops"]["grouped"]:
        schedules = []
        start = 0
        for group, blocks in enumerate(case["blocks_of_group"]):
            for core in range(case["cores"]):
                first = (core - start) % case["cores"]
                tasks = range(first, blocks, case["cores"])
                schedules += [(core, group, task) for task in tasks]
            start = (start + blocks) % case["cores"]
        for core, wanted in enumerate(case["group_task_of_core"]):
            assert [[g, t] for c, g, t in schedules if c == core] == wanted
        if len(set(case["blocks_of_group"])) == 1:
            fields = {"group_m": [1] * len(case["blocks_of_group"]), "workers": case["cores"]}
            blocks = case["blocks_of_group"][0]
            schedule = made("catlass_grouped_aswt", [blocks, 1], [1, 1],
                            tail_split_allowed=False, **fields)  # fmt: skip
            table = rows(schedule.batch, schedule.n)
            assert by_core(schedule, table) == case["group_task_of_core"]


@pytest.mark.oracle(OTHERS, section="cutlass2_identity_log")
def test_cutlass2_explicit(case: dict[str, Any]) -> None:
    schedule = on_tiles(case, "cutlass2", log_tile=case["log_tile"])
    assert mn(schedule) == case["mn"]
    assert int((~schedule.inside).sum()) == case["noop"]


@pytest.mark.oracle(OTHERS, section="cutlass2_auto")
def test_cutlass2_automatic(case: dict[str, Any]) -> None:
    schedule = on_tiles(case, "cutlass2", N=case["N"])
    assert facts(schedule)["log_tile"] == str(case["log_tile"])
    assert facts(schedule)["launch grid"] == "{} x {}".format(*case["grid"])
    assert int((~schedule.inside).sum()) == case["noop"]


@pytest.mark.oracle(OTHERS, section="cutlass2_nopadding")
def test_cutlass2_nopadding(case: dict[str, Any]) -> None:
    schedule = on_tiles(case, "cutlass2_nopadding", N=case["N"])
    assert facts(schedule)["log_tile"] == str(case["log_tile"])
    assert facts(schedule)["launch grid"] == "{} x {}".format(*case["grid"])
    assert schedule.inside.all()


@pytest.mark.oracle(OTHERS, section="cutlass3")
def test_cutlass3(case: dict[str, Any]) -> None:
    names = ("batch", "cluster", "max_swizzle", "raster_option")
    fields = {name: case[name] for name in names}
    schedule = on_tiles(case, "cutlass3", workers=case["sm_count"], **fields)
    found = mn(schedule)
    if len(case["mnl"][0]) == 3:
        found = rows(schedule.m, schedule.n, schedule.batch)
    assert found == case["mnl"]
    assert int((~schedule.inside).sum()) == case["outside"]
    known = facts(schedule)
    assert known["log_swizzle"] == str(case["log_swizzle"])
    assert known["raster"] == case["raster"]
    assert known["padded tiles"] == "{} x {}".format(*case["padded_tiles"])
    x, y, _ = case["launch_grid"]
    assert known["launch grid"] == f"{x} x {y}"
    per_core = schedule.per_core()
    assert len(per_core) == case["sm_count"]
    assert per_core[0] == list(range(0, case["count"], x * y))


@pytest.mark.oracle(OTHERS, section="cutlass_sm100")
def test_cutlass_sm100(case: dict[str, Any]) -> None:
    fields = {name: case[name] for name in ("cluster", "max_swizzle", "raster_option")}
    schedule = on_tiles(case, "cutlass_sm100", **fields)
    assert mn(schedule) == case["mn"]
    assert facts(schedule)["raster"] == case["raster"]
    assert facts(schedule)["launch grid"] == "{} x {}".format(*case["grid"])


@pytest.mark.oracle(OTHERS, section="triton_grouped")
def test_triton_grouped(case: dict[str, Any]) -> None:
    assert mn(on_tiles(case, "triton_grouped", group_m=case["group_m"])) == case["mn"]


@pytest.mark.oracle(OTHERS, section="deepgemm")
def test_deepgemm(case: dict[str, Any]) -> None:
    fields = {name: case[name] for name in ("multicast", "multicast_on_a")}
    problem = [case["M"], case["N"], 64]
    schedule = made("deepgemm", problem, case["block"], workers=case["sms"], **fields)
    assert mn(schedule) == [entry[:2] for entry in case["mn_alive"]]
    assert facts(schedule)["strip"] == f"{case['group']} tiles"
    low, high = case["usage_8_16"]
    assert facts(schedule)["rows and columns a wave"] == f"8: {low}, 16: {high}"


@pytest.mark.oracle(OTHERS, section="tilelang_panel")
def test_tilelang_panel(case: dict[str, Any]) -> None:
    for axis in ("row", "column"):
        schedule = on_tiles(case, "tilelang_panel", panel=case["panel"], axis=axis)
        assert mn(schedule) == case[f"{axis}_mn"]


@pytest.mark.oracle(OTHERS, section="hilbert")
def test_hilbert(case: dict[str, Any]) -> None:
    schedule = on_tiles(case, "hilbert")
    assert mn(schedule) == case["mn"]
    assert facts(schedule)["square"] == f"{case['square']} x {case['square']}"


@pytest.mark.oracle(OTHERS, section="xcd_remap")
def test_xcd_remap(case: dict[str, Any]) -> None:
    fields = {name: case[name] for name in ("xcds", "chunk") if name in case}
    schedule = made("xcd_remap", [1, case["workgroups"], 1], [1, 1], **fields)
    assert schedule.n.tolist() == case["new_id"]
