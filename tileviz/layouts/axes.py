"""The axes a layout can map to: memory and tensor axes, and thread axes with their scopes.

A thread axis numbers the ``subscope`` units inside one ``scope`` unit: ``laneid`` numbers threads
in a warp, ``warpid`` warps in a block (``cta``). The table is that of the reference (Apache TVM
TIRx), including its odd entry for the grid axes (``bx`` and so on: scope ``thread``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tileviz.errors import DesignError


class LayoutError(ValueError):
    """An operation that these layouts do not admit, where the reference raises as well.

    The text is one line that names the layout, or the numbers that do not fit.
    """


@dataclass(frozen=True)
class Axis:
    """One axis of the address space.

    Attributes:
        name: As written after ``@``.
        thread: True for thread axes, False for memory and tensor axes.
        scope: Thread axes: the unit that contains the numbered ones, else None.
        subscope: Thread axes: the units that are numbered, else None.
    """

    name: str
    thread: bool
    scope: str | None = None
    subscope: str | None = None


_TABLE = (
    Axis("m", False),
    Axis("P", False),
    Axis("F", False),
    Axis("Bank", False),
    Axis("TLane", False),
    Axis("TCol", False),
    Axis("laneid", True, "warp", "thread"),
    Axis("warpid", True, "cta", "warp"),
    Axis("wid_in_wg", True, "warpgroup", "warp"),
    Axis("wgid", True, "cta", "warpgroup"),
    Axis("tid_in_wg", True, "warpgroup", "thread"),
    Axis("tx", True, "cta", "thread"),
    Axis("bx", True, "thread", "cta"),
    Axis("by", True, "thread", "cta"),
    Axis("bz", True, "thread", "cta"),
    Axis("cbx", True, "cluster", "cta"),
    Axis("cby", True, "cluster", "cta"),
    Axis("cbz", True, "cluster", "cta"),
)

AXES: dict[str, Axis] = {axis.name: axis for axis in _TABLE}

_LEVEL = {"thread": 0, "warp": 1, "warpgroup": 2, "cta": 3, "cluster": 4}

# (subscope, scope) of a layout -> its axes that fuse, as (new axis, stride factor). The entry for
# wgid under (warp, cta) keeps its name in the reference, which is a fault (it should be warpid):
# it is kept because the reference's verdicts depend on it.
_FUSE: dict[tuple[str, str], dict[str, tuple[str, int]]] = {
    ("thread", "cta"): {
        "warpid": ("tx", 32),
        "laneid": ("tx", 1),
        "wgid": ("tx", 128),
        "tid_in_wg": ("tx", 1),
        "wid_in_wg": ("tx", 32),
    },
    ("thread", "warpgroup"): {"laneid": ("tid_in_wg", 1), "wid_in_wg": ("tid_in_wg", 32)},
    ("warp", "cta"): {"wid_in_wg": ("warpid", 1), "wgid": ("wgid", 4)},
}
_NO_FUSION: dict[str, tuple[str, int]] = {}


def axis(name: str, field: str = "layout") -> Axis:
    """Return the axis called ``name``.

    Raises:
        DesignError: There is no such axis; the message lists the allowed ones.

    Example:
        >>> axis("laneid")
        Axis(name='laneid', thread=True, scope='warp', subscope='thread')
    """
    found = AXES.get(name) if isinstance(name, str) else None
    if found is None:
        raise DesignError(field, unknown_axis(name), name)
    return found


def unknown_axis(name: object) -> str:
    """Return the message for an axis that does not exist.

    Example:
        >>> unknown_axis("lane")
        'unknown axis "lane"; allowed: m, P, F, Bank, TLane, TCol, laneid, warpid, wid_in_wg, wgid,
        tid_in_wg, tx, bx, by, bz, cbx, cby, cbz'
    """
    return f'unknown axis "{str(name)[:40]}"; allowed: {", ".join(AXES)}'


def is_higher(scope: str, other: str) -> bool:
    """Return whether ``scope`` contains units of scope ``other``.

    Example:
        >>> is_higher("cta", "warp"), is_higher("warp", "warp")
        (True, False)
    """
    return _LEVEL[scope] > _LEVEL[other]


def thread_scope(names: Iterable[str]) -> tuple[str, str] | None:
    """Return the (subscope, scope) that the thread axes in ``names`` span together.

    Raises:
        LayoutError: Two axes number the same units in different scopes, or the chain of scopes
            from the innermost unit outwards has a gap.

    Example:
        >>> thread_scope(["warpid", "laneid", "m"]), thread_scope(["m", "TLane"])
        (('thread', 'cta'), None)
    """
    scopes: dict[str, str] = {}
    innermost: str | None = None
    for name in names:
        entry = AXES[name]
        if entry.scope is None or entry.subscope is None:
            continue
        if innermost is None or is_higher(innermost, entry.subscope):
            innermost = entry.subscope
        if scopes.setdefault(entry.subscope, entry.scope) != entry.scope:
            raise LayoutError(
                f"ill-formed thread axes: {entry.subscope}s are numbered both in a "
                f"{scopes[entry.subscope]} and in a {entry.scope}"
            )
    if innermost is None:
        return None
    outermost, steps = innermost, 0
    while outermost in scopes and steps < len(scopes):
        outermost = scopes[outermost]
        steps += 1
    if steps != len(scopes) or outermost in scopes:
        chain = ", ".join(f"{inner} in {outer}" for inner, outer in scopes.items())
        raise LayoutError(f"ill-formed thread axes: the scopes do not form one chain ({chain})")
    return innermost, outermost


def fusion(scope: tuple[str, str] | None) -> dict[str, tuple[str, int]]:
    """Return which axes fuse on a CUDA target: name -> (new name, stride factor).

    Example:
        >>> fusion(("thread", "warpgroup"))
        {'laneid': ('tid_in_wg', 1), 'wid_in_wg': ('tid_in_wg', 32)}
    """
    return _NO_FUSION if scope is None else _FUSE.get(scope, _NO_FUSION)
