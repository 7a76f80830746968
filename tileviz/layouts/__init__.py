"""Where an element lives: tile layouts, swizzles, their text form and their algebra."""

from tileviz.layouts.addressing import IntArray
from tileviz.layouts.algebra import (
    canonicalize,
    group,
    group_many,
    region_addresses,
    scope_of,
    slice_layout,
)
from tileviz.layouts.atoms import mma_shared, mma_swizzle, tcgen05_atom, tmem_datapath, wg_local
from tileviz.layouts.axes import AXES, Axis, LayoutError, axis
from tileviz.layouts.cute import CuteLayout, SwizzledCute, parse_cute
from tileviz.layouts.cute_conversions import (
    Tiled,
    cute_of_tile,
    layout_of_matrix,
    matrix_of,
    tile_of_cute,
    tile_of_thread_values,
)
from tileviz.layouts.injectivity import Collision, first_repeat, injectivity_collision
from tileviz.layouts.notation import format_layout, parse_layout
from tileviz.layouts.swizzle import ComposeLayout, Swizzle
from tileviz.layouts.tile_layout import Iter, TileLayout, identity, row_major
from tileviz.layouts.tiling import (
    broadcast,
    direct_sum,
    is_tile_inner,
    is_tile_outer,
    pack,
    storage,
    tile,
    tile_to,
    unpack,
)

__all__ = [
    "AXES",
    "Axis",
    "Collision",
    "ComposeLayout",
    "CuteLayout",
    "IntArray",
    "Iter",
    "LayoutError",
    "Swizzle",
    "SwizzledCute",
    "TileLayout",
    "Tiled",
    "axis",
    "broadcast",
    "canonicalize",
    "cute_of_tile",
    "direct_sum",
    "first_repeat",
    "format_layout",
    "group",
    "group_many",
    "identity",
    "injectivity_collision",
    "is_tile_inner",
    "is_tile_outer",
    "layout_of_matrix",
    "matrix_of",
    "mma_shared",
    "mma_swizzle",
    "pack",
    "parse_cute",
    "parse_layout",
    "region_addresses",
    "row_major",
    "scope_of",
    "slice_layout",
    "storage",
    "tcgen05_atom",
    "tile",
    "tile_of_cute",
    "tile_of_thread_values",
    "tile_to",
    "tmem_datapath",
    "unpack",
    "wg_local",
]
