"""Compiling and running small kernels in the test process."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tileviz.cuda import nvrtc
from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.emulator import Emulation, emulate


@cache
def _compiled(source: str, arch: str, options: tuple[str, ...]) -> str:
    return nvrtc.compile_ptx(source, arch=arch, options=options).ptx


def _three(extents: Sequence[int] | int) -> tuple[int, int, int]:
    given = (extents,) if isinstance(extents, int) else tuple(extents)
    return (*given, *(1,) * (3 - len(given)))  # type: ignore[return-value]


@pytest.fixture(scope="session")
def compile_cuda() -> Callable[..., str]:
    """Compile CUDA text to PTX; each text once a session."""
    if nvrtc.find() is None:
        pytest.skip("no NVRTC here")

    def run(source: str, arch: str = "compute_80", options: Sequence[str] = ()) -> str:
        return _compiled(source, arch, tuple(options))

    return run


@pytest.fixture(scope="session")
def run_cuda(compile_cuda: Callable[..., str]) -> Callable[..., Emulation]:
    """Run the kernel ``k`` of a CUDA text.

    Arguments by name become parameters in order: an array is an ``inout`` buffer, ``("out", dtype,
    count)`` an output, a NumPy scalar a by-value parameter.
    """

    def run(
        source: str,
        *,
        grid: Sequence[int] | int = 1,
        block: Sequence[int] | int = 32,
        entry: str = "k",
        arch: str = "compute_80",
        options: Sequence[str] = (),
        arguments: Mapping[str, Any],
        **settings: Any,
    ) -> Emulation:
        parameters, arrays = as_parameters(arguments)
        return emulate(
            compile_cuda(source, arch, options),
            source=source,
            entry=entry,
            grid=_three(grid),
            block=_three(block),
            parameters=parameters,
            arrays=arrays,
            **settings,
        )

    return run


@pytest.fixture(scope="session")
def run_ptx() -> Callable[..., Emulation]:
    """Run PTX text, with arguments as for ``run_cuda``."""

    def run(
        ptx: str,
        *,
        grid: Sequence[int] | int = 1,
        block: Sequence[int] | int = 32,
        entry: str = "k",
        source: str = "",
        arguments: Mapping[str, Any],
        **settings: Any,
    ) -> Emulation:
        parameters, arrays = as_parameters(arguments)
        return emulate(
            ptx,
            source=source,
            entry=entry,
            grid=_three(grid),
            block=_three(block),
            parameters=parameters,
            arrays=arrays,
            **settings,
        )

    return run


def as_parameters(
    arguments: Mapping[str, Any],
) -> tuple[list[Buffer | Scalar], dict[str, np.ndarray]]:
    """Turn arguments by name into parameters and arrays."""
    parameters: list[Buffer | Scalar] = []
    arrays = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            role = "inout" if value.flags.writeable else "in"
            parameters.append(Buffer(name, str(value.dtype), (value.size,), role))
            arrays[name] = value
        elif isinstance(value, tuple):
            role, kind, count = value
            parameters.append(Buffer(name, kind, (count,), role))
        else:
            parameters.append(Scalar(name, str(value.dtype), value.item()))
    return parameters, arrays


_WIDTHS = {"pred": 32, "f16x2": 32, "bf16x2": 32, "bf16": 16, "tf32": 32}


def _width(kind: str) -> int:
    return _WIDTHS.get(kind) or int(kind[1:])


@pytest.fixture(scope="session")
def apply_opcode(run_ptx: Callable[..., Emulation]) -> Callable[..., list[int]]:
    """Execute one instruction on lists of operands given as bits; return the result's bits.

    ``kinds`` are the PTX types of result and operands. A predicate travels as 0 or 1. Operands
    given as a string are put into the text as they stand.
    """

    def run(opcode: str, kinds: Sequence[str], *operands: Sequence[int] | str) -> list[int]:
        result, *sources = kinds
        count = max(len(o) for o in operands if not isinstance(o, str))
        texts, loads, arrays = [], [], {}
        declared = [".param .u64 out"]
        for number, (kind, operand) in enumerate(zip(sources, operands, strict=True)):
            if isinstance(operand, str):
                texts.append(operand)
                continue
            width = _width(kind)
            name = f"in{number}"
            declared.append(f".param .u64 {name}")
            mask = (1 << width) - 1
            arrays[name] = np.array([int(v) & mask for v in operand], f"uint{width}")
            arrays[name].flags.writeable = False
            register = f"%v{number}" if kind != "pred" else f"%q{number}"
            loads += [
                f".reg .b{max(width, 16)} %v{number};",
                f"ld.param.u64 %rd1, [{name}];",
                f"mad.wide.u32 %rd2, %r1, {width // 8}, %rd1;",
                f"ld.global.u{width} %v{number}, [%rd2];",
            ]
            if kind == "pred":
                loads += [f".reg .pred %q{number};", f"setp.ne.u32 %q{number}, %v{number}, 0;"]
            texts.append(register)
        width = _width(result)
        target = "%p1" if result == "pred" else "%x"
        after = "selp.u32 %x, 1, 0, %p1;" if result == "pred" else ""
        padded = -(-count // 32) * 32
        ptx = f"""
            .version 8.8
            .target sm_90
            .address_size 64
            .visible .entry k({", ".join(declared)}) {{
                .reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .pred %p<3>;
                .reg .b{max(width, 16)} %x;
                mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
                mad.lo.u32 %r1, %r1, %r2, %r3;
                setp.ge.u32 %p2, %r1, {count};
                @%p2 bra DONE;
                {" ".join(loads)}
                {opcode} {", ".join([target, *texts])};
                {after}
                ld.param.u64 %rd1, [out];
                mad.wide.u32 %rd2, %r1, {width // 8}, %rd1;
                st.global.u{width} [%rd2], %x;
            DONE: ret; }}
        """
        emulation = run_ptx(
            ptx,
            grid=padded // 32,
            arguments={"out": ("out", f"uint{width}", count), **arrays},
            trace=False,
        )
        assert emulation.problems == ()
        return [int(value) for value in emulation.outputs["out"]]

    return run


class FloatFormat:
    """A binary floating-point format, in exact rational arithmetic: the tests' own reference."""

    def __init__(self, exponent_bits: int, fraction_bits: int) -> None:
        self.fraction = fraction_bits
        self.exponent = exponent_bits
        self.width = 1 + exponent_bits + fraction_bits
        self.bias = (1 << (exponent_bits - 1)) - 1
        self.top = (1 << exponent_bits) - 1
        self.infinity = self.top << fraction_bits

    def decode(self, bits: int) -> Fraction | None:
        """Return the number that bits stand for; None for infinities and NaN."""
        exponent = bits >> self.fraction & self.top
        fraction = bits & ((1 << self.fraction) - 1)
        if exponent == self.top:
            return None
        if exponent:
            fraction |= 1 << self.fraction
        scale = max(exponent, 1) - self.bias - self.fraction
        value = Fraction(fraction) * Fraction(2) ** scale
        return -value if bits >> (self.width - 1) else value

    def is_nan(self, bits: int) -> bool:
        return bits & ((1 << (self.width - 1)) - 1) > self.infinity

    def encode(self, value: Fraction, mode: str = "rn", zero_sign: int = 0) -> int:
        """Round a number once; ``mode`` is rn, rz, rm or rp."""
        if value == 0:
            return zero_sign << (self.width - 1)
        sign = int(value < 0)
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        step = Fraction(2) ** (max(exponent, 1 - self.bias) - self.fraction)
        whole, rest = divmod(magnitude, step)
        up = {
            "rn": rest * 2 > step or (rest * 2 == step and whole & 1),
            "rz": False,
            "rm": bool(rest) and bool(sign),
            "rp": bool(rest) and not sign,
        }[mode]
        whole += bool(up)
        # The integer of exponent and fraction counts representable numbers from zero.
        lowest = max(exponent, 1 - self.bias) + self.bias - 1
        bits = (lowest << self.fraction) + int(whole)
        if bits >= self.infinity:
            away = mode == "rn" or (mode == "rm" and sign) or (mode == "rp" and not sign)
            bits = self.infinity if away else self.infinity - 1
        return sign << (self.width - 1) | bits


_FORMATS = {
    "f16": FloatFormat(5, 10),
    "bf16": FloatFormat(8, 7),
    "f32": FloatFormat(8, 23),
    "f64": FloatFormat(11, 52),
}


@pytest.fixture(scope="session")
def float_formats() -> dict[str, FloatFormat]:
    """The formats by PTX type."""
    return _FORMATS
