"""A GPU worker without a GPU: memory is NumPy's, PTX runs in the emulator, entries misbehave."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from pathlib import Path

import numpy as np

from tileviz.cuda.kernel import Buffer, Scalar
from tileviz.emulator import emulate
from tileviz.runners.gpu.device import DeviceError, Facts, Pointer, Usage
from tileviz.runners.gpu.service import Service
from tileviz.workers import process

FACTS = Facts("Stand-in GPU", (9, 0), 13000, 1 << 32, 4, 1 << 20, 227 << 10, 1000.0, False, "None")
SCRATCH = 32 << 20  # allocations beyond this are only overwritten and copied: not worth the time
EMPTY_US, KERNEL_US, COPY_BYTES_PER_US = 2.0, 40.0, 1e6
EXECUTED = 2  # launches that compute; those after it are only timed

ILLEGAL = "cuEventQuery failed: an illegal memory access was encountered"


class StandInEvent:
    def __init__(self, device):
        self.device, self.time = device, 0.0

    def record(self):
        self.time = self.device.now

    def ready(self):
        self.device.check()
        return not self.device.hung

    def since(self, earlier):
        return self.time - earlier.time


class StandInDevice:
    """Also used inside the test process, where nothing may misbehave that ends it."""

    def __init__(self, facts=FACTS, free=1 << 32):
        self.facts, self.free = facts, free
        self.memory = {}
        self.next = 1 << 20
        self.now = 0.0
        self.lost = ""
        self.hung = False
        self.log = []

    def check(self):
        if self.lost:
            raise DeviceError(self.lost, fatal=True)

    def free_bytes(self):
        self.check()
        return self.free - sum(len(data) for data in self.memory.values())

    def allocate(self, size):
        self.check()
        if size > self.free_bytes():
            raise DeviceError("cuMemAlloc failed: out of memory")
        address = self.next
        self.next += -(-size // 512) * 512 + 4096
        self.memory[address] = np.empty(size, np.uint8)
        return address

    def release(self, address):
        self.memory.pop(address)

    def at(self, address, size):
        for base, data in self.memory.items():
            if base <= address and address + size <= base + len(data):
                return data[address - base : address - base + size]
        self.lost = ILLEGAL
        raise DeviceError(ILLEGAL, fatal=True)

    def write(self, address, data):
        self.check()
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self.at(address, len(raw))[:] = raw

    def read(self, address, size):
        self.check()
        return self.at(address, size).copy()

    def fill(self, address, value, size):
        self.log.append(("fill", size))
        target = self.at(address, size)
        if size < SCRATCH:
            target[:] = value

    def copy(self, target, source, size):
        self.log.append(("copy", size))
        self.now += EMPTY_US + 2 * size / COPY_BYTES_PER_US
        if size < SCRATCH:
            self.at(target, size)[:] = self.at(source, size)

    def load(self, image):
        if image.startswith(b"\x7fELF"):
            raise DeviceError("cuModuleLoadDataEx failed: no kernel image is available")
        if b"toolchain" in image:
            raise DeviceError(
                "cuModuleLoadDataEx failed: the provided PTX was compiled with an "
                "unsupported toolchain."
            )
        return image.rstrip(b"\0").decode()

    def function(self, module, entry, shared_bytes):
        return module, entry

    def usage(self, function):
        return Usage(16, 0, 0)

    def prepare(self, launch):
        module, entry = launch.function
        executed = 0

        def run():
            nonlocal executed
            self.check()
            self.log.append(("launch", entry))
            if entry.startswith("probe_"):
                self.probe(entry, launch)
                return
            self.now += KERNEL_US
            executed += 1
            if executed <= EXECUTED:
                action = getattr(self, f"run_{entry}", None)
                if action is not None:
                    action(*launch.arguments)
                else:
                    self.emulate(module, entry, launch)

        return run

    def event(self):
        return StandInEvent(self)

    def close(self):
        pass

    def probe(self, entry, launch):
        self.now += EMPTY_US
        if entry == "probe_clock":
            where, nanoseconds = launch.arguments
            self.now += nanoseconds.value / 1e3
            self.write(where.address, np.array([1_000_000, 1_000_000], np.uint64))
        elif entry not in ("probe_empty", "probe_spin"):
            cycles, _, where = launch.arguments
            words = self.read(where.address, 128).view(np.uint32)
            words = words[words != 0xFFFFFFFF] // 4
            ways = max(np.unique(np.unique(words) % 32, return_counts=True)[1], default=1)
            self.write(cycles.address, np.full(cycles.bytes // 8, 1024 * ways, np.uint64))

    def emulate(self, ptx, entry, launch):
        parameters, arrays = [], {}
        for number, argument in enumerate(launch.arguments):
            if isinstance(argument, Pointer):
                name = f"p{number}"
                parameters.append(Buffer(name, "uint8", (argument.bytes,), "inout"))
                arrays[name] = self.read(argument.address, argument.bytes)
            else:
                parameters.append(Scalar(f"s{number}", argument.dtype, argument.value))
        done = emulate(
            ptx,
            source="",
            entry=entry,
            grid=launch.grid,
            block=launch.block,
            shared_bytes=launch.shared_bytes,
            parameters=parameters,
            arrays=arrays,
            trace=False,
            races=False,
        )
        if done.problems:
            self.lost = ILLEGAL
            return
        for number, argument in enumerate(launch.arguments):
            if isinstance(argument, Pointer):
                self.write(argument.address, done.outputs[f"p{number}"])

    # -- entries that need no compiler ------------------------------------------------------------

    def values(self, pointer, kind=np.float32):
        return self.at(pointer.address, pointer.bytes).view(kind)

    def run_double(self, source, target):
        self.values(target)[:] = 2 * self.values(source)

    def run_half(self, source, target):
        count = len(self.values(source)) // 2
        self.values(target)[:count] = self.values(source)[:count]

    def run_copy_int(self, source, target):
        self.values(target, np.int32)[:] = self.values(source, np.int32)

    def run_half_int(self, source, target):
        count = len(self.values(source, np.int32)) // 2
        self.values(target, np.int32)[:count] = self.values(source, np.int32)[:count]

    def run_twice(self, both):
        self.values(both)[:] *= 2

    def run_after(self, source, target):
        self.at(target.address + target.bytes + 8, 4)[:] ^= 0xFF

    def run_before(self, source, target):
        self.at(target.address - 4, 4)[:] ^= 0xFF

    def run_writes_input(self, source, target):
        self.at(source.address, 1)[:] ^= 0xFF

    def run_illegal(self, *arguments):
        self.lost = ILLEGAL

    def run_failure(self, *arguments):
        self.lost = "cuEventQuery failed: unspecified launch failure"

    def run_resources(self, *arguments):
        raise DeviceError("cuLaunchKernel failed: too many resources requested for launch")

    def run_hang(self, *arguments):
        self.hung = True

    def run_spin(self, *arguments):
        while True:
            pass

    def run_slow(self, *arguments):
        time.sleep(0.05)

    def run_segfault(self, *arguments):
        os.kill(os.getpid(), signal.SIGSEGV)

    def run_exit(self, *arguments):
        os.write(2, b"last words\n")
        os._exit(7)

    def run_print(self, source, target):
        os.write(1, b"device printf\n")
        self.run_double(source, target)

    def run_garbage(self, *arguments):
        os.write(max(_answer_pipes()), b"\xff" * 64)
        time.sleep(3600)


def _answer_pipes():
    """Descriptors of pipes that can be written, above the standard three."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        descriptor = int(entry.name)
        if descriptor > 2:
            try:
                if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                    os.write(descriptor, b"")
                    yield descriptor
            except OSError:  # closed meanwhile, or the reading end
                continue


def _make():
    fault = os.environ.get("STANDIN_FAULT")
    if fault:
        raise DeviceError(fault)
    return StandInDevice(free=int(os.environ.get("STANDIN_FREE", 1 << 32)))


if __name__ == "__main__":
    if "STANDIN_BROKEN" in os.environ:
        sys.exit("cannot load the library")
    service = Service(_make)
    process.serve(service.handle, prepare=service.prepare)
