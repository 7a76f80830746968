"""Matrix fragments spread over a warp: ``ldmatrix``, ``stmatrix``, ``movmatrix`` and ``mma``.

Products are exact and summed in float64, then rounded once. Tensor cores add in an order and with a
truncation that NVIDIA does not document, so a result may differ from a GPU's in its last bits.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tileviz.emulator import numerics
from tileviz.emulator.access import Operation, check_valid, mark_valid, resolver
from tileviz.emulator.binder import Binder
from tileviz.emulator.lanes import WARP, Lanes
from tileviz.emulator.opcode import Opcode
from tileviz.emulator.ops import half
from tileviz.emulator.ops.registry import operation
from tileviz.emulator.ops.warp import pick, where
from tileviz.emulator.problems import Problem, Stop
from tileviz.emulator.ptx import Instruction
from tileviz.emulator.state import State, Step

Array = Any  # a NumPy array; its own types say too little to be worth their noise

# In a fragment lane l holds row l // 4 and, of each row, the elements that follow from l % 4.
_GROUP = np.arange(WARP) // 4
_MEMBER = np.arange(WARP) % 4


def _whole_warps(state: State, instruction: Instruction, lanes: Lanes) -> None:
    """Stop unless every warp that executes does so with all 32 lanes."""
    aligned = lanes.exact is None or (lanes.index % WARP == np.arange(lanes.count) % WARP).all()
    if aligned and lanes.count % WARP == 0:
        return
    site = state.site(int(lanes.index[0]), instruction.line)
    what = f"{instruction.name} needs all 32 lanes of a warp"
    message = f"{what}: {site}{site.at_line}"
    raise Stop(Problem("unsupported", message, site.line, site.block, site.thread))


@operation("ldmatrix")
def load_matrix(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``ldmatrix``: one, two or four 8x8 matrices of 16-bit elements, rows given by lanes."""
    count, transposed = _matrix_form(code)
    state = binder.state
    rows = [
        binder.destination(item, "b32") for item in binder.vector(instruction.operands[0], count)
    ]
    read = binder.addresses(instruction.operands[1])
    access = Operation(instruction.index, instruction.line, "load", f"ldmatrix.x{count}", 16)
    resolve = resolver(state, "shared", access)

    def run(lanes: Lanes) -> None:
        _whole_warps(state, instruction, lanes)
        some = _address_lanes(state, lanes, count)
        part = resolve(read(some), some)[0]
        check_valid(state, access, part)
        units = part.target.views[16][part.units]
        # [warp, matrix, row, column]
        matrices = units.view(np.uint16).reshape(-1, count, 8, 8)
        if transposed:
            matrices = matrices.swapaxes(2, 3)
        pairs = np.ascontiguousarray(matrices).view(np.uint32).reshape(-1, count, WARP)
        for number, row in enumerate(rows):
            if row is not None:
                row[where(lanes)] = pairs[:, number].reshape(-1)

    return run


@operation("stmatrix")
def store_matrix(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``stmatrix``: the reverse of ``ldmatrix``."""
    count, transposed = _matrix_form(code)
    state = binder.state
    values = [binder.source(item, "b32") for item in binder.vector(instruction.operands[1], count)]
    read = binder.addresses(instruction.operands[0])
    access = Operation(instruction.index, instruction.line, "store", f"stmatrix.x{count}", 16)
    resolve = resolver(state, "shared", access)

    def run(lanes: Lanes) -> None:
        _whole_warps(state, instruction, lanes)
        some = _address_lanes(state, lanes, count)
        part = resolve(read(some), some)[0]
        pairs = np.empty((lanes.count // WARP, count, WARP), np.uint32)
        for number, value in enumerate(values):
            pairs[:, number] = np.reshape(pick(value, lanes), (-1, WARP))
        matrices = pairs.view(np.uint16).reshape(-1, count, 8, 8)
        if transposed:
            matrices = np.ascontiguousarray(matrices.swapaxes(2, 3))
        units = matrices.reshape(-1, 8).view(np.complex128)[:, 0]
        if state.races is not None:
            state.races.stored(units)
        part.target.views[16][part.units] = units
        mark_valid(access, part)

    return run


def _matrix_form(code: Opcode) -> tuple[int, bool]:
    code.need("sync")
    code.need("aligned")
    code.need("m8n8")
    count = int(code.need("x1", "x2", "x4")[1])
    transposed = code.has("trans")
    code.need("shared", "shared::cta")
    if code.type() != "b16":
        raise code.unsupported()
    return count, transposed


def _address_lanes(state: State, lanes: Lanes, count: int) -> Lanes:
    """Return the lanes whose addresses are used: eight a matrix, from lane 0."""
    if count == 4:
        return lanes
    return state.lanes(lanes.index[lanes.index % WARP < 8 * count])


@operation("movmatrix")
def move_matrix(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``movmatrix``: transpose an 8x8 matrix held by a warp."""
    for part in ("sync", "aligned", "m8n8", "trans"):
        code.need(part)
    if code.type() != "b16":
        raise code.unsupported()
    row = binder.destination(instruction.operands[0], "b32")
    value: Any = binder.source(instruction.operands[1], "b32")
    state = binder.state

    def run(lanes: Lanes) -> None:
        _whole_warps(state, instruction, lanes)
        held = np.ascontiguousarray(np.broadcast_to(pick(value, lanes), lanes.count))
        matrices = held.view(np.uint16).reshape(-1, 8, 8).swapaxes(1, 2)
        if row is not None:
            row[where(lanes)] = np.ascontiguousarray(matrices).view(np.uint32).reshape(-1)

    return run


class _Shape:
    """Extents of an ``mma`` and how its fragments lie in registers.

    A 32-bit register of A or B holds ``packed`` elements that follow each other along K. Registers
    of A take rows ``g`` and ``g + 8`` in turn, then the next ``4 * packed`` columns; those of B the
    next ``4 * packed`` rows.
    """

    def __init__(self, code: Opcode, kind: str, k: int) -> None:
        self.kind = kind
        self.k = k
        self.packed = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}[kind]
        self.blocks = k // (4 * self.packed)
        if self.blocks not in (1, 2):
            raise code.unsupported()

    def elements(self, registers: Array) -> Array:
        """Return register contents ``[warp, lane]`` as numbers ``[warp, lane, element]``."""
        held = np.ascontiguousarray(registers)
        if self.kind == "tf32":
            kept = held & np.uint32(0xFFFFE000)
            return kept.view(np.float32).astype(np.float64)[..., None]
        if self.kind in ("s8", "u8"):
            return (
                held.view(np.int8 if self.kind == "s8" else np.uint8)
                .astype(np.float64)
                .reshape(*held.shape, 4)
            )
        return half.widen(held.view(np.uint16), self.kind).reshape(*held.shape, 2)

    def a(self, registers: list[Array]) -> Array:
        """Return the 16 x K matrices of A."""
        warps = registers[0].shape[0]
        matrix = np.empty((warps, 16, self.k))
        for number, register in enumerate(registers):
            row = _GROUP + 8 * (number % 2)
            start = self.packed * _MEMBER + 4 * self.packed * (number // 2)
            values = self.elements(register)
            for item in range(self.packed):
                matrix[:, row, start + item] = values[:, :, item]
        return matrix

    def b(self, registers: list[Array]) -> Array:
        """Return the K x 8 matrices of B."""
        warps = registers[0].shape[0]
        matrix = np.empty((warps, self.k, 8))
        for number, register in enumerate(registers):
            start = self.packed * _MEMBER + 4 * self.packed * number
            values = self.elements(register)
            for item in range(self.packed):
                matrix[:, start + item, _GROUP] = values[:, :, item]
        return matrix


class _Accumulator:
    """How a 16 x 8 accumulator lies in registers: four of 32 bits, or two pairs of f16."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.count = 2 if kind == "f16" else 4

    def _places(self, number: int) -> list[tuple[Array, Array]]:
        if self.kind == "f16":
            row = _GROUP + 8 * number
            return [(row, 2 * _MEMBER), (row, 2 * _MEMBER + 1)]
        return [(_GROUP + 8 * (number // 2), 2 * _MEMBER + number % 2)]

    def unpack(self, registers: list[Array]) -> Array:
        """Return the matrices that registers ``[warp, lane]`` hold."""
        matrix = np.empty((registers[0].shape[0], 16, 8))
        for number, register in enumerate(registers):
            held = np.ascontiguousarray(register)
            if self.kind == "f16":
                values = half.widen(held.view(np.uint16), "f16").reshape(*held.shape, 2)
            else:
                carrier = np.float32 if self.kind == "f32" else np.int32
                values = held.view(carrier).astype(np.float64)[..., None]
            for item, (row, column) in enumerate(self._places(number)):
                matrix[:, row, column] = values[:, :, item]
        return matrix

    def pack(self, matrix: Array, number: int) -> Array:
        """Return register ``number`` of every lane."""
        parts = [matrix[:, row, column] for row, column in self._places(number)]
        if self.kind == "f16":
            pairs = np.stack([half.round_to(part, "f16") for part in parts], axis=-1)
            return np.ascontiguousarray(pairs).view(np.uint32).reshape(-1)
        if self.kind == "f32":
            return numerics.narrow(parts[0], "rn").view(np.uint32).reshape(-1)
        return parts[0].astype(np.int64).astype(np.int32).view(np.uint32).reshape(-1)


@operation("mma")
def multiply_accumulate(code: Opcode, instruction: Instruction, binder: Binder) -> Step:
    """``mma.sync`` of shape m16n8: D = A * B + C."""
    for part in ("sync", "aligned", "row", "col"):
        code.need(part)
    shape = next((p for p in instruction.modifiers if re.fullmatch(r"m16n8k\d+", p)), "")
    code.need(shape or "m16n8k16")
    kinds = [
        p for p in instruction.modifiers if p in ("f16", "bf16", "tf32", "f32", "s8", "u8", "s32")
    ]
    for kind in kinds:
        code.need(kind)
    saturate = code.has("satfinite")
    if len(kinds) != 4 or kinds[1] != kinds[2] or kinds[0] != kinds[3] or saturate:
        raise code.unsupported()
    allowed = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",)}
    if kinds[0] not in allowed.get(kinds[1], ("s32",)):
        raise code.unsupported()
    form = _Shape(code, kinds[1], int(shape.partition("k")[2]))
    sums = _Accumulator(kinds[0])
    operands = instruction.operands
    rows = [binder.destination(item, "b32") for item in binder.vector(operands[0], sums.count)]
    counts = (2 * form.blocks, form.blocks, sums.count)
    sources = [
        [binder.source(item, "b32") for item in binder.vector(operand, count)]
        for operand, count in zip(operands[1:], counts, strict=True)
    ]
    state = binder.state

    def run(lanes: Lanes) -> None:
        _whole_warps(state, instruction, lanes)
        a, b, c = (
            [np.broadcast_to(pick(v, lanes), lanes.count).reshape(-1, WARP) for v in values]
            for values in sources
        )
        total = numerics.odd_sum(form.a(a) @ form.b(b), sums.unpack(c))
        results = [sums.pack(total, number) for number in range(sums.count)]
        for row, result in zip(rows, results, strict=True):
            if row is not None:
                row[where(lanes)] = result

    return run
