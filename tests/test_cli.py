"""The command line: one object with ``--json``, exit codes, every form of design."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tileviz.cli import app

SHELL = CliRunner()
ROOT = Path(__file__).resolve().parent.parent
COPY = {"study": "permute", "src": {"layout": "S[32:1]"}, "dst": {"layout": "S[32:1]"}}


def call(*arguments: str, stdin: str | None = None) -> tuple[int, str]:
    done = SHELL.invoke(app, list(arguments), input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_plan_of_the_demo() -> None:
    code, out = call("plan", "permute-demo", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["reference"]["outcome"] == "ok"
    assert (document["reference"]["k"], document["reference"]["shift"]) == (2, 3)
    assert document["hardware"]["write"] == {"wavefronts": 4, "ideal": 4}
    assert document["ours"]["kind"] == "xor" and document["ours_reason"] is None


def test_every_form_of_design_gives_the_same_result(tmp_path: Path) -> None:
    file = tmp_path / "design.json"
    file.write_text(json.dumps(COPY))
    forms = [
        (json.dumps(COPY), None),
        (str(file), None),
        ("-", json.dumps(COPY)),
        ("http://localhost:8501/Permute_layout?v=1&src=S[32:1]&dst=S[32:1]", None),
    ]
    results = [call("plan", form, "--json", stdin=stdin) for form, stdin in forms]
    assert {result[0] for result in results} == {0}
    assert len({result[1] for result in results}) == 1


def test_text_output_leads_with_the_verdict() -> None:
    code, out = call("plan", "permute-demo")
    assert code == 0
    assert out.startswith("✓ Conflict-free: read 4 wavefronts (ideal 4), write 4 (ideal 4).")


@pytest.mark.parametrize(
    "design",
    [
        "no-such-thing",
        "{",
        "[1]",
        '{"study":"permute"}',
        '{"study":"permute","src":{"layout":"S["},"dst":{"layout":"S[4:1]"}}',
        "http://localhost/Permute_layout?src=S[&dst=S[4:1]",
        "/",
        "\x00",
        "x" * 5000,
        '{"study":"access","bytes":4,"addresses":[1]}',
        "{" * 100_000,
    ],
)
def test_bad_input_is_one_object_and_exit_code_2(design: str) -> None:
    code, out = call("plan", design, "--json")
    assert code == 2
    assert out.count("\n") == 1
    error = json.loads(out)["error"]
    assert error["message"]
    assert len(out) < 8000


def test_bad_input_without_json_shows_a_caret() -> None:
    done = SHELL.invoke(app, ["plan", '{"study":"layout","layout":"S[(4, 32]"}'])
    assert done.exit_code == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("error: layout: ")
    assert lines[1] == "S[(4, 32]"
    assert lines[2].strip() == "^"


def test_batch_keeps_order_and_goes_on_after_a_bad_line(tmp_path: Path) -> None:
    lines = [
        json.dumps(COPY),
        "nonsense",
        json.dumps({"study": "access", "bytes": 4, "addresses": [0, 128]}),
        json.dumps({"study": "layout", "op": "span", "layout": "S[(4, 32):(33, 1)]"}),
    ]
    file = tmp_path / "designs.jsonl"
    file.write_text("\n".join(lines) + "\n")
    code, out = call("batch", str(file))
    results = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert results[0]["reference"]["k"] == 0
    assert results[1]["error"]["field"] == "design"
    assert results[2]["wavefronts"] == 2
    assert results[3]["value"] == {"m": 131}


def test_a_line_may_be_a_preset_or_a_link_but_no_file(tmp_path: Path) -> None:
    inner = tmp_path / "design.json"
    inner.write_text(json.dumps(COPY))
    link = "/Banks_and_swizzles?v=1&layout=S[(32,32):(33,1)]&pattern=column"
    file = tmp_path / "designs.jsonl"
    file.write_text(f"banks-transpose-32x32 \n{link}\n")
    code, out = call("batch", str(file))
    assert code == 0
    assert [json.loads(line)["wavefronts"] for line in out.splitlines()] == [32, 1]
    file.write_text(f"{inner}\n-\nbanks-padding-33\n/Nowhere?v=1&layout=S[4]\n")
    code, out = call("batch", str(file))
    fields = [json.loads(line).get("error", {}).get("field") for line in out.splitlines()]
    assert (code, fields) == (2, ["design", "design", None, "link"])


def test_bad_input_in_a_batch_weighs_more_than_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "designs.jsonl"
    monkeypatch.setattr(
        "tileviz.cli.designs.run_design", lambda of, on, seed: ({"verified": False}, None, None)
    )
    file.write_text(json.dumps(COPY) + "\n")
    assert call("batch", str(file), "--run")[0] == 1
    file.write_text(f"{json.dumps(COPY)}\nnonsense\n")
    assert call("batch", str(file), "--run")[0] == 2


def test_batch_of_a_missing_file() -> None:
    code, out = call("batch", "nowhere.jsonl")
    assert code == 2
    assert json.loads(out)["error"]["field"] == "file"


def test_exports(tmp_path: Path) -> None:
    code, link = call("export", "permute-demo", "--as", "link")
    assert code == 0 and link.startswith("/Permute_layout?v=1&src=")
    code, document = call("export", "permute-demo", "--as", "json")
    assert code == 0 and json.loads(document)["study"] == "permute"
    target = tmp_path / "demo.cu"
    code, out = call("export", "permute-demo", "--as", "cu", "--output", str(target))
    assert (code, out) == (0, "")
    assert 'extern "C" __global__' in target.read_text()
    code, script = call("export", "permute-demo", "--as", "pycuda")
    assert code == 0 and "SourceModule(SOURCE" in script
    report = tmp_path / "demo.html"
    words = ("--title", "<b>Mine", "--note", "a\nb")
    code, out = call("export", "permute-demo", "--as", "html", "--run", *words, "-o", str(report))
    assert (code, out) == (0, "")
    text = report.read_text(encoding="utf-8")
    assert "<h1>&lt;b&gt;Mine</h1>" in text and "Output correct, 256 of 256 elements." in text


@pytest.mark.parametrize(
    ("design", "options", "said"),
    [
        (json.dumps({**COPY, "dst": {"layout": "S[32:0]"}}), ["--as", "cu"], "design: has no"),
        (json.dumps({**COPY, "dst": {"layout": "S[32:0]"}}), ["--as", "pycuda"], "design: has no"),
        ("layout-row-major", ["--as", "cu"], "study: generates no CUDA"),
        ("layout-row-major", ["--as", "pycuda"], "study: generates no CUDA"),
        ("permute-demo", ["--as", "cu", "--run"], "run: goes with --as html"),
        ("permute-demo", ["--as", "html", "--note", "x" * 20_000], "note: at most"),
        ("permute-demo", ["--as", "cu", "-o", "/nowhere/x.cu"], "output: cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_one_line(design: str, options: list[str], said: str) -> None:
    done = SHELL.invoke(app, ["export", design, *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {said}") and done.stderr.count("\n") == 1


def test_layout_and_access_objects() -> None:
    design = {"study": "layout", "op": "canonicalize", "layout": "S[(4, 32):(32, 1)]"}
    _, out = call("plan", json.dumps(design), "--json")
    assert json.loads(out)["result"]["shard"] == [[128, 1, "m"]]
    design = {"study": "access", "space": "global", "bytes": 4, "addresses": [0, 64]}
    _, out = call("plan", json.dumps(design), "--json")
    assert (json.loads(out)["sectors"], json.loads(out)["lines"]) == (2, 1)


def test_doctor_names_runners_and_fixes() -> None:
    code, out = call("doctor", "--json")
    document = json.loads(out)
    assert code == 0
    assert [runner["name"] for runner in document["runners"]] == ["emulator", "gpu"]
    for runner in document["runners"]:
        assert runner["reason"]
    assert any(
        package["name"] == "numpy" and package["version"] for package in document["packages"]
    )
    code, text = call("doctor")
    assert code == 0 and text.splitlines()[0].split("Mode: ")[1].rstrip(".") == document["mode"]


def test_a_long_batch_is_shared_among_processes_in_order(tmp_path: Path) -> None:
    lines = [json.dumps({**COPY, "study": "permute"})] * 3
    lines += ["broken", "", json.dumps({"study": "access", "bytes": 4, "addresses": [0, 128, 256]})]
    file = tmp_path / "designs.jsonl"
    file.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-c", "import tileviz.cli.designs as d; d._SHARED = 5; "]
    command[-1] += f"from tileviz.cli import app; app(['batch', {str(file)!r}])"
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2  # of the line that is broken
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result.get("study") for result in results] == ["permute"] * 3 + [None, "access"]
    assert results[-1]["wavefronts"] == 3
