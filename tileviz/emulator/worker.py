"""The child that compiles and emulates: ``python -m tileviz.emulator.worker``.

Compiler and emulator are loaded and warmed first; then the process gives up files, processes,
privileges and most of its memory, and only then sees a text from outside.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np
import numpy.ma  # np.unique imports it when first called, which is too late here

import tileviz.emulator.transport as transport
from tileviz.cuda import nvrtc, prelude
from tileviz.cuda.kernel import Buffer
from tileviz.emulator import emulate
from tileviz.emulator.errors import EmulatorError, LaunchError
from tileviz.emulator.problems import Problem
from tileviz.workers import process
from tileviz.workers.wire import Array, Header

LIMITS = process.Limits(memory_bytes=4 << 30, cpu_seconds=180)
_CACHED = 16
_RESOURCE_SECONDS = 10.0  # a result does not wait longer for its register count
_SHOWN_ERRORS = 5
# Touches what the compiler and the emulator load lazily: no file can be opened later.
_EXAMPLE = """\
extern "C" __global__ void warm(float* a) {
  __shared__ float s[32];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[31 - threadIdx.x] * 2.0f;
}
"""


class Compiler:
    """Compiles to PTX here and to a cubin on a thread of its own, and keeps recent PTX."""

    def __init__(self) -> None:
        self._ptx: OrderedDict[tuple[str, str], nvrtc.Compiled] = OrderedDict()
        self._wanted: queue.Queue[tuple[str, str | None, str]] = queue.Queue()
        self._done: queue.Queue[nvrtc.Cubin | str] = queue.Queue()
        # Started before the limits forbid new threads.
        threading.Thread(target=self._serve_cubins, daemon=True).start()

    def ptx(self, source: str, arch: str, seconds: float) -> nvrtc.Compiled:
        """Return the PTX; past ``seconds`` the process dies of SIGALRM."""
        key = (source, arch)
        if key not in self._ptx:
            with _alarm(seconds):
                self._ptx[key] = nvrtc.compile_ptx(source, arch=arch)
        self._ptx.move_to_end(key)
        if len(self._ptx) > _CACHED:
            self._ptx.popitem(last=False)
        return self._ptx[key]

    def start_cubin(self, source: str, entry: str | None, arch: str) -> None:
        """Begin a compile to machine code beside other work."""
        self._wanted.put((source, entry, arch))

    def finish_cubin(self, seconds: float) -> nvrtc.Cubin | str | None:
        """Return what `start_cubin` began, why it failed, or None when it takes too long."""
        with contextlib.suppress(queue.Empty):
            return self._done.get(timeout=seconds)
        return None

    def _serve_cubins(self) -> None:
        while True:
            source, entry, arch = self._wanted.get()
            try:
                self._done.put(nvrtc.compile_cubin(source, entry=entry, arch=arch))
            except Exception as error:  # whatever it was, the main thread waits for an answer
                self._done.put(str(error) or type(error).__name__)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """End the process by SIGALRM when the block takes longer: a compile cannot be interrupted.

    Windows has no such timer; the parent's own time-out holds there.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Service:
    """Answers the requests of `tileviz.emulator.client`."""

    def __init__(self) -> None:
        self.compiler = Compiler()
        self.version = ""

    def prepare(self) -> Header:
        """Load and warm everything; the hello says what there is."""
        self.version = "NVRTC {}.{}".format(*nvrtc.version())
        prelude.half_headers()
        warming = transport.Request(
            _EXAMPLE, "warm", (1, 1, 1), (32, 1, 1), (Buffer("a", "float32", (32,), "inout"),)
        )
        transport.pack_answer(self.answer(warming, {"a": np.zeros(32, np.float32)})[0])
        return {"compiler": self.version, "architectures": list(nvrtc.architectures())}

    def handle(self, header: Header, arrays: list[Array]) -> process.Answer:
        """Answer one request: ``run``, or ``compile`` for the compiler's texts alone."""
        if header["op"] == "compile":
            return self.compile(header)
        if header["op"] != "run":
            raise ValueError("unknown operation")
        request, contents = transport.unpack_request(header, arrays)
        answer, retire = self.answer(request, contents)
        packed, sent = transport.pack_answer(answer)
        return {**packed, "retire": retire}, sent

    def answer(
        self, request: transport.Request, contents: dict[str, Array]
    ) -> tuple[transport.Answer, bool]:
        """Compile and emulate; also tell whether this process is still compiling."""
        try:
            compiled = self.compiler.ptx(
                request.source, transport.EMULATED_ARCH, request.compile_seconds
            )
        except nvrtc.CompileError as error:
            return transport.Answer(problems=_compile_problems(error), compiler=self.version), False
        if request.resource_arch is not None:
            self.compiler.start_cubin(request.source, request.entry, request.resource_arch)
        try:
            found = self.emulate(compiled.ptx, request, contents)
        finally:
            cubin = None
            if request.resource_arch is not None:
                cubin = self.compiler.finish_cubin(_RESOURCE_SECONDS)
        if isinstance(cubin, nvrtc.Cubin):
            found = replace(found, resources=cubin.resources)
        return found, request.resource_arch is not None and cubin is None

    def emulate(
        self, ptx: str, request: transport.Request, contents: dict[str, Array]
    ) -> transport.Answer:
        """Run the PTX; what the emulator cannot do is a problem too."""
        try:
            done = emulate(
                ptx,
                source=request.source,
                entry=request.entry,
                grid=request.grid,
                block=request.block,
                shared_bytes=request.shared_bytes,
                parameters=request.parameters,
                arrays=contents,
                limits=request.limits,
                trace=request.trace,
                races=request.races,
                blocks=request.blocks,
            )
        except LaunchError as error:
            problem = Problem("limit", error.message, error.line)
        except EmulatorError as error:
            problem = Problem("unsupported", str(error), error.line)
        except MemoryError:
            problem = Problem("limit", "the run needs more memory than a worker may use")
        else:
            return transport.Answer(
                outputs=done.outputs,
                accesses=done.accesses,
                problems=done.problems,
                traced_blocks=None if done.traced_blocks == "all" else done.traced_blocks,
                static=done.static,
                statistics=done.statistics,
                compiler=self.version,
            )
        return transport.Answer(problems=(problem,), compiler=self.version)

    def compile(self, header: Header) -> process.Answer:
        """Return PTX and log, and with ``cubin_arch`` also machine code and resources."""
        source, seconds = header["source"], header["compile_seconds"]
        try:
            compiled = self.compiler.ptx(source, header["arch"], seconds)
        except nvrtc.CompileError as error:
            problems = [asdict(problem) for problem in _compile_problems(error)]
            return {"problems": problems, "compiler": self.version}, ()
        answer: Header = {"problems": [], "log": compiled.log, "compiler": self.version}
        texts = [np.frombuffer(compiled.ptx.encode(), np.uint8)]
        if header["cubin_arch"] is not None:
            self.compiler.start_cubin(source, header["entry"], header["cubin_arch"])
            cubin = self.compiler.finish_cubin(seconds)
            if isinstance(cubin, nvrtc.Cubin):
                texts.append(np.frombuffer(cubin.image, np.uint8))
                answer |= {"resources": asdict(cubin.resources), "cubin_log": cubin.log}
            else:
                reason = cubin or f"compiling takes more than {seconds:g} s"
                problem = Problem("compile", reason)
                answer |= {"problems": [asdict(problem)], "retire": cubin is None}
        return answer, texts


def _compile_problems(error: nvrtc.CompileError) -> tuple[Problem, ...]:
    """Return the first errors of a compile, each with its source line."""
    errors = [item for item in error.diagnostics if item.kind == "error"][:_SHOWN_ERRORS]
    if not errors:
        return (Problem("compile", error.message, error.line),)
    return tuple(Problem("compile", item.message, item.line) for item in errors)


if __name__ == "__main__":
    service = Service()
    process.serve(service.handle, prepare=service.prepare, limits=LIMITS)
