"""The NHWC block size K: the reference's rule, and every candidate with what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
MIN_BLOCK, MAX_BLOCK = 128, 1024
MAX_WARPS = 1024
_POWER_BLOCK = 256


def block_size(channels: int) -> int | None:
    """Return the reference's block size for a channel count that is a multiple of 32, or None.

    Example:
        >>> [block_size(c) for c in (64, 96, 192, 512, 1152, 1184)]
        [128, 192, 192, 256, 576, None]
    """
    warps = channels // WARP
    if warps > MAX_WARPS:
        return None
    if warps <= 3:
        return WARP * max(4, 2 * warps)
    if warps & (warps - 1) == 0:
        return _POWER_BLOCK
    if warps <= MAX_BLOCK // WARP:
        return channels
    divisors = [
        count for count in range(MIN_BLOCK // WARP, MAX_BLOCK // WARP + 1) if warps % count == 0
    ]
    return WARP * divisors[-1] if divisors else None


def early_block_size(channels: int) -> int | None:
    """Return K by the early description (#71434): the divisor nearest to C in 128..1024, or None.

    Example:
        >>> [early_block_size(c) for c in (192, 512, 1184)]
        [192, 512, None]
    """
    divisors = [K for K in range(MIN_BLOCK, MAX_BLOCK + 1, WARP) if channels % K == 0]
    return min(divisors, key=lambda K: (abs(channels - K), -K)) if divisors else None


@dataclass(frozen=True)
class Candidate:
    """One block size a person could think of.

    Attributes:
        K: Threads.
        divides: Whether K divides C, so that a thread's channel never changes.
        packs: Whether C divides K, so that a block takes whole rows.
        in_range: Whether 128 <= K <= 1024.
        lane_use: Useful threads over launched ones over one row (rows, where packed), 0 to 1.
        loads: Loads of a channel value per thread in 4 serial steps: 1 where the channel stays.
        chosen: Whether the reference takes it.
        early: Whether the early description takes it.
        verdict: In a few words, why or why not.
    """

    K: int
    divides: bool
    packs: bool
    in_range: bool
    lane_use: float
    loads: int
    chosen: bool
    early: bool
    verdict: str


def candidates(channels: int, serial: int = 4) -> tuple[Candidate, ...]:
    """Return every multiple of 32 up to 1024 as a block size for ``channels``.

    Args:
        channels: C, of any size.
        serial: Serial steps of a thread.

    Example:
        >>> [(found.K, found.verdict) for found in candidates(192) if found.in_range][:3]
        [(128, 'does not divide 192: 4 loads'), (160, 'does not divide 192: 4 loads'),
         (192, 'chosen')]
    """
    taken = block_size(channels) if channels % WARP == 0 else None
    early = early_block_size(channels)
    return tuple(
        _candidate(K, channels, serial, taken, early) for K in range(WARP, MAX_BLOCK + 1, WARP)
    )


def _candidate(K: int, C: int, serial: int, taken: int | None, early: int | None) -> Candidate:
    divides, packs = C % K == 0, K % C == 0
    in_range = MIN_BLOCK <= K <= MAX_BLOCK
    # Consecutive blocks of K over flat rows: a step moves a thread K elements on.
    loads = 1 if packs or divides else serial
    whole = K if packs else -(-C // K) * K
    use = 1.0 if packs else C / whole
    if taken == K:
        verdict = "chosen"
    elif not (divides or packs):
        verdict = f"does not divide {C}: {loads} loads"
    elif not in_range:
        verdict = "outside 128 to 1024 threads"
    else:
        verdict = "would do: the rule takes another" if taken else "would do: C is not accepted"
    return Candidate(K, divides, packs, in_range, use, loads, taken == K, early == K, verdict)
