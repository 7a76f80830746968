"""Commands with nothing but Python: ``python3 -m tasks app``, ``test``, ``gpu-test``,
``bench`` or ``pictures``.

Sets up everything it needs first. Kept to old syntax: an old Python must say what is missing.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
OLDEST = (3, 10)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def stop(line):
    """End with one line that says what is missing."""
    sys.exit("tileviz: " + line)


def find_python():
    """Return a Python that is new enough: this one, else one on the path."""
    if sys.version_info >= OLDEST:
        return sys.executable
    for minor in range(20, OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    have = ".".join(map(str, sys.version_info[:2]))
    return stop("Python 3.10 or newer is needed, this one is " + have)


def venv_python():
    """Return the interpreter inside the virtual environment."""
    windows = VENV / "Scripts" / "python.exe"
    return str(windows if os.name == "nt" else VENV / "bin" / "python")


def set_up(requirements):
    """Make the virtual environment and install a requirements file, unless that is done already."""
    wanted = hashlib.sha256()
    for name in ("requirements.txt", requirements):
        wanted.update((ROOT / name).read_bytes())
    stamp = VENV / (requirements + ".sha256")
    if stamp.is_file() and stamp.read_text() == wanted.hexdigest():
        return
    if not Path(venv_python()).is_file():
        made = subprocess.run([find_python(), "-m", "venv", str(VENV)])
        if made.returncode:
            shutil.rmtree(str(VENV), ignore_errors=True)
            stop("Python's venv module is missing; on Debian: apt-get install python3-venv")
    print("tileviz: installing " + requirements, flush=True)
    pip = [venv_python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "-r", str(ROOT / requirements)]).returncode:
        stop("pip could not install " + requirements + " (is there a network?)")
    stamp.write_text(wanted.hexdigest())


def set_up_browser():
    """Make sure that the browser tests have a browser, or say what they need."""
    if any(shutil.which(name) for name in BROWSERS):
        return
    root = getattr(os, "geteuid", lambda: 1)() == 0
    if root and shutil.which("apt-get"):
        print("tileviz: installing chromium", flush=True)
        quiet = {
            "stdout": subprocess.DEVNULL,
            "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        }
        subprocess.run(["apt-get", "update", "-qq"], **quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], **quiet)
    if not any(shutil.which(name) for name in BROWSERS):
        print(
            "tileviz: no Chromium, browser tests are skipped; on Debian: apt-get install chromium"
        )


def set_up_gpu():
    """Build PyCUDA, once, where there is a driver: the app works without it."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return
    stamp = VENV / "pycuda.sha256"
    wanted = hashlib.sha256((ROOT / "requirements-gpu.txt").read_bytes()).hexdigest()
    if not (stamp.is_file() and stamp.read_text() == wanted):
        print("tileviz: a GPU driver is here; setting up PyCUDA", flush=True)
        run("tileviz.runners.install_gpu")
        stamp.write_text(wanted)  # tried once: its message names the command for another try


def has_test_packages():
    """Tell whether this very Python can run the GPU tests, as on a machine without a network."""
    looks = "import numpy, pytest, sys; sys.exit(sys.version_info < (3, 10))"
    return subprocess.run([sys.executable, "-c", looks], stderr=subprocess.DEVNULL).returncode == 0


def run(*command):
    """Run a command of the virtual environment in the project's folder."""
    return subprocess.run([venv_python(), "-m", *command], cwd=str(ROOT)).returncode


def run_tests(*where):
    """Run tests on two cores; every test where no place is named."""
    return run("pytest", "-n", "2", "--dist", "loadfile", *where, *sys.argv[2:])


def app():
    """Serve the app and print its address."""
    set_up("requirements.txt")
    set_up_gpu()
    address = os.environ.get("TILEVIZ_ADDRESS", "localhost")
    port = os.environ.get("TILEVIZ_PORT", "8501")
    options = ["--server.address", address, "--server.port", port, "--server.headless", "true"]
    return run("streamlit", "run", "app.py", *options, "--browser.gatherUsageStats", "false")


def test():
    """Check style and types, then run every test."""
    set_up("requirements-dev.txt")
    set_up_browser()
    checks = [
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "--quiet", "."),
        ("mypy",),
    ]
    for check in checks:
        if run(*check):
            return 1
    return run_tests()


def gpu_test():
    """Run the tests that need a GPU; without one, they are skipped and say why."""
    python = sys.executable
    if not has_test_packages():
        set_up("requirements-dev.txt")
        set_up_gpu()
        python = venv_python()
    # No other conftest, no doctests: what those import need not be there.
    options = ["--confcutdir", "tests/gpu", "-o", "addopts=", "--import-mode=importlib", "-rs"]
    command = [python, "-m", "pytest", *options, "-p", "no:cacheprovider", "tests/gpu"]
    return subprocess.run([*command, *sys.argv[2:]], cwd=str(ROOT)).returncode


def bench():
    """Print the benchmark tables."""
    set_up("requirements-dev.txt")
    return run("benchmarks", *sys.argv[2:])


def pictures():
    """Take the README's pictures: the browser tests make screenshots, some are copied."""
    set_up("requirements-dev.txt")
    set_up_browser()
    os.environ["TILEVIZ_SCREENSHOTS"] = "1"
    failed = run_tests("tests/browser")
    if failed:
        return failed
    return subprocess.run([venv_python(), "docs/pictures.py"], cwd=str(ROOT)).returncode


def main():
    """Run the task that the command line names."""
    tasks = {"app": app, "test": test, "gpu-test": gpu_test, "bench": bench, "pictures": pictures}
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in tasks:
        stop("python3 -m tasks app, test, gpu-test, bench or pictures")
    try:
        sys.exit(tasks[name]())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
