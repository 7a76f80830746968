"""Numbers by name: from Python, from the shell, with every fault in one clear line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import tileviz as tv
from tileviz.cli import app
from tileviz.studies.registry import preset

SHELL = CliRunner()


def call(*arguments: str) -> tuple[int, str, str]:
    done = SHELL.invoke(app, ["explain", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_shell_unfolds_one_number() -> None:
    code, out, _ = call("permute-declined", "--number", "schedules.0.write.wavefronts")
    assert code == 0
    assert out.startswith("k = 0, write = 16 wavefronts")
    assert "4 + 4 + 4 + 4 = 16" in out
    assert "lane 4: word        0100000  32" in out
    assert "measured on sm_110" in out and "measured: measured" not in out


def test_the_shell_lists_every_number_with_its_name() -> None:
    code, out, _ = call("schedule-ragged")
    assert code == 0
    assert "L2 hit rate = 0.898072 (89.8%)" in out
    assert "order.{task}.{column}" in out and "task 0 to 455" in out


def test_json_is_one_object_and_the_same_as_from_python() -> None:
    code, out, _ = call("banks-transpose-32x32", "--json")
    listed = json.loads(out)
    assert code == 0
    assert listed == tv.explain(preset("banks-transpose-32x32").design).to_json()
    names = [entry["name"] for entry in listed["numbers"]]
    assert "wavefronts" in names and "search.candidates.0.wavefronts" in names
    code, out, _ = call("banks-transpose-32x32", "--number", "wavefronts", "--json")
    one = json.loads(out)
    assert one["value"] == 32 and one["steps"][-1]["arithmetic"] == "max(32, 0) = 32"
    assert one["steps"][-1]["bits"][1]["bits"] == "0100000"
    assert one["rule"]["confidence"] == "measured"


def test_a_run_unfolds_too() -> None:
    code, out, _ = call("banks-padding-33", "--run", "--on", "emulator", "--json")
    names = {entry["name"]: entry["value"] for entry in json.loads(out)["numbers"]}
    assert code == 0
    assert names["accesses.0.executions"] >= 1
    _, run = tv.run(preset("banks-padding-33").design, on="emulator")
    assert tv.explain(run).find("accesses.0.executions").value == names["accesses.0.executions"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("nope", "no such number; there are ours.k"),
        ("reference.src_addr.9.0", "register: must be 0 to 3"),
        ("reference.src_addr.0.-1", "lane: must be 0 to 31"),
        ("reference.src_addr.0.٣", "lane: must be 0 to 31"),
        ("reference.src_addr.0." + "9" * 5000, "lane: must be 0 to 31"),
        ("schedules.0.bank.sideways.0.0", "phase: must be one of read, write"),
        ("<script>" * 50, "no such number"),
    ],
)
def test_a_wrong_name_is_one_line(number: str, said: str) -> None:
    code, out, err = call("permute-demo", "--number", number)
    assert code == 2 and out == ""
    assert said in err and len(err) < 900
    code, out, _ = call("permute-demo", "--number", number, "--json")
    assert code == 2 and list(json.loads(out)) == ["error"]


def test_a_design_without_cuda_cannot_be_run() -> None:
    code, _, err = call("layout-row-major", "--run")
    assert code == 2 and "generates no CUDA" in err


def test_numbers_print_as_text() -> None:
    found = tv.explain(preset("permute-demo").design)
    text = str(found)
    assert "Every k" in text and "[schedules.2.cost]" in text and "Any index" in text
    assert "k = 2, both phases = 8 wavefronts\n  1. Read and write." in str(
        found.find("schedules.2.cost")
    )
    assert [one.name for one in found][:1] == ["ours.k"]
