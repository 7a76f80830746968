"""Running a kernel: from PTX text and arrays to outputs, accesses and problems."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.dtypes import dtype
from tileviz.emulator.arguments import global_memory
from tileviz.emulator.binder import Binder
from tileviz.emulator.emulation import Emulation, StaticAccess, Statistics
from tileviz.emulator.errors import LaunchError, TooLargeError
from tileviz.emulator.flow import basic_blocks
from tileviz.emulator.fusion import runs, steps_of
from tileviz.emulator.inline import flatten
from tileviz.emulator.lanes import Geometry
from tileviz.emulator.launch import Needs, Specials, batch_capacity, check_shape
from tileviz.emulator.layout import Layout
from tileviz.emulator.limits import Limits
from tileviz.emulator.machine import Code, Machine
from tileviz.emulator.memory import GlobalMemory
from tileviz.emulator.numerics import floating_point
from tileviz.emulator.parser import parse
from tileviz.emulator.problems import Coordinates, Problem, Stop
from tileviz.emulator.ptx import Function, Module
from tileviz.emulator.races import RaceLog
from tileviz.emulator.registers import allocate
from tileviz.emulator.sampling import sample_blocks
from tileviz.emulator.state import State
from tileviz.emulator.statics import narrowest_shared, static_accesses
from tileviz.emulator.trace import Trace

Array = NDArray[Any]

# Grids of up to this many lanes are traced whole, bigger ones by sample.
TRACED_LANES = 1 << 16


def emulate(
    ptx: str,
    *,
    source: str,
    entry: str,
    grid: Coordinates,
    block: Coordinates,
    parameters: Sequence[Buffer | Scalar],
    arrays: Mapping[str, Array],
    shared_bytes: int = 0,
    limits: Limits | None = None,
    trace: bool = True,
    races: bool = True,
    blocks: Sequence[Coordinates] | None = None,
) -> Emulation:
    """Execute a kernel and return its outputs with every memory access it made.

    Args:
        ptx: The compiled module, with ``.loc`` directives (``-lineinfo``) for source lines.
        source: The CUDA text it was compiled from, for the text of source lines.
        entry: Name of the kernel.
        grid: Blocks in x, y, z.
        block: Threads in x, y, z.
        parameters: Buffers and scalars, in parameter order.
        arrays: One array per ``in`` and ``inout`` buffer, by name; never written to. ``out``
            buffers start as 0xFF bytes, and reading one before it is written is a problem.
        shared_bytes: Dynamic shared memory per block.
        limits: Bounds of the run; the defaults of `Limits` if None.
        trace: Record accesses: of all blocks, or on big grids of a sample.
        races: Check shared memory for races.
        blocks: Run these blocks alone; all if None.

    Returns:
        The outcome. Faults of the kernel are in ``problems`` and are not raised.

    Raises:
        EmulatorError: The PTX cannot be parsed, uses what is not emulated, or the launch is wrong.
            Nothing has run then.

    Example:
        >>> import numpy as np
        >>> ptx = '''.version 8.8
        ... .target sm_80
        ... .address_size 64
        ... .visible .entry twice(.param .u64 x) {
        ...   .reg .b32 %r<3>; .reg .b64 %rd<4>;
        ...   ld.param.u64 %rd1, [x];
        ...   mov.u32 %r1, %tid.x;
        ...   mul.wide.u32 %rd2, %r1, 4;
        ...   add.s64 %rd3, %rd1, %rd2;
        ...   ld.global.u32 %r2, [%rd3];
        ...   add.u32 %r2, %r2, %r2;
        ...   st.global.u32 [%rd3], %r2;
        ...   ret; }'''
        >>> run = emulate(ptx, source="", entry="twice", grid=(1, 1, 1), block=(4, 1, 1),
        ...               parameters=[Buffer("x", "int32", (4,), "inout")],
        ...               arrays={"x": np.arange(4, dtype=np.int32)})
        >>> run.outputs["x"].tolist(), run.problems, [a.op for a in run.accesses]
        ([0, 2, 4, 6], (), ['ld', 'st'])
    """
    started = time.perf_counter()
    limits = limits or Limits()
    launch = _Launch(grid, block, shared_bytes, parameters, arrays, limits, races, blocks)
    static: tuple[StaticAccess, ...] = ()
    try:
        module = parse(ptx, entry=entry, max_instructions=limits.ptx_instructions)
        function = flatten(module, entry, max_instructions=limits.ptx_instructions)
        layout = Layout(function, module, shared_bytes)
        static = static_accesses(function, layout.symbols)
        state, code = _prepare(launch, module, function, layout)
    except TooLargeError as error:
        return _nothing_ran(Problem("limit", error.message, error.line), static)
    except Stop as stop:
        return _nothing_ran(stop.problem, static)
    ready = time.perf_counter()
    machine = Machine(state, code, limits, ready + limits.seconds)
    run = _Run(machine, Trace(limits.trace_bytes) if trace else None, grid, blocks)
    run.execute()
    executed = machine.counters
    return Emulation(
        outputs=_outputs(state.memory, parameters),
        accesses=run.trace.accesses(source, layout.shared) if run.trace else (),
        problems=run.problems(),
        traced_blocks=run.traced,
        statistics=Statistics(
            executed.thread_instructions,
            executed.warp_instructions,
            run.seconds,
            ready - started,
        ),
        static=static,
        trace_full=run.trace is not None and run.trace.full,
    )


@dataclass(frozen=True)
class _Launch:
    """The arguments of a launch, as given to `emulate`."""

    grid: Coordinates
    block: Coordinates
    shared_bytes: int
    parameters: Sequence[Buffer | Scalar]
    arrays: Mapping[str, Array]
    limits: Limits
    races: bool
    blocks: Sequence[Coordinates] | None

    def count(self) -> int:
        """Return how many blocks run."""
        x, y, z = self.grid
        if self.blocks is None:
            return x * y * z
        for place in self.blocks:
            inside = len(place) == 3 and all(
                0 <= i < n for i, n in zip(place, self.grid, strict=True)
            )
            if not inside:
                raise LaunchError(f"block {place} is outside the grid {self.grid}")
        if not self.blocks:
            raise LaunchError("no blocks to run")
        return len(set(self.blocks))


def _prepare(
    launch: _Launch, module: Module, function: Function, layout: Layout
) -> tuple[State, list[Code]]:
    """Allocate memory and build the steps of all blocks.

    Raises:
        EmulatorError: Whatever is not implemented is found here, before anything runs.
        Stop: Something is over its limit.
    """
    check_shape(function, launch.grid, launch.block)
    flow = basic_blocks(function)
    rows = allocate(flow, function.registers)
    memory, arguments = global_memory(
        function, module, layout, launch.parameters, launch.arrays, launch.limits
    )
    granule = narrowest_shared(function)
    needs = Needs(layout.shared_bytes // granule, layout.local_bytes, rows.bytes)
    x, y, z = launch.block
    capacity = batch_capacity(launch.count(), x * y * z, needs, launch.limits)
    geometry = Geometry(launch.grid, launch.block, capacity)
    state = State(geometry, memory, layout.shared_bytes, layout.local_bytes)
    state.set_segments(layout.shared, layout.local)
    state.set_parameters(arguments)
    if launch.races and layout.shared_bytes:
        state.races = RaceLog(state, granule)
    specials = Specials(geometry, layout.shared_bytes, launch.shared_bytes)
    binder = Binder(state, function.registers, rows, layout.symbols, specials)
    steps = [
        [step for run in runs(basic.body, binder) for step in steps_of(run, binder)]
        for basic in flow
    ]
    return state, [Code(basic, block, binder) for basic, block in zip(flow, steps, strict=True)]


class _Run:
    """All batches of a launch, the traced blocks in batches of their own."""

    def __init__(
        self,
        machine: Machine,
        trace: Trace | None,
        grid: Coordinates,
        blocks: Sequence[Coordinates] | None,
    ) -> None:
        self.machine = machine
        self.trace = trace
        self.grid = grid
        geometry = machine.state.geometry
        x, y, _ = grid
        if blocks is None:
            self.total = x * y * grid[2]
            self.ids: NDArray[np.int64] | None = None
        else:
            self.ids = np.unique([i + x * (j + y * k) for i, j, k in blocks]).astype(np.int64)
            self.total = len(self.ids)
        most = max(1, TRACED_LANES // geometry.stride)
        sample = None
        if trace is not None and self.total > most:
            sample = sample_blocks((self.total, 1, 1) if blocks is not None else grid, most)
        self.sample = sample
        self.traced: Literal["all"] | tuple[Coordinates, ...] = ()
        self._traced_ids: list[int] = []
        self.ended_by: Problem | None = None
        self.seconds = 0.0

    def execute(self) -> None:
        """Run batch after batch, until the end or a problem."""
        started = time.perf_counter()
        self._execute()
        self.seconds = time.perf_counter() - started

    def _execute(self) -> None:
        state = self.machine.state
        complete = True
        with floating_point():
            try:
                for ids, traced in self._batches():
                    state.trace = self.trace if traced else None
                    if self.trace is not None:
                        self.trace.begin(_warps(ids, state.geometry.warps))
                    if state.races is not None:
                        state.races.begin()
                    if traced:
                        self._traced_ids.extend(ids.tolist())
                    self.machine.run(ids)
                    if state.races is not None:
                        state.races.judge()
                    if traced and self.trace is not None and self.trace.full:
                        del self._traced_ids[-len(ids) :]
                        complete = False
            except Stop as stop:
                self.ended_by = stop.problem
                if state.races is not None:
                    state.races.judge()
        everything = self.sample is None and complete and self.ids is None
        if self.trace is None:
            self.traced = ()
        elif everything and self.ended_by is None:
            self.traced = "all"
        else:
            self.traced = tuple(map(state.geometry.coordinates, self._traced_ids))

    def _batches(self) -> Iterator[tuple[NDArray[np.int64], bool]]:
        """Yield the blocks of each batch, ascending, and whether they are traced."""
        capacity = self.machine.state.geometry.capacity
        edges = [0, self.total]
        if self.sample is not None:
            # Runs of consecutive traced or untraced blocks.
            for number in self.sample:
                edges += [number, number + 1]
            edges = sorted(set(edges))
        traced = set(self.sample or ())
        for start, end in pairwise(edges):
            here = self.trace is not None and (self.sample is None or start in traced)
            if here and self.trace is not None and self.trace.full:
                here = False
            for first in range(start, end, capacity):
                numbers = np.arange(first, min(first + capacity, end))
                yield numbers if self.ids is None else self.ids[numbers], here

    def problems(self) -> tuple[Problem, ...]:
        """Return the notes, then what ended the run."""
        ended = () if self.ended_by is None else (self.ended_by,)
        return (*self.machine.state.notes, *ended)


def _warps(ids: NDArray[np.int64], each: int) -> NDArray[np.int64]:
    """Return the warps of blocks, numbered over the whole launch."""
    return (ids[:, None] * each + np.arange(each)).ravel()


def _outputs(memory: GlobalMemory, parameters: Sequence[Buffer | Scalar]) -> dict[str, Array]:
    by_name = {buffer.name: buffer for buffer in memory.buffers}
    return {
        p.name: by_name[p.name].content(dtype(p.dtype).numpy)
        for p in parameters
        if isinstance(p, Buffer) and p.role != "in"
    }


def _nothing_ran(problem: Problem, static: tuple[StaticAccess, ...]) -> Emulation:
    return Emulation({}, (), (problem,), (), Statistics(0, 0, 0.0, 0.0), static)
