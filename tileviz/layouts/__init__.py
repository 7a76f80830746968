"""Where an element lives: tile layouts, swizzles, their text form and their algebra."""

from tileviz.layouts.addressing import IntArray
from tileviz.layouts.algebra import canonicalize, group, group_many, scope_of, slice_layout
from tileviz.layouts.axes import AXES, Axis, LayoutError, axis
from tileviz.layouts.notation import format_layout, parse_layout
from tileviz.layouts.swizzle import ComposeLayout, Swizzle
from tileviz.layouts.tile_layout import Iter, TileLayout, identity, row_major

__all__ = [
    "AXES",
    "Axis",
    "ComposeLayout",
    "IntArray",
    "Iter",
    "LayoutError",
    "Swizzle",
    "TileLayout",
    "axis",
    "canonicalize",
    "format_layout",
    "group",
    "group_many",
    "identity",
    "parse_layout",
    "row_major",
    "scope_of",
    "slice_layout",
]
