"""Running a user's own kernel from a file, with inputs and outputs as NumPy files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tileviz.cuda.kernel import Array
from tileviz.errors import DesignError
from tileviz.runners import Run, run_kernel
from tileviz.runners.counts import CountRow, compiler_counts
from tileviz.runners.store import HistoryWarning, keep
from tileviz.studies.design import validated
from tileviz.studies.kernel.arguments import buffer_fields, extents, in_order, scalar_fields
from tileviz.studies.kernel.design import MAX_SOURCE, KernelDesign
from tileviz.studies.kernel.kernel import kernel
from tileviz.studies.kernel.plan import plan


@dataclass(frozen=True)
class Request:
    """What a person typed to trace a kernel, as text."""

    file: str
    entry: str
    grid: str
    block: str
    buffers: tuple[str, ...]
    scalars: tuple[str, ...]
    shared_bytes: int
    seed: int


def design(request: Request, typed: Sequence[str]) -> KernelDesign:
    """Return the design of a request.

    Args:
        request: The options.
        typed: The whole command line, for the order of buffers and scalars.

    Raises:
        DesignError: The file cannot be read, or an option has another form.
    """
    fields = {
        "source": _source(request.file),
        "entry": request.entry,
        "grid": extents("grid", request.grid),
        "block": extents("block", request.block),
        "buffers": [buffer_fields(text) for text in request.buffers],
        "scalars": [scalar_fields(text) for text in request.scalars],
        "order": in_order(typed),
        "shared_bytes": request.shared_bytes,
    }
    return validated(KernelDesign, fields)


def run(of: KernelDesign, inputs: Sequence[str], outputs: Sequence[str], seed: int = 0) -> Run:
    """Run a design in the emulator; write outputs only if it ran to its end.

    Args:
        of: The design.
        inputs: ``name=file.npy`` for inputs that are not made up.
        outputs: ``name=file.npy`` for outputs to keep.
        seed: Of the made-up inputs.

    Raises:
        DesignError: A file cannot be read or written, or does not fit its buffer.
    """
    given = {name: _load(name, path) for name, path in map(_pair, inputs)}
    targets = dict(map(_pair, outputs))
    known = {buffer.name for buffer in of.buffers if buffer.role != "in"}
    for name in targets:
        if name not in known:
            raise DesignError("output", f"must name one of {', '.join(sorted(known))}", name)
    planned = plan(of)
    done = run_kernel(kernel(planned), on="emulator", seed=seed, inputs=given, study="kernel")
    variant = "inputs from files" if given else ""
    unkept = keep(of, done, seed=seed, plan=planned, variant=variant)
    if unkept:
        warnings.warn(unkept, HistoryWarning, stacklevel=2)
    shapes = {buffer.name: buffer.shape for buffer in of.buffers}
    for name, path in targets.items():
        if name in done.arrays:
            _save(path, done.arrays[name], shapes[name])
    return done


def counts(of: KernelDesign, done: Run) -> tuple[CountRow, ...]:
    """Return what each line's accesses became in PTX and machine code; none if it did not run."""
    if not done.static:
        return ()
    return compiler_counts(of.source, of.entry, done.static)


def _source(file: str) -> str:
    path = Path(file)
    try:
        with path.open(encoding="utf-8-sig") as opened:
            text = opened.read(MAX_SOURCE + 1)
        if len(text) > MAX_SOURCE:
            raise DesignError("file", f"at most {MAX_SOURCE} characters are read", file[:120])
        return text
    except (OSError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, DesignError):
            raise
        raise DesignError("file", f"cannot be read: {error}", file[:120]) from None


def _pair(text: str) -> tuple[str, str]:
    name, found, path = text.partition("=")
    if not found or not path:
        raise DesignError("input", "name=file.npy is expected", text[:120])
    return name, path


def _load(name: str, path: str) -> Array:
    try:
        array: Array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise DesignError("input", f"{name} cannot be read: {error}", path[:120]) from None
    return array


def _save(path: str, array: Array, shape: tuple[int, ...]) -> None:
    try:
        np.save(path, array.reshape(*shape, -1).squeeze(-1) if array.size else array)
    except OSError as error:
        raise DesignError("output", f"cannot be written: {error}", path[:120]) from None
    except ValueError:
        np.save(path, array)
