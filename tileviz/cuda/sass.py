"""Memory instructions in machine code, counted by source line with NVIDIA's disassembler."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_SECONDS = 20
_LINE = re.compile(r'^\s*//## File "[^"]*", line (\d+)')
_ACCESS = re.compile(
    r"\b(LDS|STS|LDSM|STSM|LDGSTS|LDG|STG|ATOMS|ATOMG|ATOM|RED)((?:\.[A-Z0-9_]+)*)\s"
)
_KINDS = {
    "LDS": ("shared", "ld"),
    "STS": ("shared", "st"),
    "LDSM": ("shared", "ldmatrix"),
    "STSM": ("shared", "stmatrix"),
    "LDGSTS": ("shared", "ldgsts"),
    "LDG": ("global", "ld"),
    "STG": ("global", "st"),
    "ATOMS": ("shared", "atom"),
    "ATOMG": ("global", "atom"),
    "ATOM": ("global", "atom"),
    "RED": ("global", "atom"),
}
_WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


@dataclass(frozen=True)
class SassAccess:
    """Memory instructions of one kind at one source line of the machine code.

    Attributes:
        line: Source line, or None.
        space: ``shared`` or ``global``.
        op: ``ld``, ``st``, ``ldmatrix``, ``stmatrix``, ``ldgsts`` or ``atom``.
        bytes: Bytes per lane.
        count: How many such instructions.
    """

    line: int | None
    space: str
    op: str
    bytes: int
    count: int


def disassembler() -> Path | None:
    """Return the disassembler of an installed wheel or toolkit, or None."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for name in ("nvdisasm", "nvdisasm.exe"):
            found = sorted(Path(folder).glob(f"*/bin/**/{name}"))
            if found:
                return found[-1]
    path = shutil.which("nvdisasm")
    return Path(path) if path else None


def disassemble(image: bytes) -> str | None:
    """Return the text of a cubin with its source lines, or None without a disassembler.

    Args:
        image: A cubin, compiled with line information.
    """
    program = disassembler()
    if program is None or not image:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(image)
        try:
            done = subprocess.run(
                [str(program), "-c", "-g", str(path)],
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
                errors="replace",
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return done.stdout if done.returncode == 0 else None


def count_accesses(text: str) -> tuple[SassAccess, ...]:
    """Count the memory instructions of disassembled machine code.

    Example:
        >>> listing = '''//## File "kernel.cu", line 7
        ...   /*0010*/   LDS.U.128 R4, [R2] ;
        ...   /*0020*/   LDS.U.128 R8, [R2+0x10] ;
        ...   /*0030*/   STG.E desc[UR4][R6.64], R4 ;'''
        >>> [(a.op, a.space, a.bytes, a.count) for a in count_accesses(listing)]
        [('ld', 'shared', 16, 2), ('st', 'global', 4, 1)]
    """
    counts: Counter[tuple[int | None, str, str, int]] = Counter()
    line: int | None = None
    for row in text.splitlines():
        marked = _LINE.match(row)
        if marked:
            line = int(marked[1])
            continue
        access = _ACCESS.search(row)
        if access:
            space, op = _KINDS[access[1]]
            matrix = op.endswith("matrix")
            parts = access[2].split(".")
            width = 16 if matrix else next((_WIDTHS[p] for p in parts if p in _WIDTHS), 4)
            counts[line, space, op, width] += 1
    return tuple(SassAccess(*kind, count) for kind, count in counts.items())
