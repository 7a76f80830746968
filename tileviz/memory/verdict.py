"""One verdict for accesses of either space, with totals, and how well the rule is known."""

from __future__ import annotations

from dataclasses import dataclass

from tileviz.memory.accesses import Accesses
from tileviz.memory.banks import BankVerdict, shared_wavefronts
from tileviz.memory.evidence import Evidence, global_evidence, shared_evidence
from tileviz.memory.sectors import SectorVerdict, global_sectors


@dataclass(frozen=True, eq=False)
class Verdict:
    """Totals over all executed instructions of some accesses.

    Attributes:
        executions: Warp instructions judged.
        wavefronts: Shared-memory passes; None for global memory.
        ideal: Fewest possible: passes for shared memory, sectors for global.
        sectors: 32-byte sectors moved; None for shared memory.
        lines: 128-byte lines touched; None for shared memory.
        n_way: Most passes that one group of lanes needs; None for global memory.
        bytes_used: Distinct bytes asked for by lanes, global memory only.
        evidence: How well the rule is known.
        banks: The verdict per instruction, for shared memory.
        requests: The verdict per instruction, for global memory.
    """

    executions: int
    wavefronts: int | None
    ideal: int
    sectors: int | None
    lines: int | None
    n_way: int | None
    bytes_used: int | None
    evidence: Evidence
    banks: BankVerdict | None = None
    requests: SectorVerdict | None = None

    @property
    def cost(self) -> int:
        """What is paid: wavefronts for shared memory, sectors for global."""
        paid = self.sectors if self.wavefronts is None else self.wavefronts
        return 0 if paid is None else paid

    @property
    def excess(self) -> int:
        """What is paid above the ideal."""
        return self.cost - self.ideal


def judge(accesses: Accesses) -> Verdict:
    """Judge accesses by the rules of their space.

    Args:
        accesses: Predicted or measured accesses of one kind.

    Example:
        >>> import numpy as np
        >>> two_way = Accesses.of(8 * np.arange(32), space="shared", op="st", bytes=4)
        >>> verdict = judge(two_way)
        >>> verdict.wavefronts, verdict.ideal, verdict.excess, verdict.n_way
        (2, 1, 1, 2)
    """
    if accesses.space == "shared":
        banks = shared_wavefronts(accesses)
        return Verdict(
            executions=accesses.executions,
            wavefronts=int(banks.wavefronts.sum()),
            ideal=int(banks.ideal.sum()),
            sectors=None,
            lines=None,
            n_way=int(banks.n_way.max(initial=0)),
            bytes_used=None,
            evidence=shared_evidence(accesses.op, accesses.bytes, bool(banks.merged.any())),
            banks=banks,
        )
    requests = global_sectors(accesses)
    return Verdict(
        executions=accesses.executions,
        wavefronts=None,
        ideal=int(requests.ideal.sum()),
        sectors=int(requests.sectors.sum()),
        lines=int(requests.lines.sum()),
        n_way=None,
        bytes_used=int(requests.bytes_used.sum()),
        evidence=global_evidence(),
        requests=requests,
    )
