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
        archs: The architectures it was measured on, where that is all there is to say.
    """

    confidence: Confidence
    source: str
    archs: tuple[int, ...] = ()


_ORDER: tuple[Confidence, ...] = ("measured", "documented", "derived", "assumed", "unknown")


def _measured(*archs: int) -> Evidence:
    """Return the standing of a rule that was measured on some architectures."""
    *head, last = (f"{arch}" if at else f"sm_{arch}" for at, arch in enumerate(archs))
    listed = f"{', '.join(head)} and {last}" if head else last
    return Evidence("measured", f"measured on {listed}", archs)


_RULES: dict[tuple[str, bool], Evidence] = {
    ("ld", False): _measured(80, 86, 89, 110, 120, 121),
    ("ld", True): _measured(80, 86, 120, 121),
    ("st", False): _measured(110, 120, 121),
    ("st", True): _measured(120),
    ("ldgsts.ca", False): _measured(120),
    ("ldgsts.ca", True): _measured(120),
    ("atom", False): Evidence("assumed", "no measurement found; store rule, one pass a lane"),
    ("atom", True): Evidence("assumed", "no measurement found; store rule, one pass a lane"),
}
_SUB_WORD = Evidence("derived", "lanes in one 4-byte word never conflict (documented)")
_MERGED = Evidence("measured", "pair rule: stated for sm_70 and 75, measured on sm_80, 86 and 120")
_BYPASS = Evidence("unknown", "counters of the L1-bypassing copy read 0; same rule as .ca assumed")
_LDMATRIX = Evidence("measured", "measured on sm_120 for .x4; documented for the rest")
_STMATRIX = Evidence("assumed", "no counter found; taken to be as ldmatrix")
_SECTORS = _measured(86, 110, 120, 121)


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


def weakest(*rules: Evidence) -> Evidence:
    """Return how well several rules are known together: no better than the least known of them.

    Args:
        rules: At least one. Of rules that were measured, what they were all measured on counts.

    Example:
        >>> weakest(shared_evidence("ld", 4), shared_evidence("st", 4)).source
        'measured on sm_110, 120 and 121'
        >>> weakest(shared_evidence("ld", 4), shared_evidence("atom", 4)).confidence
        'assumed'
    """
    lowest = max((rule.confidence for rule in rules), key=_ORDER.index)
    weak = tuple(dict.fromkeys(rule for rule in rules if rule.confidence == lowest))
    if len(weak) > 1 and all(rule.archs for rule in weak):
        common = tuple(a for a in weak[0].archs if all(a in rule.archs for rule in weak))
        if common:
            return _measured(*common)
    return weak[0] if len(weak) == 1 else Evidence(lowest, "; ".join(r.source for r in weak))


def global_evidence() -> Evidence:
    """Return how well the sector rule is known."""
    return _SECTORS
