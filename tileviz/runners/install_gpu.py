"""Build and install PyCUDA, no CUDA toolkit needed: ``python -m tileviz.runners.install_gpu``.

PyCUDA has no wheels. Its build needs a C++ compiler, the Python headers, two CUDA headers and a
``libcuda.so`` to link against; the headers come from wheels, and the library is a stub made here
from the names in them. Neither ``nvcc`` nor a driver takes part. Standard library only.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PYCUDA = "pycuda==2026.1"
# Modules built with the headers of CUDA 12.9 load under drivers from 525 on; those built with the
# headers of 13 import names that only drivers from 580 on have.
HEADERS = ("nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-profiler-api-cu12==12.9.79")
DRIVER_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

_SECONDS = 1800
_NAME = re.compile(r"\bcu[A-Z]\w*")
_COMMAND = "python -m tileviz.runners.install_gpu"
# cuRAND would need its headers and library, and nothing here uses it.
_SETTING = "--config-settings=--global-option=--conf:CUDA_ENABLE_CURAND=False"
_CHECK = (
    "import pycuda, pycuda.driver as d; d.init(); "
    "print('PyCUDA', pycuda.VERSION_TEXT, 'finds', d.Device(0).name())"
)


class InstallError(RuntimeError):
    """PyCUDA cannot be built or installed here; one line that says why and what to do."""


@dataclass(frozen=True)
class Tools:
    """What takes part in the build.

    Attributes:
        python: The interpreter PyCUDA is built for.
        compiler: The C compiler that makes the stub.
        quiet: Whether to print nothing but faults.
    """

    python: str
    compiler: str
    quiet: bool = False

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            print(f"tileviz: {line}", flush=True)

    def run(
        self, what: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> str:
        """Run a command and return what it printed.

        Raises:
            InstallError: It fails; quotes its last telling line.
        """
        try:
            done = subprocess.run(
                list(command),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                env={**os.environ, **(environment or {})},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InstallError(f"{what}: {error}") from error
        if done.returncode:
            raise InstallError(f"{what}: {telling_line(done.stderr or done.stdout)}")
        return done.stdout


def telling_line(text: str) -> str:
    """Return the line of a failed command's output that says most.

    Example:
        >>> telling_line("a.cpp:3:10: fatal error: cuda.h: No such file or directory\\nfailed\\n")
        'a.cpp:3:10: fatal error: cuda.h: No such file or directory'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for mark in ("fatal error:", "error: [Errno", "No matching distribution", "error:", "ERROR:"):
        for line in lines:
            if mark in line:
                return line[:300]
    return lines[-1][:300] if lines else "it printed nothing"


def has_driver() -> bool:
    """Return whether NVIDIA's driver library loads here; starts no context."""
    try:
        ctypes.CDLL(DRIVER_LIBRARY)
    except OSError:
        return False
    return True


def obstacles() -> list[str]:
    """Return what the build lacks here, one line each with its remedy; empty when it can start.

    Example:
        >>> all(": " in line for line in obstacles())
        True
    """
    if sys.platform != "linux":
        return [f"PyCUDA is built by this command on Linux only, not on {sys.platform}: use WSL 2"]
    found = []
    if shutil.which("g++") is None:
        found.append("no C++ compiler (g++): apt-get install g++ (Debian, Ubuntu), or gcc-c++")
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-dev"
        found.append(f"no Python headers in {include}: apt-get install {package}, or python3-devel")
    return found


def download_headers(tools: Tools, folder: Path) -> list[Path]:
    """Fetch the CUDA headers into ``folder`` and return the include folders."""
    pip = [tools.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    tools.run(
        "the CUDA headers", [*pip, "--no-deps", "--no-compile", "--target", str(folder), *HEADERS]
    )
    return [folder / "nvidia" / part / "include" for part in ("cuda_runtime", "cuda_profiler_api")]


def stub_source(headers: Sequence[str]) -> str:
    """Return C text that defines every driver function named in the headers.

    Each answers 34, ``CUDA_ERROR_STUB_LIBRARY``. The names must be there: a linker told
    ``--as-needed`` drops a library that defines nothing which is used.

    Example:
        >>> stub_source(["CUresult CUDAAPI cuInit(unsigned int Flags);"])
        'int cuInit(void) { return 34; }\\n'
    """
    names = sorted({name for text in headers for name in _NAME.findall(text)})
    return "".join(f"int {name}(void) {{ return 34; }}\n" for name in names)


def build_stub(tools: Tools, includes: Sequence[Path], folder: Path) -> Path:
    """Make a ``libcuda.so`` to link against and return the folder that holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    headers = [path for include in includes for path in include.glob("cud*.h")]
    wanted = [path for path in headers if path.name in ("cuda.h", "cudaProfiler.h")]
    if len(wanted) != 2:
        raise InstallError("the header wheels hold no cuda.h and cudaProfiler.h")
    text = stub_source([path.read_text(encoding="utf-8", errors="replace") for path in wanted])
    source, library = folder / "stub.c", folder / "libcuda.so.1"
    source.write_text(text, encoding="utf-8")
    options = ["-w", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
    tools.run("the stub library", [tools.compiler, *options, "-o", str(library), str(source)])
    (folder / "libcuda.so").unlink(missing_ok=True)
    (folder / "libcuda.so").symlink_to(library.name)
    return folder


def build_wheel(tools: Tools, folder: Path) -> Path:
    """Build PyCUDA's wheel into ``folder`` and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tileviz-pycuda-") as name:
        work = Path(name)
        tools.say("fetching the CUDA headers")
        includes = download_headers(tools, work / "headers")
        stub = build_stub(tools, includes, work / "stub")
        tools.say(f"building {PYCUDA}; this takes a minute or two")
        environment = {
            "CPATH": os.pathsep.join([*map(str, includes), *_given("CPATH")]),
            "LIBRARY_PATH": os.pathsep.join([str(stub), *_given("LIBRARY_PATH")]),
            "CFLAGS": "-g0 -O1 -w",
            "CXXFLAGS": "-g0 -O1 -w",
            "LDFLAGS": "-s",
        }
        pip = [tools.python, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps"]
        built = work / "wheel"
        command = [*pip, "--no-cache-dir", _SETTING, "-w", str(built), PYCUDA]
        tools.run("building PyCUDA", command, environment)
        wheels = list(built.glob("pycuda-*.whl"))
        if len(wheels) != 1:
            raise InstallError("building PyCUDA left no wheel")
        return Path(shutil.copy(wheels[0], folder))


def _given(variable: str) -> list[str]:
    value = os.environ.get(variable, "")
    return [value] if value else []


def install(tools: Tools) -> str:
    """Build PyCUDA, install it for this interpreter, and return what a first look finds.

    Raises:
        InstallError: It cannot be built or installed, or does not load here.
    """
    with tempfile.TemporaryDirectory(prefix="tileviz-wheel-") as name:
        wheel = build_wheel(tools, Path(name))
        pip = [tools.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # PyCUDA imports NumPy and does not say so.
        tools.run("installing PyCUDA", [*pip, str(wheel), "numpy>=2.0"])
    return check(tools)


def check(tools: Tools) -> str:
    """Return what PyCUDA finds here.

    Raises:
        InstallError: It is not installed, does not load, or finds no device.
    """
    return tools.run("PyCUDA", [tools.python, "-c", _CHECK]).strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 when PyCUDA works, 1 after one line that says why not."""
    parser = argparse.ArgumentParser(prog=_COMMAND, description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--wheel", metavar="FOLDER", help="only build the wheel, into FOLDER")
    parser.add_argument("--force", action="store_true", help="build even where PyCUDA works")
    parser.add_argument("--quiet", action="store_true", help="print faults only")
    given = parser.parse_args(arguments)
    tools = Tools(sys.executable, shutil.which("gcc") or "gcc", given.quiet)
    try:
        if not given.wheel and not has_driver():
            raise InstallError(
                f"no NVIDIA driver ({DRIVER_LIBRARY} does not load): PyCUDA would find no GPU"
            )
        if not given.wheel and not given.force and _works(tools):
            return 0
        missing = obstacles()
        if missing:
            raise InstallError("; ".join(missing))
        if given.wheel:
            tools.say(f"built {build_wheel(tools, Path(given.wheel))}")
        else:
            tools.say(install(tools))
    except InstallError as error:
        print(f"tileviz: {error}", file=sys.stderr)
        print(f"tileviz: the emulator works without it; to try again: {_COMMAND}", file=sys.stderr)
        return 1
    return 0


def _works(tools: Tools) -> bool:
    try:
        tools.say(check(tools))
    except InstallError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
