"""How large an arrangement of a tile is, unfolded: the tile's own bytes, and what is added."""

from __future__ import annotations

from tileviz.layouts import TileLayout, parse_layout
from tileviz.memory import BANK_BYTES, BANKS
from tileviz.studies.access.candidates import Candidate
from tileviz.studies.access.tile import Tile
from tileviz.studies.arithmetic import equals, product, shown
from tileviz.studies.derivation import Step

_LINE_BYTES = BANKS * BANK_BYTES


def bytes_steps(tile: Tile, candidate: Candidate) -> list[Step]:
    """Return the way to the bytes that a tile takes in some arrangement."""
    return [_own(tile), _taken(tile, candidate)]


def extra_steps(tile: Tile, candidate: Candidate) -> list[Step]:
    """Return the way to the bytes that an arrangement takes beyond the tile's own."""
    line = equals(f"{shown(candidate.bytes)} − {shown(tile.bytes)}", candidate.extra_bytes)
    text = "What the arrangement takes, less the tile itself."
    return [*bytes_steps(tile, candidate), Step(text, line)]


def _own(tile: Tile) -> Step:
    text = f"The tile itself: its elements, {tile.element_bytes} bytes each."
    return Step(text, equals(f"{product(tile.extents)} · {tile.element_bytes}", tile.bytes))


def _taken(tile: Tile, candidate: Candidate) -> Step:
    """Return why the arrangement takes so many bytes, by its kind."""
    whole = candidate.bytes
    lines = -(-whole // _LINE_BYTES)
    if candidate.kind == "padding":
        layout = parse_layout(candidate.layout or "")
        assert isinstance(layout, TileLayout)
        pairs = zip(layout.strides, layout.extents, strict=True)
        stride, extent = max(pair for pair in pairs if pair[1] > 1)
        text = (
            f"Padded to {candidate.layout}: along its slowest dimension {extent:,} places of "
            f"{stride:,} elements."
        )
        line = f"{shown(extent)} · {shown(stride)} · {tile.element_bytes}"
        return Step(text, equals(line, whole))
    if whole == tile.bytes:
        how = "moves elements within the tile" if candidate.kind != "plain" else "adds nothing"
        return Step(f"The arrangement {how}.", shown(whole))
    if candidate.kind == "swizzle" and lines * _LINE_BYTES - tile.bytes >= _LINE_BYTES:
        bits = whole.bit_length() - 1
        text = f"Its XORs reach every byte address of {bits} bits."
        return Step(text, equals(f"1 << {bits}", whole))
    text = f"Whole lines of {_LINE_BYTES} bytes, over the banks."
    return Step(text, equals(f"{shown(lines)} · {_LINE_BYTES}", whole))
