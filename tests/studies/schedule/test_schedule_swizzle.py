"""The Python interface under the reference's names, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tileviz.errors import DesignError
from tileviz.studies.schedule.swizzle import BlockSwizzle


@pytest.mark.oracle("catlass_block_swizzle", section="identity")
def test_every_task_static_and_dynamic(case: dict[str, Any]) -> None:
    problem = (case["M"], case["N"], case["K"])
    tile = (case["tileM"], case["tileN"])
    offset, direction, batch = case["offset"], case["direction"], case["batch"]
    static = BlockSwizzle(problem, tile, offset=offset, direction=direction, batch=batch)
    dynamic = BlockSwizzle((1, 1, 1), (1, 1), batch=batch)
    dynamic.update(problem, tile, loops=case["loops"])
    dynamic.set_swizzle_params(offset, "zn" if direction == 0 else "nz")
    for swizzle in (static, dynamic):
        assert swizzle.core_loops() == case["count"]
        tasks = range(case["count"] * batch)
        coords = [swizzle.block_coord(task) for task in tasks]
        if "bmn" in case:
            found = [[swizzle.batch_index(t), *c] for t, c in zip(tasks, coords, strict=True)]
            assert found == case["bmn"]
        else:
            assert [list(coord) for coord in coords] == case["mn"]
        shapes = [list(swizzle.actual_block_shape(c)) for c in coords[: case["count"]]]
        assert shapes == case["shape"]


def test_edges_of_the_reference(catlass_document: dict[str, Any]) -> None:
    """Where its 32-bit arithmetic is still right we agree; where it is not we refuse."""
    checked = 0
    for edge in catlass_document["edge"]:
        words = edge["what"].replace(",", "").split()
        if words[0] != "offset" or "loops" not in edge:
            continue
        rows, columns = edge["loops"]
        offset, direction = int(words[1]), int(words[3])
        right = "mn" in edge and max(m for m, _ in edge["mn"]) < rows
        if right:
            swizzle = BlockSwizzle((rows, columns, 1), (1, 1), offset, direction)
            tasks = range(rows * columns)
            assert [list(swizzle.block_coord(task)) for task in tasks] == edge["mn"]
        else:
            with pytest.raises(DesignError, match="offset: wraps in 32 bits") as error:
                BlockSwizzle((rows, columns, 1), (1, 1), offset, direction)
            assert error.value.value == offset
        checked += 1
    assert checked >= 6


def test_explicit_loops() -> None:
    fewer = BlockSwizzle((250, 200, 64), (100, 100), loops=(2, 2))
    assert tuple(fewer.actual_block_shape((1, 0))) == (150, 100, 64)
    with pytest.raises(DesignError, match=r"loops\.0: at most 3 tiles"):
        BlockSwizzle((250, 200, 64), (100, 100), loops=(4, 2))


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: BlockSwizzle((0, 1, 1), (1, 1)), "problem.0"),
        (lambda: BlockSwizzle((1, -1, 1), (1, 1)), "problem.1"),
        (lambda: BlockSwizzle((1, 1), (1, 1)), "problem"),
        (lambda: BlockSwizzle("111", (1, 1)), "problem"),
        (lambda: BlockSwizzle((1, 1, 1), (0, 1)), "tile.0"),
        (lambda: BlockSwizzle((1, 1, 1), 4), "tile"),
        (lambda: BlockSwizzle((1, 1, 1), (1, 1), offset=0), "offset"),
        (lambda: BlockSwizzle((1, 1, 1), (1, 1), offset=1.5), "offset"),
        (lambda: BlockSwizzle((1, 1, 1), (1, 1), offset=1 << 32), "offset"),
        (lambda: BlockSwizzle((1, 1, 1), (1, 1), direction=2), "direction"),
        (lambda: BlockSwizzle((1, 1, 1), (1, 1), direction="row"), "direction"),
        (lambda: BlockSwizzle((1 << 20, 1 << 20, 1), (1, 1)), "problem"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).block_coord(4), "task"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).batch_index(4), "task"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).block_coord(-1), "task"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).block_coord("0"), "task"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).actual_block_shape((2, 0)), "coord"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).actual_block_shape((-1, 0)), "coord"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).actual_block_shape(7), "coord"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).set_swizzle_params(0, 0), "offset"),
        (lambda: BlockSwizzle((2, 2, 1), (1, 1)).set_swizzle_params(1, 3), "direction"),
    ],
)
def test_refusals_name_the_field(call: Any, field: str) -> None:
    with pytest.raises(DesignError) as error:
        call()
    assert error.value.field == field
    assert "\n" not in str(error.value)


def test_a_refused_change_leaves_the_swizzle_as_it_was() -> None:
    swizzle = BlockSwizzle((6, 6, 1), (1, 1), offset=3)
    with pytest.raises(DesignError):
        swizzle.set_swizzle_params(1 << 31, 0)
    with pytest.raises(DesignError):
        swizzle.update((0, 6, 1), (1, 1))
    assert (swizzle.offset, swizzle.direction, swizzle.loops) == (3, "zn", (6, 6))
    assert swizzle.block_coord(3) == (0, 1)


def test_batches_number_tasks_through() -> None:
    swizzle = BlockSwizzle((2, 2, 1), (1, 1), batch=2)
    assert swizzle.batch_index(7) == 1
    assert swizzle.block_coord(7) == swizzle.block_coord(3)
    with pytest.raises(DesignError, match="past the last task, 7"):
        swizzle.block_coord(8)
