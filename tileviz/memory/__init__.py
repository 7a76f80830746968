"""What hardware does with an access: banks, sectors, lines, and how well each rule is known."""

from tileviz.memory.accesses import LANES, Accesses, Space
from tileviz.memory.banks import (
    BANK_BYTES,
    BANKS,
    BankVerdict,
    bank_load,
    group_lanes,
    shared_wavefronts,
)
from tileviz.memory.evidence import (
    Confidence,
    Evidence,
    global_evidence,
    shared_evidence,
    weakest,
)
from tileviz.memory.sectors import LINE_BYTES, SECTOR_BYTES, SectorVerdict, global_sectors
from tileviz.memory.verdict import Verdict, judge

__all__ = [
    "BANKS",
    "BANK_BYTES",
    "LANES",
    "LINE_BYTES",
    "SECTOR_BYTES",
    "Accesses",
    "BankVerdict",
    "Confidence",
    "Evidence",
    "SectorVerdict",
    "Space",
    "Verdict",
    "bank_load",
    "global_evidence",
    "global_sectors",
    "group_lanes",
    "judge",
    "shared_evidence",
    "shared_wavefronts",
    "weakest",
]
