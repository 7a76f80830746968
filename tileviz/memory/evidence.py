"""How well each memory rule is known: measured, documented, derived, assumed or unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Confidence = Literal["measured", "documented", "derived", "assumed", "unknown"]


@dataclass(frozen=True)
class Evidence:
    """The standing of a rule.

    Attributes:
        confidence: ``measured`` (a counter or clock printed by a public source), ``documented``
            (vendor text), ``derived`` (ours), ``assumed`` (by analogy) or ``unknown``.
        source: Where it was seen, in words.
    """

    confidence: Confidence
    source: str


_WIDE_LOAD = Evidence("measured", "measured on sm_80, sm_86, sm_120 and sm_121")
_RULES: dict[tuple[str, bool], Evidence] = {
    ("ld", False): Evidence("measured", "measured on sm_80, 86, 89, 110, 120 and 121"),
    ("ld", True): _WIDE_LOAD,
    ("st", False): Evidence("measured", "measured on sm_110, sm_120 and sm_121"),
    ("st", True): Evidence("measured", "measured on sm_120"),
    ("ldgsts.ca", False): Evidence("measured", "measured on sm_120"),
    ("ldgsts.ca", True): Evidence("measured", "measured on sm_120"),
    ("atom", False): Evidence("assumed", "no measurement found; store rule, one pass a lane"),
    ("atom", True): Evidence("assumed", "no measurement found; store rule, one pass a lane"),
}
_SUB_WORD = Evidence("derived", "lanes in one 4-byte word never conflict (documented)")
_MERGED = Evidence("measured", "pair rule: stated for sm_70 and 75, measured on sm_80, 86 and 120")
_BYPASS = Evidence("unknown", "counters of the L1-bypassing copy read 0; same rule as .ca assumed")
_LDMATRIX = Evidence("measured", "measured on sm_120 for .x4; documented for the rest")
_STMATRIX = Evidence("assumed", "no counter found; taken to be as ldmatrix")
_SECTORS = Evidence("measured", "measured on sm_86, sm_110, sm_120 and sm_121")


def shared_evidence(op: str, bytes: int, merged: bool = False) -> Evidence:
    """Return how well the bank rule for ``op`` of ``bytes`` a lane is known.

    Example:
        >>> shared_evidence("st", 16).source
        'measured on sm_120'
    """
    if op.startswith("ldmatrix"):
        return _LDMATRIX
    if op.startswith("stmatrix"):
        return _STMATRIX
    if op == "ldgsts.cg":
        return _BYPASS
    if merged:
        return _MERGED
    if bytes < 4 and op in ("ld", "st"):
        return _SUB_WORD
    return _RULES[op, bytes > 4]


def global_evidence() -> Evidence:
    """Return how well the sector rule is known."""
    return _SECTORS
