"""The CUDA of a permute plan: its text, launch, reference and predicted accesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.kernel import Buffer, Kernel, Role
from tileviz.cuda.templates import Rendered, render
from tileviz.dtypes import DType
from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import LANES, Accesses, Space
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute import wording
from tileviz.studies.permute.geometry import Geometry, geometry, stages_clash
from tileviz.studies.permute.indexing import Indexing, indexing_of
from tileviz.studies.permute.plan import Key, PermutePlan
from tileviz.studies.permute.reference import REASONS
from tileviz.studies.permute.references import Move
from tileviz.studies.permute.schedule import Schedule, XorSchedule

STATIC_SHARED_BYTES = 48 * 1024
MAX_SHARED_BYTES = 227 * 1024
MAX_SPAN = 1 << 22

# CUDA type of a 4-byte word of smaller elements.
_WORD = "unsigned int"


def kernel(plan: PermutePlan, k: Key | None = None) -> Kernel:
    """Generate the kernel of a plan.

    Args:
        plan: A permute plan.
        k: The XOR schedule to use, ``"ours"``, or None for the plan's choice.

    Returns:
        A kernel of one block. ``src`` and ``dst`` (in place: ``data``) are allocated by span; an
        address below 0 moves the origin by whole 128-byte rows.

    Raises:
        NotRunnable: The design has no kernel, and why.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.permute.design import PermuteDesign
        >>> from tileviz.studies.permute.plan import plan
        >>> demo = validated(PermuteDesign, {
        ...     "src": {"layout": "S[(4, 32):(32, 1)]"}, "dst": {"layout": "S[(4, 32):(1, 4)]"}})
        >>> generated = kernel(plan(demo))
        >>> [line.strip() for line in generated.source.splitlines() if "reg[r]" in line]
        ['reg[r] = a[j * 32 + lane];', 'b[lane * 4 + j] = reg[r];']
    """
    schedule = plan.schedule(k)
    if schedule is None:
        reason = plan.ours_reason or ""
        token = plan.reference.reason
        if token:
            reason = f"the reference rejects it: {REASONS[token]}; ours: {reason}"
        raise NotRunnable(reason)
    builder = _Builder.of(plan, schedule)
    rendered = builder.render()
    move = Move(builder.geometry, plan.design.in_place, builder.element)
    return Kernel(
        source=rendered.source,
        entry="permute",
        grid=(1, 1, 1),
        block=plan.design.block,
        parameters=builder.buffers,
        shared_bytes=builder.dynamic_bytes,
        reference=move.numpy(),
        host_reference=move.text("permute_reference.cpp.jinja"),
        numpy_reference=move.text("permute_reference.py.jinja"),
        predicted=builder.predicted(rendered),
        caution="" if plan.overlap is None else f"{plan.overlap.sentence} {plan.overlap.loss}",
    )


@dataclass(frozen=True, eq=False)
class _Builder:
    """The parts of one kernel; everything printed or predicted is derived from these."""

    plan: PermutePlan
    schedule: Schedule
    geometry: Geometry
    element: DType
    indexing: Indexing

    @classmethod
    def of(cls, plan: PermutePlan, schedule: Schedule) -> _Builder:
        design = plan.design
        element = dtype_of(design.tile_dtype("src"))
        if max(design.block[1:]) > 1:
            raise NotRunnable("kernels are generated for blocks with threads in x only")
        placed = geometry(design, element.bytes)
        if plan.judged is not None and isinstance(schedule, XorSchedule) and not placed.aligned:
            raise NotRunnable(
                "the reference cuts a region wrongly: its layout of the region addresses other "
                "elements"
            )
        span = max(placed.src.span, placed.dst.span)
        if span > MAX_SPAN:
            raise NotRunnable(f"a buffer spans {span} elements; at most {MAX_SPAN} are run")
        indexing = indexing_of(schedule, placed, design.stage_count)
        builder = cls(plan, schedule, placed, element, indexing)
        if builder.staging_bytes > MAX_SHARED_BYTES:
            needed = f"{builder.staging_bytes} bytes of shared memory"
            raise NotRunnable(f'needs {needed}, at most {MAX_SHARED_BYTES}; try space "global"')
        clash = stages_clash(placed, design.in_place)
        if clash and builder.warps > 1:
            raise NotRunnable(f"stages {clash} elements of each other: they need one warp in turn")
        return builder

    @property
    def warps(self) -> int:
        return self.plan.design.block[0] // LANES

    @property
    def stages(self) -> int:
        return self.plan.design.stage_count

    @property
    def looped(self) -> bool:
        return self.stages > 1 or self.warps > 1

    @property
    def registers(self) -> int:
        return self.schedule.registers

    @property
    def width(self) -> int:
        """Bytes per lane and access: an element's, or a word's."""
        return self.schedule.read.bytes

    @property
    def type(self) -> str:
        """CUDA type of what a lane moves."""
        return self.element.cuda if self.width == self.element.bytes else _WORD

    @property
    def gaps(self) -> bool:
        return self.geometry.has_gaps and not self.plan.design.in_place

    @property
    def shared(self) -> bool:
        return self.plan.design.space == "shared"

    # -- memory ---------------------------------------------------------------------------------

    @property
    def arrays(self) -> dict[str, int]:
        """Shared arrays and the byte each starts on."""
        if not self.shared:
            return {}
        if self.plan.design.in_place:
            return {"tile": 0}
        return {"a": 0, "b": _aligned(self.geometry.src.span * self.element.bytes)}

    @property
    def staging_bytes(self) -> int:
        """Bytes of shared memory."""
        if not self.arrays:
            return 0
        return max(self.arrays.values()) + self.geometry.dst.span * self.element.bytes

    @property
    def dynamic_bytes(self) -> int:
        """Bytes of dynamic shared memory, where the static limit is too low."""
        return self.staging_bytes if self.staging_bytes > STATIC_SHARED_BYTES else 0

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        name, src, dst = self.element.name, self.geometry.src.span, self.geometry.dst.span
        if self.plan.design.in_place:
            return (Buffer("data", name, (dst,), "inout"),)
        role: Role = "inout" if self.gaps else "out"
        return Buffer("src", name, (src,), "in"), Buffer("dst", name, (dst,), role)

    # -- indices --------------------------------------------------------------------------------

    def predicted(self, rendered: Rendered) -> tuple[Accesses, ...]:
        """Evaluate every printed access, in program order."""
        found = []
        for name in self.arrays:
            origin, span = self._outer(name)
            if name != "b" or self.gaps:
                line = rendered.lines[f"{name}_in"]
                found += self._copied(origin, "global", "ld", span, line)
                found += self._copied(name, "shared", "st", span, line)
        for mark, op in (("read", "ld"), ("write", "st")):
            found += self._looked_up(mark, rendered.lines[mark])
            found.append(self._phase(mark, op, rendered.lines[mark]))
        for name in self.arrays:
            origin, span = self._outer(name)
            if name != "a":
                line = rendered.lines[f"{name}_out"]
                found += self._copied(name, "shared", "ld", span, line)
                found += self._copied(origin, "global", "st", span, line)
        return tuple(found)

    def _looked_up(self, mark: str, line: int) -> list[Accesses]:
        """Return the loads of the table behind a phase: neighbouring entries, lane after lane.

        They are the same in every stage, so each warp reads them once, before its first.
        """
        name = {"read": "SRC_AT", "write": "DST_AT"}[mark]
        # A marked table is read by all lanes of the read phase: it says which of them take part.
        marked = self.indexing.none is not None and mark == "read"
        active = None if marked else self.schedule.read.active
        warps = min(self.warps, self.stages)
        entries = np.arange(self.registers * LANES, dtype=np.int64).reshape(-1, LANES)
        return [
            Accesses.of(
                np.tile(entries, (warps, 1)) * table.bytes,
                active=None if active is None else np.tile(active, (warps, 1)),
                space="global",
                op="ld",
                bytes=table.bytes,
                line=line,
                text=str(table.lookup),
                buffer=name,
            )
            for table in self.indexing.tables
            if table.lookup.name == name
        ]

    def _outer(self, array: str) -> tuple[str, int]:
        """Return the global buffer behind a shared array, and its span."""
        if array == "tile":
            return "data", self.geometry.dst.span
        return ("src", self.geometry.src.span) if array == "a" else ("dst", self.geometry.dst.span)

    def _phase(self, mark: str, op: str, line: int) -> Accesses:
        index = self.indexing.read if mark == "read" else self.indexing.write
        items = self.indexing.evaluate(mark == "write", self.registers, self.stages)
        active = self.schedule.read.active
        name = self._holder(mark)
        return Accesses.of(
            items * self.width + self.arrays.get(name, 0),
            active=None if active is None else np.tile(active, (self.stages, 1)),
            space=self.plan.design.space,
            op=op,
            bytes=self.width,
            line=line,
            text=f"{self._pointer(mark)}[{index}]",
            buffer=name,
        )

    def _pointer(self, mark: str) -> str:
        """Return what the access goes through: the array, or the same seen as words."""
        name = self._holder(mark)
        return name if self.type == self.element.cuda else f"{name}_words"

    def _words(self) -> list[tuple[str, str, str]]:
        """Return the pointers to words: type, name, and what they point into."""
        if self.type == self.element.cuda:
            return []
        holders = (self._holder(mark) for mark in ("read", "write"))
        kinds = dict.fromkeys(holders, f"{_WORD}*")
        if not self.plan.design.in_place and not self.shared:
            kinds["src"] = f"const {_WORD}*"
        return [(kind, f"{name}_words", name) for name, kind in kinds.items()]

    def _holder(self, mark: str) -> str:
        if self.plan.design.in_place:
            return "tile" if self.shared else "data"
        return {"read": ("src", "a"), "write": ("dst", "b")}[mark][self.shared]

    def _copied(self, name: str, space: Space, op: str, span: int, line: int) -> list[Accesses]:
        index = _rounds(span, self.plan.design.block[0])
        start = self.arrays.get(name, 0)
        return [
            Accesses.of(
                index * self.element.bytes + start,
                active=index < span,
                space=space,
                op=op,
                bytes=self.element.bytes,
                line=line,
                text=f"{name}[i]",
                buffer=name,
            )
        ]

    # -- text -----------------------------------------------------------------------------------

    def render(self) -> Rendered:
        """Fill in the template."""
        design = self.plan.design
        indexing = self.indexing
        return render(
            "permute.cu.jinja",
            header=wording.header(self.plan, self.schedule, indexing),
            constants=self._constants(),
            tables=indexing.tables,
            threads=design.block[0],
            warps=self.warps,
            barrier="__syncthreads();" if self.warps > 1 else "__syncwarp();",
            looped=self.looped,
            registers=self.registers,
            type=self.element.cuda,
            item=self.type,
            words=self._words(),
            parameters=self._parameters(),
            dynamic=bool(self.dynamic_bytes),
            arrays=[self._array(name, at) for name, at in self.arrays.items()],
            read_steps=[indexing.step] if indexing.step else [],
            write_steps=[
                *([indexing.write_step] if indexing.write_step else []),
                *indexing.selectors,
            ],
            value=wording.written(self.schedule, bool(indexing.guard)),
            guard=indexing.guard,
            read=f"{self._pointer('read')}[{indexing.read}]",
            write=f"{self._pointer('write')}[{indexing.write}]",
        )

    def _constants(self) -> list[tuple[str, int, str]]:
        constants = []
        if self.looped:
            constants.append(("STAGES", self.stages, ""))
        if self.registers > 1 or self.indexing.guard:
            constants.append(
                ("REGISTERS", self.registers, f"{wording.items(self.schedule)} per lane")
            )
        if self.indexing.none is not None:
            constants.append(("NONE", self.indexing.none, "no element for this lane"))
        constants += [(_span(name), self._outer(name)[1], "") for name in self.arrays]
        return constants

    def _parameters(self) -> str:
        kind = self.element.cuda
        if self.plan.design.in_place:
            return f"{kind}* __restrict__ data"
        return f"const {kind}* __restrict__ src, {kind}* __restrict__ dst"

    def _array(self, name: str, at: int) -> dict[str, object]:
        outer, span = self._outer(name)
        return {
            "name": name,
            "at": at,
            "span": _span(name),
            "filled_from": outer if name != "b" or self.gaps else None,
            "gaps": name == "b" and self.gaps,
            "ragged": span % self.plan.design.block[0] != 0,
            "written_to": outer if name != "a" else None,
        }


def _span(array: str) -> str:
    return {"a": "SRC_SPAN", "b": "DST_SPAN", "tile": "SPAN"}[array]


def _aligned(position: int) -> int:
    return -(-position // 16) * 16


def _rounds(span: int, threads: int) -> NDArray[np.int64]:
    """Return the indices of a strided copy loop, one row a warp and round, none all inactive."""
    index = np.arange(-(-span // threads) * threads, dtype=np.int64).reshape(-1, LANES)
    return index[index[:, 0] < span]
