"""Every policy, found in one place: a policy is one module that holds a ``POLICY``."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from tileviz.studies.schedule.policies.base import Policy

# A further policy is one small file and its name here, in the order of menus.
NAMES: tuple[str, ...] = (
    "row_major",
    "column_major",
    "catlass",
    "catlass_splitk",
    "catlass_single_core_splitk",
    "catlass_tail_splitk",
    "catlass_streamk",
    "catlass_l1_full_load",
    "catlass_column",
    "catlass_aswt",
    "catlass_grouped_aswt",
    "catlass_conv2d",
    "cutlass2",
    "cutlass2_nopadding",
    "cutlass3",
    "cutlass_sm100",
    "triton_grouped",
    "deepgemm",
    "tilelang_panel",
    "hilbert",
    "morton",
    "xcd_remap",
    "custom",
)


@lru_cache(maxsize=len(NAMES))
def policy(name: str) -> Policy:
    """Return the policy called ``name``.

    Args:
        name: One of ``NAMES``; anything else is a ``KeyError``.

    Example:
        >>> policy("catlass").title
        'CATLASS'
    """
    if name not in NAMES:
        raise KeyError(name)
    found: Policy = import_module(f"{__name__}.{name}").POLICY
    return found


def policies() -> tuple[Policy, ...]:
    """Return every policy, in the order of menus."""
    return tuple(policy(name) for name in NAMES)
