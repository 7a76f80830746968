"""The CUDA of a permute plan: its text, launch, reference and predicted accesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.expr import Const, Expr, Lookup, Var, bit_field
from tileviz.cuda.kernel import Array, Buffer, Kernel, Reference, Role
from tileviz.cuda.templates import Rendered, render
from tileviz.dtypes import DType
from tileviz.dtypes import dtype as dtype_of
from tileviz.memory import LANES, Accesses, Space
from tileviz.studies.errors import NotRunnable
from tileviz.studies.permute.geometry import Geometry, Side, geometry, stages_clash
from tileviz.studies.permute.plan import PermutePlan, XorSchedule, xor_form
from tileviz.studies.permute.reference import REASONS

STATIC_SHARED_BYTES = 48 * 1024
MAX_SHARED_BYTES = 227 * 1024
MAX_SPAN = 1 << 22

_LANE, _STAGE = "lane", "s"


def kernel(plan: PermutePlan, k: int | None = None) -> Kernel:
    """Generate the kernel of a plan.

    Args:
        plan: A permute plan.
        k: The XOR schedule to use; None for the plan's choice.

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
        token = plan.reference.reason or ""
        raise NotRunnable(f"the reference rejects it: {REASONS[token]}; {plan.ours_reason}")
    builder = _Builder.of(plan, schedule)
    rendered = builder.render()
    return Kernel(
        source=rendered.source,
        entry="permute",
        grid=(1, 1, 1),
        block=plan.design.block,
        parameters=builder.buffers,
        shared_bytes=builder.dynamic_bytes,
        reference=_reference(builder.geometry, plan.design.in_place, builder.element),
        host_reference=builder.host_reference(),
        predicted=builder.predicted(rendered),
    )


@dataclass(frozen=True, eq=False)
class _Builder:
    """The parts of one kernel; everything printed or predicted is derived from these."""

    plan: PermutePlan
    schedule: XorSchedule
    geometry: Geometry
    element: DType

    @classmethod
    def of(cls, plan: PermutePlan, schedule: XorSchedule) -> _Builder:
        design = plan.design
        element = dtype_of(design.tile_dtype("src"))
        placed = geometry(design, element.bytes)
        span = max(placed.src.span, placed.dst.span)
        if span > MAX_SPAN:
            raise NotRunnable(f"a buffer spans {span} elements; at most {MAX_SPAN} are run")
        builder = cls(plan, schedule, placed, element)
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
        return len(self.schedule.elements)

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

    @property
    def row(self) -> Expr:
        """Which 32 elements register r holds: the XOR of the schedule."""
        lane, r = Var(_LANE, LANES), Var("r", self.registers)
        return r ^ ((lane >> self.schedule.shift) & self.schedule.mask)

    def index(self, side: Side, name: str) -> tuple[Expr, Lookup | None]:
        """Return the position read or written, and the table of stage bases it needs, if any."""
        row = Var("j" if self.schedule.k else "r", self.registers)
        element = _linear(self.geometry.extents, side.strides, Var(_LANE, LANES), row)
        stage, step = Var(_STAGE, self.stages), side.step
        if step is None:
            table = Lookup(f"{name}_STAGE", side.bases, stage)
            return table + element, table
        return stage * step + element + side.bases[0], None

    def predicted(self, rendered: Rendered) -> tuple[Accesses, ...]:
        """Evaluate every printed access, in program order."""
        found = []
        src, dst = self.geometry.src, self.geometry.dst
        for name in self.arrays:
            origin, span = self._outer(name)
            if name != "b" or self.gaps:
                line = rendered.lines[f"{name}_in"]
                found += self._copied(origin, "global", "ld", span, line)
                found += self._copied(name, "shared", "st", span, line)
        for mark, op, side in (("read", "ld", src), ("write", "st", dst)):
            found.append(self._phase(mark, op, side, rendered.lines[mark]))
        for name in self.arrays:
            origin, span = self._outer(name)
            if name != "a":
                line = rendered.lines[f"{name}_out"]
                found += self._copied(name, "shared", "ld", span, line)
                found += self._copied(origin, "global", "st", span, line)
        return tuple(found)

    def _outer(self, array: str) -> tuple[str, int]:
        """Return the global buffer behind a shared array, and its span."""
        if array == "tile":
            return "data", self.geometry.dst.span
        return ("src", self.geometry.src.span) if array == "a" else ("dst", self.geometry.dst.span)

    def _phase(self, mark: str, op: str, side: Side, line: int) -> Accesses:
        index, _ = self.index(side, "SRC" if mark == "read" else "DST")
        lane = np.arange(LANES, dtype=np.int64)
        r = np.arange(self.registers, dtype=np.int64)[:, None]
        s = np.arange(self.stages, dtype=np.int64)[:, None, None]
        row = self.row.evaluate({_LANE: lane, "r": r})
        where = index.evaluate({_LANE: lane, "r": r, "j": row, _STAGE: s})
        full = np.broadcast_to(where, (self.stages, self.registers, LANES)).reshape(-1, LANES)
        name = self._holder(mark)
        return Accesses.of(
            full * self.element.bytes + self.arrays.get(name, 0),
            space=self.plan.design.space,
            op=op,
            bytes=self.element.bytes,
            line=line,
            text=f"{name}[{index}]",
            buffer=name,
        )

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
        read, src_table = self.index(self.geometry.src, "SRC")
        write, dst_table = self.index(self.geometry.dst, "DST")
        return render(
            "permute.cu.jinja",
            header=self._header(),
            constants=self._constants(),
            tables=[table for table in (src_table, dst_table) if table],
            threads=design.block[0],
            warps=self.warps,
            barrier="__syncthreads();" if self.warps > 1 else "__syncwarp();",
            looped=self.looped,
            registers=self.registers,
            type=self.element.cuda,
            parameters=self._parameters(),
            dynamic=bool(self.dynamic_bytes),
            arrays=[self._array(name, at) for name, at in self.arrays.items()],
            xor_row=str(self.row) if self.schedule.k else "",
            read=f"{self._holder('read')}[{read}]",
            write=f"{self._holder('write')}[{write}]",
        )

    def host_reference(self) -> str:
        """Return the move in C++, straight from both layouts."""
        placed = self.geometry
        return render(
            "permute_reference.cpp.jinja",
            extents=placed.extents,
            src=placed.src,
            dst=placed.dst,
            volume=placed.src.positions.shape[1],
            stages=self.stages,
            width=self.element.bytes,
            in_place=self.plan.design.in_place,
        ).source

    def _header(self) -> list[str]:
        design, schedule = self.plan.design, self.schedule
        lines = [f"{design.src.parsed} -> {design.dst.parsed}", design.tile_dtype("src")]
        if self.stages > 1:
            lines[1] += f", {self.stages} stages"
        lines[1] += f", {'in place, ' if design.in_place else ''}{self.registers} per lane"
        if schedule.k:
            form = xor_form(schedule.k, "l")
            lines.append(
                f"Lane l holds element l + 32 * j in register r, j = {form}: k = {schedule.k}."
            )
        else:
            lines.append("Lane l holds element l + 32 * r in register r: k = 0, no XOR.")
        return lines

    def _constants(self) -> list[tuple[str, int, str]]:
        constants = []
        if self.looped:
            constants.append(("STAGES", self.stages, ""))
        if self.registers > 1:
            constants.append(("REGISTERS", self.registers, "elements per lane"))
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


def _linear(extents: tuple[int, ...], strides: tuple[int, ...], lane: Var, row: Var) -> Expr:
    """Return the offset of element ``lane + 32 * row`` as a sum of strided bit fields.

    The volume is a power of two, hence every extent is, and every digit of the coordinate is a
    run of bits of the element number: some from the lane, the rest from the row.
    """
    lane_bits = LANES.bit_length() - 1
    row_bits = (row.limit or 1).bit_length() - 1
    weights: list[int] = []
    for extent, stride in zip(reversed(extents), reversed(strides), strict=True):
        weights += [stride << bit for bit in range(extent.bit_length() - 1)]
    terms = _fields(row, weights[lane_bits : lane_bits + row_bits])
    terms += _fields(lane, weights[:lane_bits])
    total: Expr = Const(0)
    # Largest stride first, as people write a pitch before a column.
    for field, weight in sorted(terms, key=lambda term: -abs(term[1])):
        total = total + field * weight
    return total


def _fields(variable: Var, weights: list[int]) -> list[tuple[Expr, int]]:
    """Return fields of bits and their weights; bits of doubling weight share a field."""
    fields = []
    start = 0
    for end in range(1, len(weights) + 1):
        if end < len(weights) and weights[end] == 2 * weights[end - 1]:
            continue
        fields.append((bit_field(variable, start, end - start), weights[start]))
        start = end
    return fields


def _reference(placed: Geometry, in_place: bool, element: DType) -> Reference:
    """Return the move in NumPy: stage after stage, every element of a stage read before written."""

    def move(inputs: Mapping[str, Array]) -> dict[str, Array]:
        source = inputs["data" if in_place else "src"].reshape(-1, element.lanes)
        if in_place or "dst" in inputs:
            target = inputs["data" if in_place else "dst"].reshape(-1, element.lanes).copy()
        else:
            target = np.empty((placed.dst.span, element.lanes), source.dtype)
        origin = target if in_place else source
        for read, write in zip(placed.src.positions, placed.dst.positions, strict=True):
            target[write] = origin[read]
        return {"data" if in_place else "dst": target.reshape(-1)}

    return move
