"""Two designs of one study beside each other: what differs, which is better, by how much."""

from tileviz.comparing.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
