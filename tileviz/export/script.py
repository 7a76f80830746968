"""Exports for PyCUDA: the executed kernel text inside a Python script that checks itself."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tileviz.cuda.kernel import Kernel
from tileviz.export.host import HostBuffer, HostParameters

_FOLDER = Path(__file__).with_name("templates")


def pycuda_script(kernel: Kernel) -> str:
    """Return one .py file that runs a kernel with PyCUDA and checks what can be checked.

    It does what `tileviz.export.snippets.standalone_cu` does, with the same inputs, and prints the
    same verdict and checksums.

    Args:
        kernel: A kernel; with a NumPy reference it has one output.

    Raises:
        ValueError: A buffer's element type is not of whole bytes.

    Example:
        >>> from tileviz import api
        >>> from tileviz.studies.registry import preset
        >>> demo = api.kernel(preset("permute-demo").design)
        >>> demo.source in pycuda_script(demo)
        True
    """
    given = HostParameters.of(kernel)
    target = given.targets[0] if given.targets else None
    text: str = _template().render(
        summary=_summary(kernel),
        literal=_LITERAL,
        entry=kernel.entry,
        grid=kernel.grid,
        block=kernel.block,
        shared_bytes=kernel.shared_bytes,
        reference=kernel.numpy_reference.strip(),
        tolerance=kernel.tolerance,
        dtype="" if target is None else target.buffer.dtype,
        buffers=given.buffers,
        inputs=given.inputs,
        targets=given.targets,
        target=target,
        numbers=any(buffer.masks for buffer in given.inputs),
        arguments=[
            f'self.pointers["{entry.name}"]' if isinstance(entry, HostBuffer) else entry.python
            for entry in given.every
        ],
        ran=given.ran,
    )
    # Last, so that no template rule touches a byte of it.
    return text.replace(_LITERAL, literal(kernel.source), 1)


_LITERAL = "%KERNEL%"


def literal(text: str) -> str:
    """Return a Python literal of a text: raw where that is the same, so that it reads as written.

    Example:
        >>> literal("int x;"), literal("say '''")
        ("r'''int x;'''", '(\\n    "say \\'\\'\\'"\\n)')
    """
    plain = "'''" not in text and not text.endswith(("\\", "'"))
    # Python reads every line break of a file as a line feed.
    if plain and "\r" not in text and "\f" not in text and "\0" not in text:
        return f"r'''{text}'''"
    lines = "\n".join(f"    {line!r}" for line in text.splitlines(keepends=True)) or "    ''"
    return f"(\n{lines}\n)"


def _summary(kernel: Kernel) -> str:
    how = "checked against NumPy" if kernel.numpy_reference else "checked as far as it can be"
    return f"The kernel {kernel.entry} on a GPU, {how}."


@lru_cache(maxsize=1)
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        autoescape=False,  # the output is Python, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("script.py.jinja")
