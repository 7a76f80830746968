"""A micro-kernel for exactly one access, so that its cost can be measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tileviz.cuda.kernel import Array, Buffer, Kernel, Reference, Role
from tileviz.cuda.templates import Rendered, render
from tileviz.memory import LANES, Accesses
from tileviz.studies.access.lane_index import MATRICES, LaneIndex, lane_index, used_units
from tileviz.studies.access.plan import AccessPlan
from tileviz.studies.errors import NotRunnable

MAX_GLOBAL_BYTES = 1 << 24
MAX_SHARED_BYTES = 227 * 1024
STATIC_SHARED_BYTES = 48 * 1024

# Element and CUDA type that moves a number of bytes at once.
TYPES = {
    1: ("uint8", "unsigned char"),
    2: ("uint16", "unsigned short"),
    4: ("uint32", "unsigned int"),
    8: ("uint64", "unsigned long long"),
    16: ("uint128", "uint4"),
}


def kernel(plan: AccessPlan) -> Kernel:
    """Generate the micro-kernel of an access.

    Args:
        plan: An access plan.

    Returns:
        A kernel of one warp. Addresses keep their place within 128 bytes; whole lines in front of
        the lowest are left off. Loads copy what each lane got to ``dst``; stores, copies and
        atomics leave the whole memory in ``dst``.

    Raises:
        NotRunnable: There is no such kernel, and why.

    Example:
        >>> from tileviz.studies.design import validated
        >>> from tileviz.studies.access.design import AccessDesign
        >>> from tileviz.studies.access.plan import plan
        >>> column = validated(AccessDesign, {"layout": "S[(32, 33):(33, 1)]", "pattern": "column"})
        >>> generated = kernel(plan(column))
        >>> [line.strip() for line in generated.source.splitlines() if "dst[lane]" in line]
        ['dst[lane] = tile[lane * 33];']
    """
    builder = _Builder(plan)
    builder.check()
    rendered = builder.render()
    predicted, subject = builder.predicted(rendered)
    return Kernel(
        source=rendered.source,
        entry="access",
        grid=(1, 1, 1),
        block=(LANES, 1, 1),
        parameters=builder.buffers,
        shared_bytes=builder.bytes if builder.dynamic else 0,
        reference=builder.reference(),
        host_reference=builder.reference_text("copies_reference.cpp.jinja"),
        numpy_reference=builder.reference_text("copies_reference.py.jinja"),
        predicted=predicted,
        subject=subject,
    )


@dataclass(frozen=True, eq=False)
class _Builder:
    """The parts of one micro-kernel."""

    plan: AccessPlan

    def check(self) -> None:
        """Refuse what has no kernel."""
        op, width = self.op, self.width
        if not self.active.any():
            raise NotRunnable("no lane takes part")
        if op.startswith("stmatrix"):
            raise NotRunnable("stmatrix needs sm_90, and kernels here are compiled for sm_80 too")
        if op == "atom" and width not in (4, 8):
            raise NotRunnable(f"an atomic add takes 4 or 8 bytes, not {width}")
        if op == "ldgsts.cg" and width != 16:
            raise NotRunnable(f"cp.async.cg copies 16 bytes, not {width}")
        if op.startswith("ldgsts") and not self.shared:
            raise NotRunnable("cp.async writes shared memory; its global side is the source")
        if op.startswith("ldgsts"):
            self._check_targets()
        if self.matrices and not self.active[: 8 * self.matrices].all():
            raise NotRunnable(f"{op} needs an address in each of its {8 * self.matrices} lanes")
        if self.bytes > self.limit:
            where = "shared" if self.shared else "global"
            raise NotRunnable(f"spans {self.bytes} bytes of {where} memory; at most {self.limit}")

    def _check_targets(self) -> None:
        """Refuse lanes that copy to one place: unlike stores, such copies race."""
        lanes = np.flatnonzero(self.active)
        units = self.units[lanes]
        order = np.argsort(units, kind="stable")
        again = np.flatnonzero(units[order][1:] == units[order][:-1])
        if again.size:
            first, second = lanes[order[again[0]]], lanes[order[again[0] + 1]]
            raise NotRunnable(f"lanes {first} and {second} copy to one place, which is a race")

    # -- the access ------------------------------------------------------------------------------

    @property
    def op(self) -> str:
        return self.plan.design.op

    @property
    def width(self) -> int:
        return self.plan.accesses.bytes

    @property
    def shared(self) -> bool:
        return self.plan.design.space == "shared"

    @property
    def limit(self) -> int:
        return MAX_SHARED_BYTES if self.shared else MAX_GLOBAL_BYTES

    @property
    def matrices(self) -> int:
        """Matrices of an ldmatrix; 0 for other operations."""
        if not self.op.startswith("ldmatrix"):
            return 0
        return MATRICES[self.op.rpartition(".")[2]]

    @cached_property
    def placed(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where each lane goes, and which lanes count."""
        return used_units(self.plan)

    @property
    def active(self) -> NDArray[np.bool_]:
        return self.placed[1]

    @property
    def units(self) -> NDArray[np.int64]:
        return self.placed[0]

    @cached_property
    def index(self) -> LaneIndex:
        return lane_index(self.units, self.active)

    @property
    def count(self) -> int:
        """Units of memory behind the access, whole rounds of 32 for a loop over them."""
        used = int(self.units[self.active].max(initial=0)) + 1
        return -(-used // LANES) * LANES

    @property
    def bytes(self) -> int:
        return self.count * self.width

    @property
    def dynamic(self) -> bool:
        return self.shared and self.bytes > STATIC_SHARED_BYTES

    @property
    def reads(self) -> bool:
        """Whether lanes read the memory in question, and show what they got."""
        return self.op == "ld" or bool(self.matrices)

    @property
    def results(self) -> int:
        """Units of ``dst`` where lanes show what they got; 4-byte words for matrices."""
        return LANES * self.matrices if self.matrices else LANES

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        name, _ = TYPES[self.width]
        source = LANES if self.op == "atom" else self.count
        if self.matrices:
            target = Buffer("dst", name, (-(-self.results * 4 // self.width),), "out")
        else:
            size = LANES if self.reads else self.count
            # Global memory that no lane writes keeps its values.
            role: Role = "inout" if not self.reads and not self.shared else "out"
            target = Buffer("dst", name, (size,), role)
        return Buffer("src", name, (source,), "in"), target

    # -- text ------------------------------------------------------------------------------------

    def render(self) -> Rendered:
        """Fill in the template."""
        constants = [("TILE", self.count, f"units of {self.width} bytes")] if self.shared else []
        return render(
            "access.cu.jinja",
            header=self._header(),
            constants=constants,
            table=self.index.table,
            type=TYPES[self.width][1],
            shared=self.shared,
            dynamic=self.dynamic,
            reads=self.reads,
            body="\n".join(f"    {line}" for line in self._body()),
        )

    def _header(self) -> list[str]:
        design = self.plan.design
        kind = f"{self.op}.{design.space}, {self.width} bytes a lane"
        if design.layout is None:
            return [kind]
        pattern = design.pattern if isinstance(design.pattern, str) else "lane map"
        return [f"{kind}: {pattern} of {design.layout}"]

    @property
    def place(self) -> str:
        """What the access touches, as written."""
        memory = "tile" if self.shared else ("src" if self.op == "ld" else "dst")
        return f"{memory}[{self.index.text}]"

    def _body(self) -> list[str]:
        when = f"if ({self.index.guard}) " if self.index.guard else ""
        if self.matrices:
            return self._matrix_body()
        if self.op.startswith("ldgsts"):
            cache = self.op.partition(".")[2]
            return [
                f'{when}asm volatile("cp.async.{cache}.shared.global [%0], [%1], {self.width};" '
                f':: "r"(static_cast<unsigned int>(__cvta_generic_to_shared(&{self.place}))), '
                f'"l"(&src[{self.index.text}]) : "memory"); @{{access}}',
                'asm volatile("cp.async.wait_all;" ::: "memory");',
            ]
        if self.op == "atom":
            return [f"{when}atomicAdd(&{self.place}, src[lane]); @{{access}}"]
        if self.op == "st":
            return [f"{when}{self.place} = src[{self.index.text}]; @{{access}}"]
        if not when:
            return [f"dst[lane] = {self.place}; @{{access}}"]
        kind = TYPES[self.width][1]
        return [
            f"{kind} value{{}};",
            f"{when}value = {self.place}; @{{access}}",
            "dst[lane] = value; @{show}",
        ]

    def _matrix_body(self) -> list[str]:
        count = self.matrices
        outs = ", ".join(f'"=r"(got[{number}])' for number in range(count))
        names = ", ".join(f"%{number}" for number in range(count))
        return [
            f"unsigned int got[{count}];",
            f'asm volatile("ldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {{ {names} }}, '
            f'[%{count}];" : {outs} : "r"(static_cast<unsigned int>('
            f'__cvta_generic_to_shared(&{self.place}))) : "memory"); @{{access}}',
            "unsigned int* const words = reinterpret_cast<unsigned int*>(dst);",
            "#pragma unroll",
            f"for (int m = 0; m < {count}; ++m) words[m * 32 + lane] = got[m]; @{{show}}",
        ]

    # -- what is right, and what it costs --------------------------------------------------------

    def copies(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return source and target of every copy, and the bytes of one."""
        lanes = np.flatnonzero(self.active)
        units = self.units[lanes]
        if self.matrices:
            row, lane = np.divmod(np.arange(LANES * self.matrices), LANES)
            words = self.units[8 * row + lane // 4] * 4 + lane % 4
            return words, np.arange(len(words)), 4
        if self.op == "ld":
            return units, lanes, self.width
        if self.op == "atom":
            return lanes, units, self.width
        return units, units, self.width

    @property
    def clears(self) -> bool:
        """Whether ``dst`` is 0 where nothing is copied to."""
        return self.shared or self.reads

    def reference(self) -> Reference:
        """Return the access in NumPy."""
        sources, targets, width = self.copies()
        size = self.buffers[1].count * self.width
        adds, clears = self.op == "atom", self.clears
        carrier = {4: np.uint32, 8: np.uint64}.get(width, np.uint8)

        def move(inputs: Mapping[str, Array]) -> dict[str, Array]:
            given = inputs["src"].view(np.uint8).reshape(-1, width)
            before = np.zeros(size, np.uint8) if clears else inputs["dst"].view(np.uint8).copy()
            after = before.reshape(-1, width)
            if adds:
                sums = after.view(carrier)[:, 0]
                np.add.at(sums, targets, np.ascontiguousarray(given).view(carrier)[sources, 0])
            else:
                after[targets] = given[sources]
            return {"dst": after.reshape(-1).view(inputs["src"].dtype)}

        return move

    def reference_text(self, template: str) -> str:
        """Return the access as text, in the template's language."""
        sources, targets, width = self.copies()
        return render(
            template,
            sources=sources.tolist(),
            targets=targets.tolist(),
            width=width,
            clears=self.clears,
            adds=TYPES[width][1] if self.op == "atom" else "",
        ).source

    def predicted(self, rendered: Rendered) -> tuple[tuple[Accesses, ...], Accesses]:
        """Evaluate every printed access, in program order; and say which is the one in question."""
        units = self.index.evaluate()
        found = []
        if self.shared:
            found += self._swept(rendered, "fill", "src", "ld", "st", self.reads)
        if self.op == "st":
            found.append(self._one(units, "global", "ld", "src", rendered.lines["access"]))
        if self.op == "atom":
            lanes = np.arange(LANES)
            found.append(self._one(lanes, "global", "ld", "src", rendered.lines["access"]))
        if self.op.startswith("ldgsts"):
            found.append(self._one(units, "global", self.op, "src", rendered.lines["access"]))
        line = rendered.lines["access"]
        memory = "tile" if self.shared else ("src" if self.op == "ld" else "dst")
        subject = self._one(units, self.plan.design.space, self.op, memory, line)
        found.append(subject)
        if self.matrices:
            words = np.arange(LANES * self.matrices).reshape(-1, LANES) * 4
            show = rendered.lines["show"]
            found.append(
                Accesses.of(words, space="global", op="st", bytes=4, line=show, buffer="dst")
            )
        elif self.op == "ld":
            shown = np.arange(LANES)[None] * self.width
            line = rendered.lines.get("show", line)
            found.append(
                Accesses.of(
                    shown, space="global", op="st", bytes=self.width, line=line, buffer="dst"
                )
            )
        if self.shared:
            found += self._swept(rendered, "empty", "dst", "st", "ld", not self.reads)
        return tuple(found), subject

    def _one(
        self, units: NDArray[np.int64], space: str, op: str, buffer: str, line: int
    ) -> Accesses:
        matrix = bool(self.matrices)
        return Accesses.of(
            units * self.width,
            active=self.active,
            space="shared" if space == "shared" else "global",
            op=op,
            bytes=16 if matrix else self.width,
            line=line,
            text=self.place if buffer in ("tile", "dst") or self.op == "ld" else "",
            buffer=buffer,
        )

    def _swept(
        self, rendered: Rendered, mark: str, outer: str, outside: str, inside: str, copied: bool
    ) -> list[Accesses]:
        """Return the accesses of the loop that fills or empties the tile."""
        if mark not in rendered.lines:
            return []
        index = np.arange(-(-self.count // LANES) * LANES, dtype=np.int64).reshape(-1, LANES)
        line = rendered.lines[mark]
        found = []
        if copied:
            found.append(("global", outside, outer))
        found.append(("shared", inside, "tile"))
        if mark == "empty":
            found.reverse()
        return [
            Accesses.of(
                index * self.width,
                active=index < self.count,
                space="shared" if space == "shared" else "global",
                op=op,
                bytes=self.width,
                line=line,
                text=f"{name}[i]",
                buffer=name,
            )
            for space, op, name in found
        ]
