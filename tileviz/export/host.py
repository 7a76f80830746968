"""What an exported program needs to know of a kernel's parameters, in C++ or in Python."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.dtypes import dtype as dtype_of

# Bits of a float's mantissa, and the exponent that makes it a number from 0.5 to 1.
_NUMBERS = {
    "float16": (0x03FF, 0x3800),
    "bfloat16": (0x007F, 0x3F00),
    "float32": (0x007FFFFF, 0x3F000000),
    "float64": (0x000FFFFFFFFFFFFF, 0x3FE0000000000000),
}
_UNSIGNED = {2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}
_SUFFIXES = {2: "", 4: "u", 8: "ull"}


@dataclass(frozen=True)
class HostBuffer:
    """A buffer as a host program sees it.

    Attributes:
        buffer: The parameter.
        seed: What its contents are made from: its place among the buffers, from 1.
        typed: Whether vectors of floats get numbers too, as the kernels of people need.
        signed: Whether numbers may be negative.
    """

    buffer: Buffer
    seed: int
    typed: bool
    signed: bool

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.buffer.name

    @property
    def role(self) -> str:
        """``in``, ``out`` or ``inout``."""
        return self.buffer.role

    @property
    def host(self) -> str:
        """Name of its bytes in the program; no text of people's own can mean it."""
        return f"host_{self.name}"

    @property
    def device(self) -> str:
        """Name of its pointer in the program."""
        return f"device_{self.name}"

    @property
    def type(self) -> str:
        """CUDA type of an element."""
        return dtype_of(self.buffer.dtype).cuda

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return dtype_of(self.buffer.dtype).bytes

    @property
    def bytes(self) -> int:
        """Bytes in all."""
        return self.buffer.count * self.width

    @property
    def base(self) -> str:
        """Type of what its contents are made of: an element, or one lane of a vector."""
        lane, _, lanes = self.buffer.dtype.rpartition("x")
        return lane if self.typed and lane and lanes.isdigit() else self.buffer.dtype

    @property
    def masks(self) -> tuple[int, int] | None:
        """Bits kept and bits set to make numbers of size 0.5 to 1; None where any bytes will do."""
        found = _NUMBERS.get(self.base)
        if found is None or not self.signed:
            return found
        return found[0] | 1 << (8 * self._lane - 1), found[1]

    @property
    def number(self) -> tuple[str, str] | None:
        """The masks as C++ literals."""
        if self.masks is None:
            return None
        mantissa, exponent = (f"{mask}{_SUFFIXES[self._lane]}" for mask in self.hexadecimal)
        return mantissa, exponent

    @property
    def hexadecimal(self) -> tuple[str, ...]:
        """The masks as hexadecimal numbers, in C++ and Python alike."""
        return tuple(f"0x{mask:0{2 * self._lane}X}" for mask in self.masks or ())

    @property
    def unsigned(self) -> str:
        """NumPy type of the bits of one number."""
        return f"uint{8 * self._lane}"

    @property
    def bits(self) -> str:
        """C++ type of the bits of one number."""
        return _UNSIGNED[self._lane]

    @property
    def _lane(self) -> int:
        return dtype_of(self.base).bytes

    @property
    def truth(self) -> bool:
        """Whether its contents must be 0 or 1."""
        return self.buffer.dtype == "bool"


@dataclass(frozen=True)
class HostScalar:
    """A scalar as a host program sees it."""

    scalar: Scalar

    @property
    def host(self) -> str:
        """Name of its variable in the program."""
        return f"scalar_{self.scalar.name}"

    @property
    def type(self) -> str:
        """CUDA type."""
        return dtype_of(self.scalar.dtype).cuda

    @property
    def floating(self) -> bool:
        """Whether it is a floating-point number."""
        return self.scalar.dtype.startswith("float")

    @property
    def value(self) -> str:
        """Its value in C++.

        Example:
            >>> HostScalar(Scalar("n", "int64", -(2**63))).value
            '-9223372036854775807ll - 1'
            >>> HostScalar(Scalar("a", "float32", 0.1)).value
            'static_cast<float>(0.1)'
        """
        if self.floating:
            number = float(self.scalar.value)
            if math.isnan(number):
                return "NAN"
            text = repr(number) if math.isfinite(number) else ("-" * (number < 0)) + "INFINITY"
            return f"static_cast<{self.type}>({text})"
        value = int(self.scalar.value)
        wide = dtype_of(self.scalar.dtype).bytes == 8
        suffix = ("u" if self.scalar.dtype.startswith("u") else "") + ("ll" if wide else "")
        if value <= -(1 << (63 if wide else 31)):
            return f"{value + 1}{suffix} - 1"
        return f"{value}{suffix}"

    @property
    def python(self) -> str:
        """Its value in Python, with its type.

        Example:
            >>> HostScalar(Scalar("n", "int64", -5)).python
            'np.int64(-5)'
            >>> HostScalar(Scalar("a", "float32", float("inf"))).python
            'np.float32("inf")'
        """
        if not self.floating:
            return f"np.{self.scalar.dtype}({int(self.scalar.value)})"
        number = float(self.scalar.value)
        text = repr(number) if math.isfinite(number) else f'"{number}"'
        return f"np.{self.scalar.dtype}({text})"


@dataclass(frozen=True)
class HostParameters:
    """All parameters of a kernel.

    Attributes:
        buffers: The pointers, in order.
        scalars: The others, in order.
        every: Both, in the order of the signature.
    """

    buffers: tuple[HostBuffer, ...]
    scalars: tuple[HostScalar, ...]
    every: tuple[HostBuffer | HostScalar, ...]

    @classmethod
    def of(cls, kernel: Kernel) -> HostParameters:
        """Return the parameters of a kernel.

        Raises:
            ValueError: A buffer's element type is not of whole bytes.
        """
        seeds = {buffer.name: number for number, buffer in enumerate(kernel.buffers, start=1)}
        typed = not kernel.host_reference
        # Sums that cancel have no digits that a relative tolerance could be held against.
        exact = not kernel.tolerance and not typed
        every: list[HostBuffer | HostScalar] = []
        for parameter in kernel.parameters:
            if isinstance(parameter, Scalar):
                every.append(HostScalar(parameter))
            elif dtype_of(parameter.dtype).bytes:
                signed = exact and not parameter.positive
                every.append(HostBuffer(parameter, seeds[parameter.name], typed, signed))
            else:
                raise ValueError(f"{parameter.name} holds {parameter.dtype}, less than a byte each")
        return cls(
            tuple(found for found in every if isinstance(found, HostBuffer)),
            tuple(found for found in every if isinstance(found, HostScalar)),
            tuple(every),
        )

    @property
    def inputs(self) -> tuple[HostBuffer, ...]:
        """The buffers that are filled before a launch."""
        return tuple(buffer for buffer in self.buffers if buffer.role != "out")

    @property
    def targets(self) -> tuple[HostBuffer, ...]:
        """The buffers that are looked at after it."""
        return tuple(buffer for buffer in self.buffers if buffer.role != "in")

    @property
    def ran(self) -> str:
        """What can be said of a run without a reference in which no fault was found."""
        reference = "there is no reference to compare with"
        if not self.targets:
            return f"RAN: no fault found, no output to look at; {reference}"
        written = "every element was written and " if self._poisoned else ""
        return f"RAN: {written}two runs agree; {reference}"

    @property
    def _poisoned(self) -> bool:
        return any(buffer.role == "out" for buffer in self.buffers)
