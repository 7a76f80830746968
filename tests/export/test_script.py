"""PyCUDA scripts: they run the very text, know what is right, and say so only then."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tileviz.cuda.kernel import Buffer, Kernel, Scalar
from tileviz.export.script import literal, pycuda_script

Named = Callable[[str], Kernel]


def executed(text: str) -> dict[str, Any]:
    """Run a script's definitions; return its names."""
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(text, "script.py", "exec"), names)
    return names


def test_the_text_is_the_kernels_byte_for_byte(exported: Kernel) -> None:
    tree = ast.parse(pycuda_script(exported))
    (found,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SOURCE"
    ]
    assert found == exported.source


def test_a_script_runs_and_is_right(
    emulated: Kernel, pycuda: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    status = executed(pycuda_script(emulated))["main"]()
    out, err = capsys.readouterr()
    assert pycuda.sources == [emulated.source]
    if emulated.reference is None:
        # Some are made to go wrong.
        assert status == 0 or "WRONG: " in out or err.startswith("CUDA error: ")
        assert ("RAN: " in out) == (status == 0) and "OK" not in out
    else:
        (target,) = [buffer for buffer in emulated.buffers if buffer.role != "in"]
        assert (status, err) == (0, "")
        assert out.startswith(f"OK: all {target.count} elements of {target.name} are right, CRC-32")


def test_one_wrong_bit_is_found(
    tiny: Kernel, pycuda: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = [buffer for buffer in tiny.buffers if buffer.role != "in"]
    if not targets or tiny.reference is None:
        return

    def flip(memory: np.ndarray[Any, Any]) -> None:
        # The highest bit of the last element: the sign of a float, the size of anything else.
        memory[-1] ^= 0x80

    pycuda.spoil = flip
    status = executed(pycuda_script(tiny))["main"]()
    out = capsys.readouterr().out
    assert status == 1
    assert (
        out == f"WRONG: first difference in element {targets[0].count - 1} of {targets[0].name}\n"
    )


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("permute-demo", "b[s * 128 + lane * 4 + j]", "b[s * 128 + lane * 4 + r]"),
        ("permute-in-place", "reg[r];", "reg[0];"),
        ("gemm-float", "fmaf(", "fmaf(1.001f * "),
        ("relu-bfloat16", "linear > 0 ? linear : 0", "linear"),
        ("broadcast-idle-lanes", "return x + b;", "return x - b;"),
        ("banks-transpose-32x32", "dst[lane] =", "dst[31 - lane] ="),
    ],
)
def test_a_wrong_kernel_is_called_wrong(
    name: str, old: str, new: str, named: Named, pycuda: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = named(name)
    assert old in kernel.source
    pycuda.rewrite = lambda text: text.replace(old, new)
    status = executed(pycuda_script(kernel))["main"]()
    assert (status, capsys.readouterr().out[:6]) == (1, "WRONG:")


def test_without_a_reference_it_says_so(
    named: Named, pycuda: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert executed(pycuda_script(named("two-outputs")))["main"]() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(", CRC")[0] for line in lines] == [
        "int: 256 elements, the same in two runs",
        "z: 256 elements, the same in two runs",
        "RAN: every element was written and two runs agree; there is no reference to compare with",
    ]
    assert executed(pycuda_script(named("nothing-to-look-at")))["main"]() == 0
    assert "no output to look at" in capsys.readouterr().out


def test_an_element_that_is_never_written_is_found(
    named: Named, pycuda: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pycuda.rewrite = lambda text: text.replace("if (i < n)", "if (i < n && i != 77 && i != 80)")
    assert executed(pycuda_script(named("two-outputs")))["main"]() == 1
    out = capsys.readouterr().out
    assert "WRONG: 2 of 256 elements of int were never written, first 77" in out
    assert "RAN" not in out


def test_runs_that_differ_are_found(
    named: Named, pycuda: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    launches: list[int] = []

    def spoil(memory: np.ndarray[Any, Any]) -> None:
        launches.append(1)
        memory[40] ^= len(launches)

    pycuda.spoil = spoil
    assert executed(pycuda_script(named("two-outputs")))["main"]() == 1
    text = "WRONG: two runs on the same inputs differ in 1 of 256 elements of z, first 10"
    assert text in capsys.readouterr().out.splitlines()


def test_a_fault_on_the_device_is_one_line(
    named: Named, pycuda: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pycuda.rewrite = lambda text: text.replace("reg[r] = a[", "reg[r] = a[1000000 + ")
    assert executed(pycuda_script(named("permute-demo")))["main"]() == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("CUDA error: ") and err.count("\n") == 1


def test_a_missing_pycuda_is_one_line(named: Named, tmp_path: Path) -> None:
    path = tmp_path / "demo.py"
    path.write_text(pycuda_script(named("permute-demo")), encoding="utf-8")
    (tmp_path / "pycuda.py").write_text("raise ImportError('not here')")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "PyCUDA cannot be used here (not here): pip install pycuda\n"


def test_contents_are_those_of_the_program_in_c(named: Named) -> None:
    script = executed(pycuda_script(named("permute-demo")))
    state, wanted = (7 * 2654435761 + 1) % 2**32, []
    for _ in range(5000):
        state = (state * 1664525 + 1013904223) % 2**32
        wanted.append(state >> 24)
    assert script["fill"](5000, 7).tolist() == wanted
    # Across the border of a chunk.
    long = script["fill"]((1 << 20) + 8, 7)
    assert zlib.crc32(long[:5000]) == zlib.crc32(bytes(wanted))
    state = (7 * 2654435761 + 1) % 2**32
    factor, addend = 1664525, 1013904223
    for bit in range(21):  # the state after 2^20 steps, by doubling
        if (1 << 20) >> bit & 1:
            state = (state * factor + addend) % 2**32
        factor, addend = factor * factor % 2**32, (factor + 1) * addend % 2**32
    assert long[1 << 20] == (state * 1664525 + 1013904223) % 2**32 >> 24


@given(st.text(alphabet=st.sampled_from("a'\"\\\n\r\t\f{}%#é\u2028"), max_size=20))
@example("'''")
@example("\\")
@example("r'''a'''\\")
def test_any_text_survives_as_a_literal(text: str) -> None:
    names: dict[str, str] = {}
    # As a file: Python turns carriage returns of a file into line feeds.
    exec(compile(f"x = {literal(text)}\n".encode(), "x.py", "exec"), names)
    assert names["x"] == text


def test_scalars_keep_their_type_and_value() -> None:
    values: list[tuple[str, int | float]] = [
        ("int8", -128),
        ("uint64", 2**64 - 1),
        ("int64", -(2**63)),
        ("float32", 0.1),
        ("float64", float("inf")),
    ]
    scalars = tuple(Scalar(f"s{n}", *given) for n, given in enumerate(values))
    buffers = (Buffer("x", "int32", (4,), "out"),)
    text = pycuda_script(Kernel("", "k", (1, 1, 1), (32, 1, 1), (*buffers, *scalars)))
    found = re.findall(r"np\.(?:int|uint|float)\d+\([^)]*\),", text)
    kept = [eval(part.rstrip(","), {"np": np}) for part in found if "seed" not in part]
    assert [(value.dtype.name, value.item()) for value in kept] == [
        (dtype, np.dtype(dtype).type(value).item()) for dtype, value in values
    ]
