"""What the Kernel lab keeps of a run: everything that is shown, and little more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tileviz.cuda.kernel import Array, Kernel
from tileviz.dtypes import dtype
from tileviz.emulator.emulation import StaticAccess
from tileviz.emulator.problems import Problem
from tileviz.runners import AccessRow, Run
from tileviz.runners.derive import numbers, settled
from tileviz.runners.executions import Executions, kept
from tileviz.runners.line_words import own_statement, worst_row
from tileviz.studies.derivation import Numbers
from tileviz.studies.statement import Statement

_FIRST = 4


@dataclass(frozen=True)
class OutputRow:
    """One output buffer in words."""

    name: str
    dtype: str
    shape: str
    first: str
    spread: str
    sha256: str


@dataclass(frozen=True, eq=False)
class LabView:
    """A run as the page shows it.

    Attributes:
        statement: The verdict.
        rows: One for each line and kind of access.
        samples: Kept executions of each row, None where there are none.
        worst: The row that pays most above its ideal, or None.
        problems: What went wrong.
        traced: Which blocks were traced, in words.
        where: Where it ran.
        resources: Registers, shared memory and spills in words, "" where unknown.
        outputs: The output buffers.
        static: Memory instructions in the PTX, for the compiler's counts.
        document: The ``run`` object.
        numbers: Every number of it, with its arithmetic.
    """

    statement: Statement
    rows: tuple[AccessRow, ...]
    samples: tuple[Executions | None, ...]
    worst: int | None
    problems: tuple[Problem, ...]
    traced: str
    where: str
    resources: str
    outputs: tuple[OutputRow, ...]
    static: tuple[StaticAccess, ...]
    document: Mapping[str, object]
    numbers: Numbers

    @classmethod
    def of(cls, run: Run, kernel: Kernel) -> LabView:
        """Return what is shown of a run."""
        samples = kept(run.accesses, run.measured)
        info = run.runner
        return cls(
            statement=own_statement(run.accesses, run.problems, samples),
            rows=run.accesses,
            samples=samples,
            worst=worst_row(run.accesses),
            problems=run.problems,
            traced=_traced(run),
            where=", ".join(part for part in (info.device, info.arch, info.compiler) if part),
            resources=_resources(run),
            outputs=_outputs(run, kernel),
            static=run.static,
            document=run.to_json(),
            numbers=settled(numbers(run)),
        )


def _traced(run: Run) -> str:
    if run.traced_blocks is None:
        return "every block traced"
    many = f"{len(run.traced_blocks):,} of {run.blocks:,}" if run.blocks else "some"
    return "; ".join(filter(None, (f"{many} blocks traced", run.note)))


def _resources(run: Run) -> str:
    used = run.resources
    if used is None:
        return ""
    shared, spilled = f"{used.shared_bytes:,}", f"{used.spill_bytes:,}"
    return (
        f"{used.registers} registers a thread, {shared} bytes of static shared memory, "
        f"{spilled} bytes spilled"
    )


def _outputs(run: Run, kernel: Kernel) -> tuple[OutputRow, ...]:
    rows = []
    for buffer in kernel.buffers:
        if buffer.name in run.outputs:
            summary = run.outputs[buffer.name]
            first, spread = _values(run.arrays[buffer.name], buffer.dtype)
            shape = "×".join(map(str, buffer.shape))
            rows.append(OutputRow(buffer.name, summary.dtype, shape, first, spread, summary.sha256))
    return tuple(rows)


def _values(array: Array, name: str) -> tuple[str, str]:
    """Return the first values and the range, "" where the carrier only moves the bits."""
    kind = dtype(name)
    plain = name.rpartition("x")[0] or name
    if not array.size or np.dtype(kind.carrier).name != plain:
        return "", ""
    first = ", ".join(_number(value) for value in array[:_FIRST].tolist())
    more = ", …" if array.size > _FIRST else ""
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    spread = f"{_number(finite.min())} to {_number(finite.max())}" if finite.size else ""
    missing = array.size - finite.size
    odd = f"{missing:,} not finite" if missing else ""
    return f"{first}{more}", "; ".join(filter(None, (spread, odd)))


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
