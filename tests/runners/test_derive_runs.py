"""Every number of a run unfolds to its measured accesses, and ends in that very number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tileviz import api
from tileviz.memory import Accesses
from tileviz.runners import Run, run_kernel
from tileviz.runners.compare import compare
from tileviz.runners.derive import numbers, settled
from tileviz.studies.derivation import Derivation
from tileviz.studies.registry import preset

Check = Callable[[Derivation], None]
NAMES = ("permute-declined", "banks-transpose-32x32", "schedule-zn-1", "broadcast-declined")


def _checked(run: Run, check: Check, kernel: object = None) -> None:
    document = run.to_json()
    found = numbers(run, kernel)
    for at, entry in enumerate(document["accesses"]):
        for part in ("predicted", "measured"):
            for name, value in (entry[part] or {}).items():
                if value is not None:
                    assert found.find(f"accesses.{at}.{part}.{name}").value == value
        for name in ("executions", "bytes_used", "bytes_moved"):
            assert found.find(f"accesses.{at}.{name}").value == entry[name]
    for name, output in document["outputs"].items():
        assert found.find(f"outputs.{name}.count").value == output["count"]
    names = [one.name for one in found]
    assert len(set(names)) == len(names)
    for one in found:
        check(one)


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_presets_unfold(name: str, check_derivation: Check) -> None:
    _, run = api.run(preset(name).design, on="emulator")
    _checked(run, check_derivation)


def test_a_prediction_unfolds_from_the_kernels_own_addresses(check_derivation: Check) -> None:
    kernel = api.kernel(preset("permute-declined").design)
    run = run_kernel(kernel, on="emulator")
    _checked(run, check_derivation, kernel)
    found = numbers(run, kernel)
    kinds = [(row.space, row.op) for row in run.accesses]
    written = kinds.index(("shared", "st"))
    both = [
        found.find(f"accesses.{written}.{part}.ideal").steps for part in ("predicted", "measured")
    ]
    assert [step.arithmetic for step in both[0]] == [step.arithmetic for step in both[1]]


def test_many_executions_name_the_worst_and_its_banks(run_of: Callable[..., Run]) -> None:
    random = np.random.default_rng(1)
    addresses = 4 * random.integers(0, 1 << 10, (6000, 32))
    addresses[4711] = 128 * np.arange(32)
    many = Accesses.of(addresses, space="shared", op="ld", bytes=4, line=9)
    run = run_of(many)
    one = numbers(run).find("accesses.0.measured.wavefronts")
    text = " ".join(step.text for step in one.steps)
    assert "Execution 4711: 1 bank is asked, bank 0 for 32 words by lanes 0 to 31" in text
    assert "by execution 4711, lanes 0 to 31: 31 banks none, 1 bank 32." in text
    assert one.steps[-1].arithmetic.endswith(f" = {one.value:,}")


def test_settled_numbers_keep_nothing_bulky(run_of: Callable[..., Run]) -> None:
    two = Accesses.of(8 * np.arange(32), space="shared", op="st", bytes=4, line=3)
    kept = settled(numbers(run_of(two)))
    one = kept.find("accesses.0.measured.wavefronts")
    assert one.work.__closure__ is not None
    assert all(isinstance(cell.cell_contents, tuple) for cell in one.work.__closure__)
    assert one.steps[-2].arithmetic == "16 · 2 = 32"


def test_a_line_that_never_ran_says_so(run_of: Callable[..., Run]) -> None:
    two = Accesses.of(8 * np.arange(32), space="shared", op="st", bytes=4, line=3)
    run = run_of(two)
    run = replace(run, accesses=compare([replace(two, line=5)], [two]), measured=(two,))
    found = numbers(run)
    absent = next(at for at, row in enumerate(run.accesses) if not row.executions)
    steps = found.find(f"accesses.{absent}.measured.wavefronts").steps
    assert steps[0].text == "Not executed in the traced blocks."


@pytest.fixture
def run_of() -> Callable[..., Run]:
    """Return a function that makes the run of some measured accesses."""
    from tileviz.runners.protocol import RunnerInfo

    def made(*measured: Accesses) -> Run:
        return Run(
            RunnerInfo("emulator", "", ""), None, None, compare([], measured), (), None, {},
            measured=measured,
        )  # fmt: skip

    return made
