"""A kernel that times one shared-memory access with ``clock64``, beside a conflict-free one.

Its result is the difference in clocks per access, which is what a conflict costs; absolute clocks
hold the latency of the pipe. Only a GPU gives it a meaning: the emulator's clock stands still.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.cuda.kernel import Buffer, Kernel
from tileviz.cuda.templates import render
from tileviz.memory import LANES
from tileviz.studies.access.kernel import MAX_SHARED_BYTES
from tileviz.studies.access.lane_index import lane_index, used_units
from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.errors import NotRunnable

ACCESSES = 32 * 8

_LOADS = {
    1: ("u8", '"=r"(got)', "unsigned int got"),
    2: ("u16", '"=r"(got)', "unsigned int got"),
    4: ("u32", '"=r"(got)', "unsigned int got"),
    8: ("v2.u32", '"=r"(got), "=r"(more)', "unsigned int got, more"),
    16: ("v4.u32", '"=r"(got), "=r"(m1), "=r"(m2), "=r"(m3)', "unsigned int got, m1, m2, m3"),
}


def clock_kernel(plan: AccessPlan) -> Kernel:
    """Generate the kernel that times an access.

    Args:
        plan: A plan of a shared-memory load, store or ldmatrix.

    Returns:
        A kernel of one warp. ``cycles`` gets the clocks of 256 accesses: as designed, then without
        conflict. It has no reference: clocks are measured, not predicted.

    Raises:
        NotRunnable: The access cannot be timed so, and why.

    Example:
        >>> from tileviz import api
        >>> column = api.design(study="access", layout="S[(32, 32)]", pattern="column")
        >>> "ld.volatile.shared.u32" in clock_kernel(api.plan(column)).source
        True
    """
    design = plan.design
    if design.space != "shared":
        raise NotRunnable("clocks are read around accesses to shared memory only")
    units, active = used_units(plan)
    if not active.all() and not design.op.startswith("ldmatrix"):
        raise NotRunnable("only an access of all 32 lanes is timed")
    width = plan.accesses.bytes
    span = max((int(units[active].max(initial=0)) + 1) * width, LANES * width)
    if span > MAX_SHARED_BYTES:
        raise NotRunnable(f"spans {span} bytes of shared memory; at most {MAX_SHARED_BYTES}")
    index = lane_index(units, active)
    rendered = render(
        "access_clock.cu.jinja",
        header=[f"Clocks of {design.op}.shared, {width} bytes a lane: 256 accesses, best of 8."],
        table=index.table,
        body=_body(design.op, width),
        words=-(-span // 4),
        width=width,
        index=index.text,
    )
    return Kernel(
        source=rendered.source,
        entry="access_clock",
        grid=(1, 1, 1),
        block=(LANES, 1, 1),
        parameters=(
            Buffer("cycles", "uint64", (2,), "out"),
            Buffer("sink", "uint32", (32,), "out"),
        ),
        shared_bytes=-(-span // 4) * 4,
    )


def _body(op: str, width: int) -> list[str]:
    """Return the access as volatile assembly, its result kept alive."""
    if op.startswith("ldmatrix"):
        count = int(op[-1])
        outs = ", ".join(f'"=r"(got[{number}])' for number in range(count))
        names = ", ".join(f"%{number}" for number in range(count))
        return [
            f"unsigned int got[{count}];",
            f'asm volatile("ldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {{ {names} }}, '
            f'[%{count}];" : {outs} : "r"(address) : "memory");',
            "*sink ^= got[0];",
        ]
    kind, outs, declared = _LOADS[width]
    count = outs.count("=r")
    if op == "ld":
        names = ", ".join(f"%{number}" for number in range(count))
        names = f"{{ {names} }}" if count > 1 else names
        return [
            f"{declared};",
            f'asm volatile("ld.volatile.shared.{kind} {names}, [%{count}];" : {outs} '
            ': "r"(address) : "memory");',
            "*sink ^= got;",
        ]
    if op == "st":
        names = ", ".join(["%1"] * count)
        names = f"{{ {names} }}" if count > 1 else names
        return [
            f'asm volatile("st.volatile.shared.{kind} [%0], {names};" :: "r"(address), "r"(round) '
            ': "memory");'
        ]
    raise NotRunnable(f"clocks are read around loads, stores and ldmatrix, not {op}")


@dataclass(frozen=True)
class Clocks:
    """What a timed access cost.

    Attributes:
        here: Clocks per access as designed.
        free: Clocks per access without conflict.
    """

    here: float
    free: float

    @classmethod
    def of(cls, cycles: tuple[int, int]) -> Clocks:
        """Return clocks per access from the kernel's ``cycles``.

        Example:
            >>> Clocks.of((1024, 512)).extra
            2.0
        """
        return cls(cycles[0] / ACCESSES, cycles[1] / ACCESSES)

    @property
    def extra(self) -> float:
        """Clocks that conflicts add to each access."""
        return self.here - self.free
