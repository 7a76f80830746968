"""How the threads of a block share a tile, and how wide they load and store."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.dtypes import dtype as dtype_of
from tileviz.studies.errors import NotRunnable
from tileviz.studies.schedule.plan import SchedulePlan

MAX_TILE = 1 << 16
MAX_SHARED = 48 * 1024
STEP = 16
VECTOR_BYTES = 16


@dataclass(frozen=True)
class Tiling:
    """Threads and widths of a block.

    Attributes:
        tile: Rows, columns and K elements of a tile.
        tx: Threads across a tile; likewise ``ty``, down.
        tm: Rows of C a thread computes; likewise ``tn``, columns.
        step: K elements staged in shared memory at a time.
        va: Elements of A loaded at once; likewise ``vb``, of B.
        wc: Elements of C stored at once.
        element: CUDA type of A and B.
    """

    tile: tuple[int, int, int]
    tx: int
    ty: int
    tm: int
    tn: int
    step: int
    va: int
    vb: int
    wc: int
    element: str

    @classmethod
    def of(cls, plan: SchedulePlan) -> Tiling:
        """Return the tiling of a plan.

        Raises:
            NotRunnable: The tile is too large for a block.
        """
        design = plan.design
        rows, columns = _largest(plan)
        if rows * columns > MAX_TILE:
            size = f"a tile of {rows} x {columns} elements"
            raise NotRunnable(f"{size} does not fit a block's registers; at most {MAX_TILE}")
        tx, ty = 16 if columns >= 16 else 8, 16 if rows >= 16 else 4
        tm, tn = -(-rows // ty), -(-columns // tx)
        kind = dtype_of(design.dtype)
        wide = VECTOR_BYTES // kind.bytes
        _, n, k = design.problem
        aligned_k = k % wide == 0 and (not design.chosen.splits_k or design.tile[2] % wide == 0)
        aligned_n = n % wide == 0 and _starts_divide(plan, wide)
        step = STEP if k > STEP // 2 else STEP // 2
        made = cls(
            design.tile,
            tx,
            ty,
            tm,
            tn,
            step,
            va=wide if aligned_k else 1,
            vb=wide if aligned_n else 1,
            wc=4 if n % 4 == 0 and tn % 4 == 0 and _starts_divide(plan, 4) else 1,
            element=kind.cuda,
        )
        if made.shared_bytes > MAX_SHARED:
            needed = f"{made.shared_bytes} bytes of shared memory"
            raise NotRunnable(f"the tile needs {needed}; at most {MAX_SHARED}")
        return made

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.tx * self.ty

    @property
    def rows(self) -> int:
        """Rows staged: the tile's, rounded up to whole threads."""
        return self.tm * self.ty

    @property
    def columns(self) -> int:
        """Columns staged: the tile's, rounded up to whole threads."""
        return self.tn * self.tx

    @property
    def wm(self) -> int:
        """Elements of A's column that a thread reads from shared memory at once."""
        return 4 if self.tm % 4 == 0 else 1

    @property
    def wn(self) -> int:
        """Elements of B's row that a thread reads from shared memory at once."""
        return 4 if self.tn % 4 == 0 else 1

    @property
    def pitch_a(self) -> int:
        """Floats from one K element of A to the next in shared memory."""
        return self.rows + (4 if self.wm == 4 else 1)

    @property
    def pitch_b(self) -> int:
        """Floats from one K element of B to the next in shared memory."""
        return self.columns

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory."""
        return 4 * self.step * (self.pitch_a + self.pitch_b)

    @property
    def chunks(self) -> dict[str, int]:
        """Vectors of a row of the staged A (along K), and of a row of the staged B."""
        return {"a": self.step // self.va, "b": self.columns // self.vb}

    @property
    def counts(self) -> dict[str, int]:
        """Vectors staged in one step, of A and of B."""
        return {"a": self.rows * self.chunks["a"], "b": self.step * self.chunks["b"]}

    def values(self) -> dict[str, object]:
        """Return the template's values."""
        return {
            "tx": self.tx,
            "ty": self.ty,
            "tm": self.tm,
            "tn": self.tn,
            "step": self.step,
            "pitch_a": self.pitch_a,
            "pitch_b": self.pitch_b,
            "threads": self.threads,
            "type": self.element,
            "va": self.va,
            "vb": self.vb,
            "vector": _VECTORS[self.element],
            "chunks": self.chunks,
            "counts": self.counts,
            "wm": self.wm,
            "wn": self.wn,
            "wc": self.wc,
        }


_VECTORS = {"float": "float4", "unsigned short": "uint4"}


def _largest(plan: SchedulePlan) -> tuple[int, int]:
    """Return the most rows and columns that any task computes."""
    schedule = plan.schedule
    return int(schedule.heights.max(initial=1)), int(schedule.widths.max(initial=1))


def _starts_divide(plan: SchedulePlan, width: int) -> bool:
    """Return whether every task's first column is a multiple of ``width``, and its end too."""
    corner = plan.schedule.tasks.corner
    if corner is None:
        return plan.design.tile[1] % width == 0 or plan.schedule.tiles[1] == 1
    ends = corner[1] + plan.schedule.widths
    return not bool((corner[1] % width).any()) and not bool((ends % width).any())
