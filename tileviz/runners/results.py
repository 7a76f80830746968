"""The result of a run, judged: what every page, file and command shows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from tileviz.cuda.diagnostics import Resources
from tileviz.cuda.kernel import Array, Kernel
from tileviz.dtypes import dtype
from tileviz.emulator.emulation import StaticAccess
from tileviz.emulator.problems import Coordinates, Problem
from tileviz.memory import Accesses
from tileviz.runners.compare import AccessRow, compare
from tileviz.runners.gpu.report import GpuReport
from tileviz.runners.protocol import Execution, RunnerInfo, Timing
from tileviz.runners.verify import Mismatch, compare_outputs, expected_outputs


@dataclass(frozen=True)
class OutputSummary:
    """One output buffer: its element type, number of elements, and a hash of its bytes."""

    dtype: str
    count: int
    sha256: str


@dataclass(frozen=True, eq=False)
class Run:
    """A kernel's run, verified and compared.

    Attributes:
        runner: Where it ran.
        verified: True when every element of every output agrees with the reference and there was
            no problem; None where there is no reference and no problem.
        mismatch: The first element that differs, or None.
        accesses: Prediction beside measurement, a row per line and kind.
        problems: What went wrong.
        traced_blocks: Blocks whose accesses were recorded; None for all.
        outputs: Summaries by name.
        resources: Registers, shared memory and spills, or None.
        timing: Time on a GPU, or None.
        study: The study the kernel belongs to.
        arrays: Content of the outputs after the run, by name.
        measured: The measured accesses themselves, for figures.
        static: Memory instructions in the compiled text, however often they ran.
        gpu: What else a GPU told, or None.
        part: What part of the design was run, "" for all of it.
        blocks: Blocks of the launch, None where unknown.
        caution: What a correct result does not tell, as a sentence; "" for nothing.
        note: What was done otherwise than asked, and why; "" for nothing.
    """

    runner: RunnerInfo
    verified: bool | None
    mismatch: Mismatch | None
    accesses: tuple[AccessRow, ...]
    problems: tuple[Problem, ...]
    traced_blocks: tuple[Coordinates, ...] | None
    outputs: Mapping[str, OutputSummary]
    resources: Resources | None = None
    timing: Timing | None = None
    study: str = "kernel"
    arrays: Mapping[str, Array] = field(default_factory=dict)
    measured: tuple[Accesses, ...] = ()
    static: tuple[StaticAccess, ...] = ()
    gpu: GpuReport | None = None
    part: str = ""
    blocks: int | None = None
    note: str = ""
    caution: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the ``run`` object of the interface."""
        timing, resources = self.timing, self.resources
        return {
            "study": self.study,
            "runner": {
                "name": self.runner.name,
                "device": self.runner.device,
                "arch": self.runner.arch,
                "compiler": self.runner.compiler,
            },
            "verified": self.verified,
            "mismatch": None if self.mismatch is None else self.mismatch.to_json(),
            "accesses": [row.to_json() for row in self.accesses],
            "resources": None
            if resources is None
            else {
                "registers": resources.registers,
                "shared_bytes": resources.shared_bytes,
                "spill_bytes": resources.spill_bytes,
            },
            "timing": None if timing is None else dict(vars(timing)),
            "gpu": None if self.gpu is None else self.gpu.to_json(),
            "note": self.note,
            "caution": self.caution,
            "part": self.part,
            "blocks": self.blocks,
            "blocks_traced": self.blocks if self.traced_blocks is None else len(self.traced_blocks),
            "traced_blocks": "all"
            if self.traced_blocks is None
            else [list(block) for block in self.traced_blocks],
            "outputs": {name: dict(vars(output)) for name, output in self.outputs.items()},
            "problems": [
                {
                    "kind": problem.kind,
                    "message": problem.message,
                    "line": problem.line,
                    "block": None if problem.block is None else list(problem.block),
                    "thread": None if problem.thread is None else list(problem.thread),
                    "buffer": problem.buffer,
                }
                for problem in self.problems
            ],
        }


def judge_execution(
    kernel: Kernel,
    inputs: Mapping[str, Array],
    execution: Execution,
    *,
    study: str = "kernel",
    expected: Callable[[], Mapping[str, Array] | None] | None = None,
) -> Run:
    """Verify the outputs of an execution and compare its accesses with the prediction.

    Args:
        kernel: What ran.
        inputs: Flat contents before the run.
        execution: What the runner handed back.
        study: The study the kernel belongs to.
        expected: Gives what the reference makes of the inputs, where that is computed elsewhere.
    """
    verified: bool | None = False
    mismatch = None
    with ThreadPoolExecutor(1) as beside:
        summaries = beside.submit(_summaries, kernel, execution.outputs)
        if all(b.name in execution.outputs for b in kernel.buffers if b.role != "in"):
            wanted = expected() if expected is not None else expected_outputs(kernel, inputs)
            checked = compare_outputs(kernel, wanted, execution.outputs)
            verified, mismatch = checked.verified, checked.mismatch
    if execution.problems:
        verified = False
    executed = bool(execution.accesses)
    return Run(
        runner=execution.runner,
        verified=verified,
        mismatch=mismatch,
        accesses=compare(
            _prediction(kernel, execution) if executed else (),
            execution.accesses,
            execution.static,
            text=kernel.line,
        ),
        problems=execution.problems,
        traced_blocks=execution.traced_blocks,
        outputs=summaries.result(),
        resources=execution.resources,
        static=execution.static,
        timing=execution.timing,
        study=study,
        arrays=execution.outputs,
        measured=execution.accesses,
        gpu=execution.gpu,
        note=execution.note,
        part=kernel.part,
        caution=kernel.caution,
        blocks=math.prod(kernel.grid),
    )


def _summaries(kernel: Kernel, outputs: Mapping[str, Array]) -> dict[str, OutputSummary]:
    found = {}
    for buffer in kernel.buffers:
        if buffer.name in outputs:
            flat = outputs[buffer.name]
            digest = hashlib.sha256(np.ascontiguousarray(flat).data).hexdigest()
            kind = dtype(buffer.dtype)
            found[buffer.name] = OutputSummary(kind.name, buffer.count, digest)
    return found


def _prediction(kernel: Kernel, execution: Execution) -> tuple[Accesses, ...]:
    """Return the prediction, of the traced blocks alone where the kernel can tell."""
    every = execution.traced_blocks is None
    if kernel.predict is None or (every and kernel.predicted_whole):
        return kernel.predicted
    columns, rows, planes = kernel.grid
    if every:
        linear = np.arange(columns * rows * planes, dtype=np.int64)
    else:
        x, y, z = np.array(execution.traced_blocks, dtype=np.int64).T
        linear = x + columns * (y + rows * z)
    return kernel.predict(linear) or kernel.predicted
