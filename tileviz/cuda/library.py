"""Where the NVRTC library is, and how to load it: no toolkit, driver or GPU needed."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tileviz.cuda.diagnostics import NvrtcNotFound

ENVIRONMENT = "TILEVIZ_NVRTC"

_WINDOWS = sys.platform == "win32"
_PATTERN = "nvrtc64_1[23]*_0.dll" if _WINDOWS else "libnvrtc.so*"
_BUILTINS = "nvrtc-builtins64_*.dll" if _WINDOWS else "libnvrtc-builtins.so*"
# In order of preference: 12 still knows sm_50 to sm_72 and runs under older drivers.
_WHEEL_FOLDERS = (
    ("cuda_nvrtc/bin", "cu13/bin/x86_64", "cu13/bin")
    if _WINDOWS
    else ("cuda_nvrtc/lib", "cu13/lib")
)


def _wheel_folders() -> Iterator[Path]:
    spec = find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    for folder in _WHEEL_FOLDERS:
        for root in roots:
            yield Path(root, folder)


def _system_folders() -> Iterator[Path]:
    """Where the loader itself would look; asking it would run a compiler or ldconfig."""
    variable = "PATH" if _WINDOWS else "LD_LIBRARY_PATH"
    for entry in os.environ.get(variable, "").split(os.pathsep):
        if entry:
            yield Path(entry)
    if not _WINDOWS:
        for entry in ("x86_64-linux-gnu", "aarch64-linux-gnu"):
            yield Path("/usr/lib", entry)
        yield from (Path("/usr/lib64"), Path("/usr/lib"), Path("/usr/local/lib"))


def _toolkit_folders() -> Iterator[Path]:
    roots = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")]
    roots += [] if _WINDOWS else ["/usr/local/cuda", "/opt/cuda"]
    folders = ("bin", "bin/x64") if _WINDOWS else ("lib64", "targets/x86_64-linux/lib", "lib")
    for root in filter(None, roots):
        for folder in folders:
            yield Path(root, folder)


def _in_folder(folder: Path) -> Path | None:
    """Return the best NVRTC in ``folder``: plain names before the ``alt`` variant."""
    found = [path for path in folder.glob(_PATTERN) if ".alt." not in path.name]
    return min(found, key=lambda path: (len(path.name), path.name), default=None)


def find() -> Path | None:
    """Return the path of the NVRTC library, or None; looks at names only and loads nothing.

    ``TILEVIZ_NVRTC`` wins (a file, or a folder that holds one), then the wheels, then the
    loader's folders, then a CUDA toolkit.
    """
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        path = Path(chosen)
        if path.is_dir():
            return _in_folder(path)
        return path if path.is_file() else None
    for folders in (_wheel_folders, _system_folders, _toolkit_folders):
        for folder in folders():
            path_or_none = _in_folder(folder)
            if path_or_none is not None:
                return path_or_none
    return None


def missing_reason() -> str:
    """Return one line that says why there is no NVRTC and what to do."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        return f"{ENVIRONMENT} is {chosen!r}, where no NVRTC library is found"
    if sys.platform == "darwin":
        return "NVRTC, NVIDIA's compiler library, exists for Linux and Windows only"
    return "no NVRTC library found; install it with: pip install nvidia-cuda-nvrtc-cu12==12.9.86"


@lru_cache(maxsize=1)
def load() -> ctypes.CDLL:
    """Load NVRTC once.

    Raises:
        NvrtcNotFound: It is not installed, or the file found is not a usable library.
    """
    found = find()
    if found is None:
        raise NvrtcNotFound(missing_reason())
    path = found.resolve()
    try:
        if sys.platform == "win32":
            os.add_dll_directory(str(path.parent))
        # The 13.0 wheels carry no search path for their builtins: load those by hand, first.
        for builtins in sorted(path.parent.glob(_BUILTINS)):
            if ".alt." not in builtins.name:
                ctypes.CDLL(str(builtins))
        library = ctypes.CDLL(str(path))
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        library.nvrtcVersion.restype = ctypes.c_int
    except (OSError, AttributeError) as error:
        raise NvrtcNotFound(f"NVRTC at {path} cannot be loaded: {error}") from error
    return library
