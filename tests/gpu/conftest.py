"""What the GPU tests share. NumPy and pytest are all they need beside the package.

What is measured is printed at the end and, where ``TILEVIZ_FIGURES`` names a file, written there.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileviz.cuda.kernel import Array, Buffer, Kernel, Scalar
from tileviz.runners.gpu.client import GpuQueue
from tileviz.runners.gpu.compiling import DeviceCompiler
from tileviz.runners.gpu.device import Facts
from tileviz.runners.gpu.faults import Fault
from tileviz.runners.gpu.look import look
from tileviz.runners.gpu.runner import GpuRunner
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.gpu.transport import Answer, Program, Request

DOCUMENTS = sorted((Path(__file__).parent / "kernels").glob("*.json"))

_figures: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU and PyCUDA")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _figures:
        terminalreporter.section("measured on this GPU")
        for line in _figures:
            terminalreporter.write_line(line)
        if "TILEVIZ_FIGURES" in os.environ:
            text = "\n".join(_figures) + "\n"
            Path(os.environ["TILEVIZ_FIGURES"]).write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def facts() -> Facts:
    """The device; where there is none, the test is skipped and says why."""
    found = look()
    if isinstance(found, Fault):
        pytest.skip(found.line)
    return found


@pytest.fixture(scope="session")
def measured() -> Callable[[str], None]:
    """Note one line of figures."""
    return _figures.append


@pytest.fixture(scope="session")
def queue(facts: Facts) -> Any:
    made = GpuQueue()
    yield made
    made.pool.close()


@pytest.fixture(scope="session")
def gpu(queue: GpuQueue) -> GpuRunner:
    return GpuRunner(queue=queue)


@pytest.fixture(scope="session")
def compiler() -> DeviceCompiler:
    return DeviceCompiler()


def read_document(document: dict[str, Any]) -> tuple[Kernel, int]:
    """Return a kernel that ``export_kernels`` wrote, and the seed of its inputs."""
    parameters = tuple(
        Scalar(**item["scalar"])
        if "scalar" in item
        else Buffer(**{**item["buffer"], "shape": tuple(item["buffer"]["shape"])})
        for item in document["parameters"]
    )
    expected = {
        name: np.frombuffer(zlib.decompress(base64.b64decode(text)), carrier)
        for name, (carrier, text) in document["expected"].items()
    }
    kernel = Kernel(
        document["source"],
        document["entry"],
        tuple(document["grid"]),
        tuple(document["block"]),
        parameters,
        document["shared_bytes"],
        reference=lambda arrays: expected,
        tolerance=document["tolerance"],
    )
    return kernel, document["seed"]


@pytest.fixture(params=DOCUMENTS, ids=lambda path: path.stem)
def generated(request: pytest.FixtureRequest) -> tuple[Kernel, int]:
    """A kernel that a study generated, and the seed for which its outputs are known."""
    return read_document(json.loads(request.param.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def launch(queue: GpuQueue, compiler: DeviceCompiler, facts: Facts) -> Callable[..., Answer]:
    """Launch a text that nothing has looked at before: for kernels with planted faults."""

    def run(
        source: str,
        *,
        entry: str = "k",
        grid: int = 1,
        block: int = 32,
        shared_bytes: int = 0,
        settings: Settings | None = None,
        **arguments: Any,
    ) -> Answer:
        """Arrays are ``inout``, read-only ones ``in``; ``(dtype, count)`` is an output."""
        parameters: list[Buffer | Scalar] = []
        inputs: dict[str, Array] = {}
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                role = "inout" if value.flags.writeable else "in"
                parameters.append(Buffer(name, str(value.dtype), (value.size,), role))
                inputs[name] = value
            elif isinstance(value, tuple):
                parameters.append(Buffer(name, value[0], (value[1],), "out"))
            else:
                parameters.append(Scalar(name, str(value.dtype), value.item()))
        compiled = compiler.compile(source, entry, facts)
        assert compiled.problems == ()
        program = Program(
            entry,
            (grid, 1, 1),
            (block, 1, 1),
            tuple(parameters),
            shared_bytes,
            compiled.images,
            inputs,
        )
        chosen = settings or Settings(timing=False, limit_seconds=5.0)
        probes = compiler.probes(facts) if chosen.timing else Request(()).probes
        return queue.run(Request((program,), chosen, probes))

    return run
