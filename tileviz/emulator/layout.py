"""Where the variables of a kernel lie in shared and local memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tileviz.emulator.errors import LaunchError
from tileviz.emulator.memory import Segment
from tileviz.emulator.ptx import Address, Function, Module, Symbol, Variable, flatten

MAX_SHARED = 227 * 1024  # most that a block may use on any GPU so far


class Layout:
    """Where every variable of a kernel lies in its space.

    Attributes:
        used: Every name in the instructions that is no register.
        symbols: Space and address of each variable.
        shared: Named pieces of a block's shared memory.
        shared_bytes: Shared memory of a block, static and dynamic.
        local: Named pieces of a thread's local memory.
        local_bytes: Local memory of a thread.
    """

    def __init__(self, function: Function, module: Module, dynamic_bytes: int) -> None:
        self.used = used_symbols(function)
        self.symbols: dict[str, tuple[str, int]] = {}
        self.shared: list[Segment] = []
        self.local: list[Segment] = []
        self.local_bytes = 0
        variables = [*function.variables.values()]
        variables += [v for v in module.variables.values() if v.name in self.used]
        sized = [v for v in variables if v.space == "shared" and v.size]
        dynamic = [v for v in variables if v.space == "shared" and not v.size]
        self.shared_bytes = self._place(sized, "shared", self.shared)
        if dynamic:
            align = max(16, *(v.align for v in dynamic))
            self.shared_bytes = -(-self.shared_bytes // align) * align
            for variable in dynamic:
                self.symbols[variable.name] = ("shared", self.shared_bytes)
                self.shared.append(
                    Segment(plain_name(variable.name), self.shared_bytes, dynamic_bytes)
                )
        self.shared_bytes += dynamic_bytes
        if self.shared_bytes > MAX_SHARED:
            raise LaunchError(
                f"{self.shared_bytes} bytes of shared memory per block; at most {MAX_SHARED}"
            )
        self.local_bytes = self._place(
            [v for v in variables if v.space == "local"], "local", self.local
        )

    def _place(self, variables: Sequence[Variable], space: str, segments: list[Segment]) -> int:
        offset = 0
        for variable in variables:
            offset = -(-offset // variable.align) * variable.align
            self.symbols[variable.name] = (space, offset)
            segments.append(Segment(plain_name(variable.name), offset, variable.size))
            offset += variable.size
        return offset


def used_symbols(function: Function) -> set[str]:
    """Return every name that the instructions use and that is no register."""
    names = set()
    for instruction in function.instructions():
        for operand in flatten(instruction.operands):
            base = operand.base if isinstance(operand, Address) else operand
            if isinstance(base, Symbol):
                names.add(base.name)
    return names


def plain_name(mangled: str) -> str:
    """Return the source name of a variable.

    Example:
        >>> plain_name("_ZZ12warp_permuteE4smem"), plain_name("tile"), plain_name("_ZN2ns3bufE")
        ('smem', 'tile', 'buf')
    """
    name = mangled.partition("#")[0].partition("@")[0]
    if not name.startswith("_Z"):
        return name
    last = name
    position = 0
    while match := re.search(r"\d+", name[position:]):
        start = position + match.end()
        end = start + int(match[0][-4:])
        if end > len(name):
            position = start
            continue
        last, position = name[start:end], end
    return last
