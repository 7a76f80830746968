"""Texts compiled for a device, in a worker that has no device: machine code, and PTX beside it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from tileviz.cuda import nvrtc
from tileviz.cuda.diagnostics import NvrtcNotFound, Resources
from tileviz.emulator import client
from tileviz.emulator.problems import Problem
from tileviz.runners.gpu.device import Facts
from tileviz.runners.gpu.faults import OLDER_NVRTC
from tileviz.runners.gpu.target import Target, choose
from tileviz.runners.gpu.transport import Images
from tileviz.runners.protocol import RunnerUnavailable
from tileviz.workers import WorkerPool

PROBES = Path(__file__).with_name("probes.cu")
_CACHED = 4


@dataclass(frozen=True)
class CompiledText:
    """What the compiler made of a text.

    Attributes:
        images: Machine code and PTX; both empty where it does not compile.
        target: What it was compiled for.
        compiler: The compiler and its version.
        resources: As ptxas reports, or None.
        log: The compiler's log, warnings and all.
        problems: Why it does not compile.
    """

    images: Images
    target: Target
    compiler: str
    resources: Resources | None = None
    log: str = ""
    problems: tuple[Problem, ...] = field(default=())


class DeviceCompiler:
    """Compiles for one kind of device at a time. Thread-safe.

    Args:
        pool: Workers that compile; this process's own by default.
    """

    def __init__(self, pool: WorkerPool | None = None) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._probes: OrderedDict[Target, Images] = OrderedDict()

    def compile(self, source: str, entry: str | None, facts: Facts) -> CompiledText:
        """Compile a text for a device.

        Raises:
            RunnerUnavailable: The compiler does not suit device or driver.
        """
        target = target_for(facts, source)
        texts = client.compile_source(
            source,
            entry=entry,
            arch=target.virtual,
            image_arch=target.real,
            pool=self._pool,
        )
        images = Images(texts.image, texts.ptx.encode())
        log = "\n".join(part for part in (texts.log, texts.image_log) if part)
        return CompiledText(images, target, texts.compiler, texts.resources, log, texts.problems)

    def probes(self, facts: Facts) -> Images:
        """Return the measuring kernels, compiled for a device; compiled once.

        Raises:
            RunnerUnavailable: They do not compile here.
        """
        target = target_for(facts)
        with self._lock:
            if target not in self._probes:
                made = self.compile(PROBES.read_text(encoding="utf-8"), "probe_empty", facts)
                if made.problems:
                    raise RunnerUnavailable(
                        f"the measuring kernels do not compile: {made.problems[0].message}"
                    )
                self._probes[target] = made.images
                if len(self._probes) > _CACHED:
                    self._probes.popitem(last=False)
            return self._probes[target]


def target_for(facts: Facts, source: str = "") -> Target:
    """Return what to compile for on a device.

    Raises:
        RunnerUnavailable: No compiler, or one that is too new for driver or device.
    """
    try:
        version, known = nvrtc.version(), nvrtc.architectures()
    except NvrtcNotFound as error:
        raise RunnerUnavailable(str(error)) from error
    spoken = f"NVRTC {version[0]}.{version[1]}"
    if version[0] > facts.driver // 1000:
        raise RunnerUnavailable(
            f"{spoken} is newer than the driver, which knows CUDA {facts.driver_text}; "
            f"update the driver, or: {OLDER_NVRTC}"
        )
    target = choose(facts.capability, known, source)
    if target is None:
        raise RunnerUnavailable(
            f"{spoken} no longer compiles for {facts.arch} ({facts.name}); {OLDER_NVRTC}"
        )
    return target
