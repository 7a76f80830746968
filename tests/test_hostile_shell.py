"""What hostile or careless input once broke on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tileviz.cli import app

SHELL = CliRunner()
ROOT = Path(__file__).resolve().parent.parent
KERNEL = 'extern "C" __global__ void k(float* x) {\n    // f(a, b)\n    x[threadIdx.x] = 1;\n}\n'


def call(*arguments: str, stdin: str | None = None) -> tuple[int, str]:
    done = SHELL.invoke(app, list(arguments), input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def strict(text: str) -> object:
    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    "design",
    [
        '{"study":"permute","src":{"layout":"\\ud800"},"dst":{"layout":"S[4]"}}',
        '{"study":"permute","src":NaN}',
        '{"study":"permute","src":-Infinity}',
        '{"study":"permute","src":1e400}',
        '{"study":"permute","src":{"layout":"S[4]"},"dst":{"layout":"S[4]"},"dtype":"float32x٤"}',
        '{"study":"permute","src":{"layout":"S[4]"},"dst":{"layout":"S[4]"},"dtype":"int8x03"}',
        "/Permute_layout?v=1&src=S[4]&dst=S[4]" + "&a=1" * 65,
    ],
)
def test_one_object_and_exit_code_2(design: str) -> None:
    code, out = call("plan", design, "--json")
    assert code == 2
    assert out.count("\n") == 1
    assert strict(out)["error"]["message"]  # type: ignore[index]


def test_a_batch_survives_every_line() -> None:
    good = '{"study":"access","bytes":4,"addresses":[0]}'
    named = '{"study":"access","bytes":4,"addresses":[0],"dtype":"a\u2028b"}'
    lines = ['{"study":"\\ud800"}', good, '{"study":NaN}', named, good]
    code, out = call("batch", "-", stdin="\n".join(lines) + "\n")
    results = [strict(line) for line in out.split("\n") if line]
    assert code == 2
    assert ["error" in result for result in results] == [True, False, True, True, False]  # type: ignore[operator]


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "design.json"
    file.write_text('{"study":"access","bytes":4,"addresses":[0]}', encoding="utf-8-sig")
    assert call("plan", str(file), "--json")[0] == 0
    assert call("batch", str(file))[0] == 0


def test_a_users_kernel_that_runs_is_no_failure() -> None:
    design = {"study": "kernel", "source": KERNEL, "entry": "k"}
    design["buffers"] = [{"name": "x", "shape": [32], "role": "out"}]  # type: ignore[assignment]
    code, out = call("run", json.dumps(design), "--json")
    assert json.loads(out)["problems"] == []
    assert code == 0


def test_a_link_keeps_cuda_text_as_it_is() -> None:
    design = {"study": "kernel", "source": KERNEL, "entry": "k"}
    _, link = call("export", json.dumps(design), "--as", "link")
    _, document = call("export", link.strip(), "--as", "json")
    assert json.loads(document)["source"] == KERNEL


def test_a_link_too_long_to_read_is_not_written() -> None:
    design = {"study": "kernel", "source": KERNEL + "// long\n" * 2000, "entry": "k"}
    done = SHELL.invoke(app, ["export", json.dumps(design), "--as", "link"])
    assert done.exit_code == 2
    assert "use --as json" in done.stderr


def test_a_scalar_is_never_cut(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        'extern "C" __global__ void k(unsigned long long* y, unsigned long long n) { y[0] = n; }'
    )
    kept = tmp_path / "y.npy"
    options = ["--entry", "k", "--block", "1", "--buffer", "y:uint64:1:out"]
    scalar = ["--scalar", "n:uint64:0b" + "1" * 64, "--output", f"y={kept}"]
    assert call("trace", str(path), *options, *scalar)[0] == 0
    assert np.load(kept)[0] == (1 << 64) - 1
    for value in ("1" * 100, "inf", "nan", "٤"):
        dtype = "float32" if value in ("inf", "nan") else "uint64"
        assert call("trace", str(path), *options, "--scalar", f"n:{dtype}:{value}")[0] == 2


def test_what_no_gpu_would_take_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        'extern "C" __global__ void k(float* x) {\n    __shared__ float a[25000];\n'
        "    a[threadIdx.x] = x[0];\n    __syncthreads();\n    x[threadIdx.x] = a[31];\n}\n"
    )
    code, out = call("trace", str(path), "--entry", "k", "--buffer", "x:float32:32:inout", "--json")
    problem = json.loads(out)["problems"][0]
    assert code == 1
    assert problem["kind"] == "compile"
    assert "shared" in problem["message"]


def test_endless_files_are_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no endless file here")
    assert call("trace", "/dev/zero", "--entry", "k")[0] == 2


def test_a_crafted_array_header_is_refused(tmp_path: Path) -> None:
    source, array = tmp_path / "k.cu", tmp_path / "x.npy"
    source.write_text(KERNEL)
    np.lib.format.write_array_header_1_0(
        array.open("wb"), {"descr": "<f4", "fortran_order": False, "shape": (99999999999999,)}
    )
    options = ["--entry", "k", "--buffer", "x:float32:32:inout", "--input", f"x={array}"]
    assert call("trace", str(source), *options)[0] == 2


def test_a_misused_option_is_an_object_with_json() -> None:
    command = [sys.executable, "-m", "tileviz", "run", "permute-demo", "--on", "tpu", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert strict(done.stdout)["error"]["field"] == "command"  # type: ignore[index]
