"""Programs on the device: their modules, their memory, and what launches them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tileviz.cuda.kernel import Scalar
from tileviz.runners.gpu.arena import Arena
from tileviz.runners.gpu.arguments import value_of
from tileviz.runners.gpu.device import Argument, Device, DeviceError, Launch
from tileviz.runners.gpu.transport import Images, Program

_CACHED = 32


class Modules:
    """Loaded modules by their content; the driver keeps what it compiled."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._modules: OrderedDict[bytes, Any] = OrderedDict()

    def get(self, images: Images) -> Any:
        """Return the module of a compiled text: its machine code, else its PTX.

        Raises:
            DeviceError: The driver takes neither.
        """
        key = hashlib.sha256(images.code + b"\0" + images.ptx).digest()
        if key not in self._modules:
            self._modules[key] = self._load(images)
            if len(self._modules) > _CACHED:
                self._modules.popitem(last=False)
        self._modules.move_to_end(key)
        return self._modules[key]

    def _load(self, images: Images) -> Any:
        if not images.code:
            return self._device.load(images.ptx + b"\0")
        try:
            return self._device.load(images.code)
        except DeviceError as error:
            if error.fatal or "no kernel image" not in error.message:
                raise
            return self._device.load(images.ptx + b"\0")


class Loaded:
    """A program on the device.

    Args:
        device: Where.
        modules: Those loaded so far.
        program: What to load.
        before: Programs loaded before it: one with the same inputs and outputs shares its memory.

    Raises:
        DeviceError: The text does not load, or there is too little memory.
    """

    def __init__(
        self,
        device: Device,
        modules: Modules,
        program: Program,
        before: Sequence[Loaded] = (),
    ) -> None:
        self.program = program
        function = device.function(modules.get(program.images), program.entry, program.shared_bytes)
        self.usage = device.usage(function)
        shared = next((o.arena for o in before if _alike(o.program, program)), None)
        self.arena: Arena = shared or Arena(device, program.buffers, dict(program.inputs))
        try:
            pointers = self.arena.pointers()
            arguments: tuple[Argument, ...] = tuple(
                value_of(item) if isinstance(item, Scalar) else pointers[item.name]
                for item in program.parameters
            )
            self.launch = device.prepare(
                Launch(function, program.grid, program.block, program.shared_bytes, arguments)
            )
        except BaseException:
            if shared is None:
                self.arena.release()
            raise

    @property
    def moved_bytes(self) -> int:
        """Fewest bytes it can move: every input once, every output once."""
        return sum(
            slot.bytes * (2 if slot.buffer.role == "inout" else 1) for slot in self.arena.slots
        )


def arenas(loaded: Sequence[Loaded]) -> list[Arena]:
    """Return the memory of some programs, each piece once."""
    return list({id(item.arena): item.arena for item in loaded}.values())


def sharing(programs: Sequence[Program]) -> list[Program]:
    """Return the programs that need memory of their own."""
    found: list[Program] = []
    for program in programs:
        if not any(_alike(other, program) for other in found):
            found.append(program)
    return found


def _alike(one: Program, other: Program) -> bool:
    """Whether two programs read the same arrays, change none of them, and write as much."""
    return (
        one.buffers == other.buffers
        and all(buffer.role != "inout" for buffer in one.buffers)
        and all(array is other.inputs[name] for name, array in one.inputs.items())
    )
