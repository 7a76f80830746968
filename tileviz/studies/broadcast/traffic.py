"""What accesses cost a broadcast kernel: loads per thread and element, sectors, bytes moved.

Predicted and measured accesses are the same type, so the same counts hold for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileviz.memory import Accesses, judge
from tileviz.studies.broadcast.kernel import Prepared

SECTOR_BYTES = 32


@dataclass(frozen=True)
class BufferTraffic:
    """What is loaded from, or stored to, one buffer.

    Attributes:
        buffer: Its name.
        op: ``ld`` or ``st``.
        instructions: Warp instructions.
        accesses: Single accesses, one a lane.
        sectors: 32-byte sectors moved.
        ideal: Fewest sectors that could hold the bytes each instruction asks for.
        per_thread: Accesses of a launched thread, on average.
        per_element: Accesses for one output element.
    """

    buffer: str
    op: str
    instructions: int
    accesses: int
    sectors: int
    ideal: int
    per_thread: float
    per_element: float

    @property
    def bytes(self) -> int:
        """Bytes moved, in whole sectors; L1 and L2 may hold them already."""
        return self.sectors * SECTOR_BYTES


def traffic(
    prepared: Prepared, accesses: Sequence[Accesses], blocks: int
) -> tuple[BufferTraffic, ...]:
    """Count the accesses of some blocks of a kernel, buffer by buffer.

    Args:
        prepared: The version of a plan that they belong to.
        accesses: Predicted or measured.
        blocks: How many blocks they are of.

    Returns:
        The operands in order, then x, then y. Where nothing was stored, nothing is returned.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.broadcast.design import BroadcastDesign
        >>> from tileviz.studies.broadcast.kernel import prepare
        >>> from tileviz.studies.broadcast.plan import plan
        >>> seed = plan(validated(BroadcastDesign, {"operands": [[192]], "out": [64, 56, 56, 192]}))
        >>> for version in ("before", "cinn", "ours"):
        ...     made = prepare(seed, version)
        ...     print(version, traffic(made, made.predict(), len(made.blocks()))[0].per_thread)
        before 4.0
        cinn 1.0
        ours 1.0
    """
    if not any(a.buffer == "y" for a in accesses):
        return ()
    item = prepared.item_bytes
    stored = [a for a in accesses if a.op == "st" and a.buffer == "y"]
    elements = sum(int(a.active.sum()) * a.bytes // item for a in stored)
    threads = blocks * prepared.block[0] * prepared.block[1]
    found = []
    for name in (*prepared.design.names, "x", "y"):
        mine = [a for a in accesses if a.buffer == name]
        verdicts = [judge(a) for a in mine]
        count = sum(int(a.active.sum()) for a in mine)
        found.append(
            BufferTraffic(
                buffer=name,
                op="st" if name == "y" else "ld",
                instructions=sum(v.executions for v in verdicts),
                accesses=count,
                sectors=sum(v.sectors or 0 for v in verdicts),
                ideal=sum(v.ideal for v in verdicts),
                per_thread=count / threads,
                per_element=count / elements,
            )
        )
    return tuple(found)
