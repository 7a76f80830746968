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
from dataclasses import replace

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


CubinKey = tuple[str, str | None, str]


class Compiler:
    """Compiles to PTX here and to a cubin on a thread of its own, and keeps recent results."""

    def __init__(self) -> None:
        self._ptx: OrderedDict[tuple[str, str], nvrtc.Compiled] = OrderedDict()
        self._cubins: OrderedDict[CubinKey, nvrtc.Cubin | str] = OrderedDict()
        self._wanted: queue.Queue[CubinKey] = queue.Queue()
        self._done: queue.Queue[nvrtc.Cubin | str] = queue.Queue()
        # Started before the limits forbid new threads.
        threading.Thread(target=self._serve_cubins, daemon=True).start()

    def ptx(self, source: str, arch: str, seconds: float) -> nvrtc.Compiled:
        """Return the PTX; past ``seconds`` the process dies of SIGALRM."""
        key = (source, arch)
        if key not in self._ptx:
            with _alarm(seconds):
                self._ptx[key] = nvrtc.compile_ptx(source, arch=arch)
            if len(self._ptx) > _CACHED:
                self._ptx.popitem(last=False)
        self._ptx.move_to_end(key)
        return self._ptx[key]

    def start_cubin(self, key: CubinKey) -> None:
        """Begin to compile (source, entry, architecture) to machine code, beside other work."""
        if key not in self._cubins:
            self._wanted.put(key)

    def finish_cubin(self, key: CubinKey, seconds: float) -> nvrtc.Cubin | str | None:
        """Return what `start_cubin` began, why it failed, or None when it takes too long."""
        if key not in self._cubins:
            try:
                self._cubins[key] = self._done.get(timeout=seconds)
            except queue.Empty:
                return None
            if len(self._cubins) > _CACHED:
                self._cubins.popitem(last=False)
        self._cubins.move_to_end(key)
        return self._cubins[key]

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
            texts, retire = self.compile(header)
            packed, sent = transport.pack_texts(texts)
            return {**packed, "retire": retire}, sent
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
        if request.resource_arch is None:
            return self.emulate(compiled.ptx, request, contents), False
        key = (request.source, request.entry, request.resource_arch)
        self.compiler.start_cubin(key)
        try:
            found = self.emulate(compiled.ptx, request, contents)
        finally:
            cubin = self.compiler.finish_cubin(key, _RESOURCE_SECONDS)
        if isinstance(cubin, nvrtc.Cubin):
            found = replace(found, resources=cubin.resources)
        elif cubin is not None and not found.problems:
            # PTX that runs here, but no GPU would take: too much shared memory, say.
            found = replace(found, problems=(Problem("compile", f"no machine code: {cubin}"),))
        return found, cubin is None

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
                trace_full=done.trace_full,
            )
        return transport.Answer(problems=(problem,), compiler=self.version)

    def compile(self, header: Header) -> tuple[transport.Texts, bool]:
        """Return PTX, and with ``image_arch`` also machine code; and as `answer` does."""
        source, seconds = header["source"], header["compile_seconds"]
        try:
            compiled = self.compiler.ptx(source, header["arch"], seconds)
        except nvrtc.CompileError as error:
            return transport.Texts(problems=_compile_problems(error), compiler=self.version), False
        texts = transport.Texts(compiled.ptx, compiled.log, compiler=self.version)
        if header["image_arch"] is None:
            return texts, False
        key = (source, header["entry"], header["image_arch"])
        self.compiler.start_cubin(key)
        cubin = self.compiler.finish_cubin(key, seconds)
        if isinstance(cubin, nvrtc.Cubin):
            image = replace(texts, image=cubin.image, image_log=cubin.log)
            return replace(image, resources=cubin.resources), False
        reason = cubin or f"compiling takes more than {seconds:g} s"
        return replace(texts, problems=(Problem("compile", reason),)), cubin is None


def _compile_problems(error: nvrtc.CompileError) -> tuple[Problem, ...]:
    """Return the first errors of a compile, each with its source line."""
    errors = [item for item in error.diagnostics if item.kind == "error"][:_SHOWN_ERRORS]
    if not errors:
        return (Problem("compile", error.message, error.line),)
    return tuple(Problem("compile", item.message, item.line) for item in errors)


if __name__ == "__main__":
    service = Service()
    process.serve(service.handle, prepare=service.prepare, limits=LIMITS)
