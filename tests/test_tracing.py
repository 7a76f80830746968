"""A user's own kernel from the command line: counts, faults, files, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tileviz.cli import app

SHELL = CliRunner()
TRANSPOSE = """
extern "C" __global__ void transpose(const float* x, int n, float* y) {
    __shared__ float tile[32][32];
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = x[(row + i) * n + column];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        y[(blockIdx.x * 32 + i) * n + row + threadIdx.x] = tile[threadIdx.x][i];
}
"""


def call(*arguments: str) -> tuple[int, str]:
    done = SHELL.invoke(app, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "transpose.cu"
    path.write_text(TRANSPOSE)
    return str(path)


BUFFERS = [
    *("--entry", "transpose", "--block", "32,8"),
    *("--buffer", "x:float32:64x64:in", "--scalar=n:int32:64", "--buffer", "y:float32:64x64:out"),
]


def test_transpose_is_counted_and_its_output_kept(source: str, tmp_path: Path) -> None:
    given = np.arange(4096, dtype=np.float32).reshape(64, 64)
    np.save(tmp_path / "x.npy", given)
    files = ["--input", f"x={tmp_path / 'x.npy'}", "--output", f"y={tmp_path / 'y.npy'}"]
    code, out = call("trace", source, "--grid", "2,2", *BUFFERS, *files, "--json")
    document = json.loads(out)
    assert code == 0 and document["problems"] == []
    assert np.array_equal(np.load(tmp_path / "y.npy"), given.T)
    column = next(
        row for row in document["accesses"] if row["op"] == "ld" and row["space"] == "shared"
    )
    assert column["executions"] == 4 * 32
    assert column["measured"] == {"wavefronts": 4 * 32 * 32, "ideal": 4 * 32, "sectors": None}
    assert (column["bytes_used"], column["bytes_moved"]) == (4 * 4096, 32 * 4 * 4096)


def test_a_fault_is_named_and_the_exit_code_says_so(source: str) -> None:
    code, out = call("trace", source, "--grid", "3,2", *BUFFERS, "--json")
    problem = json.loads(out)["problems"][0]
    assert code == 1
    assert problem["kind"] == "out_of_bounds"
    assert problem["buffer"] == "x"
    assert "line 5" in problem["message"]


def test_the_table_names_lines_and_costs(source: str) -> None:
    code, out = call("trace", source, "--grid", "2,2", *BUFFERS)
    assert code == 0
    assert out.startswith("▲ Line 8: 32 wavefronts where 1 is ideal: 32 lanes meet in one bank.")
    assert any("ld.shared 4 B" in line and " 4096 " in line for line in out.splitlines())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (["--buffer", "z"], "buffer"),
        (["--buffer", "z:float32:-4:in"], "buffer"),
        (["--buffer", "z:float33:4:in"], "buffers.2.dtype"),
        (["--buffer", "z:float32:4:both"], "buffers.2.role"),
        (["--buffer", "x:float32:4:in"], "buffers"),
        (["--scalar", "m:int32:many"], "scalar"),
        (["--scalar", "m:int8:300"], "scalars.1.value"),
        (["--grid", "1,2,3,4"], "grid"),
        (["--grid", "0"], "grid"),
        (["--block", "64,64"], "block"),
        (["--shared", "9999999"], "shared_bytes"),
        (["--input", "x"], "input"),
        (["--input", "x=/nowhere.npy"], "input"),
        (["--output", "x=/tmp/x.npy"], "output"),
        (["--entry", "1x"], "entry"),
    ],
)
def test_bad_options_are_named(source: str, change: list[str], field: str) -> None:
    code, out = call("trace", source, *BUFFERS, *change, "--json")
    assert code == 2
    assert json.loads(out)["error"]["field"] == field


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('#include "/etc/passwd"\n', "include"),
        ('extern "C" __global__ void transpose() { int x = y; }', 'identifier "y" is undefined'),
        ("", "transpose"),
    ],
)
def test_hostile_or_broken_text_is_one_clear_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "k.cu"
    path.write_text(text)
    code, out = call("trace", str(path), *BUFFERS, "--json")
    assert code in (1, 2)
    document = json.loads(out)
    message = document["error"]["message"] if code == 2 else document["problems"][0]["message"]
    assert any(word in message for word in words.split("|"))
    assert "root:" not in out


def test_a_run_of_a_preset_says_what_its_page_says() -> None:
    code, out = call("run", "kernel-transpose-padded")
    assert code == 0 and "✓ Nothing is paid above the ideal." in out
    code, out = call("run", "kernel-race")
    assert code == 1 and "✕ Line 6: race on 4-byte shared load." in out
    assert "with the store of thread (127,0,0)" in " ".join(out.split())
