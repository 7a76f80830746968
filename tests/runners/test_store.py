"""The history of runs: nothing lost, nothing that fails a run, everything found again."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tileviz import api
from tileviz.runners import Run, RunnerInfo, run_kernel, store, store_file
from tileviz.runners.store import RunStore, data_folder, keep
from tileviz.runners.store_entry import MAX_RUN, KeptRun, Wanted, entry_of
from tileviz.runners.store_file import StoreFile, StoreUnavailable, identity
from tileviz.studies.registry import preset
from tileviz.studies.statement import Statement

ROOT = Path(__file__).resolve().parents[2]
DESIGN = {
    "study": "permute",
    "src": {"layout": "S[(4, 32):(32, 1)]"},
    "dst": {"layout": "S[(4, 32):(1, 4)]"},
}


def entry(number: int = 0, **changes: object) -> KeptRun:
    made = KeptRun(
        at=f"2026-11-{1 + number // 60 % 28:02}T10:{number % 60:02}:00Z",
        study="permute",
        design=DESIGN,
        variant="k = 2",
        verdict="Conflict-free, 100 % of the bound.",
        outcome=Statement("ok", "Output correct, 128 of 128 elements.", "As predicted."),
        runner="emulator",
        device="PTX emulator on the CPU",
        verified=True,
        version="0.1.0",
        seed=number,
        run={"accesses": [], "number": number},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_an_own_kernel_is_kept_with_the_verdict_of_the_lab(tmp_path: Path) -> None:
    history = RunStore(tmp_path)
    for name in ("kernel-transpose", "kernel-transpose-padded"):
        found = preset(name)
        assert found is not None
        run = run_kernel(api.kernel(found.design), on="emulator", study="kernel")
        history.add(entry_of(found.design, run, version="0"))
    padded, plain = history.find(Wanted(), limit=9)
    assert padded.outcome.state == "ok"
    assert padded.outcome.sentence == "Nothing is paid above the ideal."
    said = "Line 12: 32 wavefronts where 1 is ideal: 32 lanes meet in one bank."
    assert (plain.outcome.state, plain.outcome.sentence) == ("attention", said)
    whole = history.get(1)
    assert whole is not None and whole.outcome == plain.outcome

    # One that was kept before is judged by its counts when it is read; nonsense stays as it is.
    before = Statement("attention", "Ran without a fault; no reference to check against.")
    kept = replace(whole, outcome=before, at=padded.at)
    history.add(kept)
    history.add(replace(kept, run={"accesses": 3}))
    nonsense, older = history.find(Wanted(), limit=2)
    assert older.outcome.sentence == "Line 12: 3,968 wavefronts above the ideal."
    assert [run.outcome for run in history.every(Wanted())][:2] == [before, older.outcome]
    assert nonsense.outcome == before


def run_of(**changes: object) -> Run:
    fields: dict[str, object] = {
        "runner": RunnerInfo("emulator", "here", "compute_80"),
        "verified": True,
        "mismatch": None,
        "accesses": (),
        "problems": (),
        "traced_blocks": None,
        "outputs": {},
        "study": "permute",
    }
    return Run(**{**fields, **changes})


@pytest.fixture
def kept(data_folder: Path) -> RunStore:
    return RunStore(data_folder)


def path(kept: RunStore) -> Path:
    return kept.folder / store.FILE


def demo() -> object:
    found = preset("permute-demo")
    assert found is not None
    return found.design


def test_a_run_comes_back_as_it_was(kept: RunStore) -> None:
    given = entry(7, seed=1 << 80, verified=None, name="mine", note="two\nlines", design=DESIGN)
    number = kept.add(given)
    back = kept.get(number)
    assert back is not None
    assert replace(back, id=None, key="") == given
    assert back.run == given.run
    assert kept.get(number + 1) is None


def test_newest_first_and_paged(kept: RunStore) -> None:
    for number in (3, 1, 4, 1, 5, 2):
        kept.add(entry(number))
    seeds = [run.seed for run in kept.find(Wanted(), limit=99)]
    assert seeds == [5, 4, 3, 2, 1, 1]
    assert [run.seed for run in kept.find(Wanted(), limit=2, offset=2)] == [3, 2]
    assert kept.count(Wanted()) == 6
    assert all(run.run is None for run in kept.find(Wanted(), limit=99))


SOUGHT = [
    Wanted(study="permute"),
    Wanted(study="access"),
    Wanted(runner="gpu"),
    Wanted(outcome="wrong"),
    Wanted(outcome="unchecked"),
    Wanted(since="2026-11-02", until="2026-11-02"),
    Wanted(text="conflict-FREE mine"),
    Wanted(text="S[(4,32):(32,1)]"),
    Wanted(text="S[(4, 32):(32, 1)]"),
    Wanted(text="100%"),
    Wanted(text="a_b"),
    Wanted(text="\\"),
    Wanted(text="'; DROP TABLE runs; --"),
    Wanted(text="H200"),
]


@pytest.mark.parametrize("wanted", SOUGHT, ids=str)
def test_the_store_finds_what_a_search_takes(kept: RunStore, wanted: Wanted) -> None:
    made = [
        entry(1, name="mine"),
        entry(61, runner="gpu", device="NVIDIA H200", verified=False),
        entry(62, study="access", design={"study": "access"}, verified=None, note="axb 100% \\ "),
        entry(63, note="a_b"),
    ]
    for one in made:
        kept.add(one)
    found = {run.seed for run in kept.find(wanted, limit=99)}
    assert found == {run.seed for run in made if wanted.takes(run)}
    assert kept.count(wanted) == len(found)
    assert [run.seed for run in kept.every(wanted)] == sorted(found, reverse=True)
    assert len(found) < len(made)


def test_an_export_reads_a_long_history_in_parts(
    kept: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_BATCH", 4)
    for number in range(11):
        kept.add(entry(number // 3))  # several at one time
    every = list(kept.every(Wanted(text="permute")))
    assert len({run.id for run in every}) == len(every) == 11
    assert [run.run for run in every] == [
        {"accesses": [], "number": n // 3} for n in range(10, -1, -1)
    ]


def test_a_name_and_a_note_are_kept_as_text(kept: RunStore) -> None:
    number = kept.add(entry())
    kept.annotate(number, "<b>best\x00</b>" + "x" * 500, "a note; DROP TABLE runs")
    back = kept.get(number)
    assert back is not None
    assert back.name.startswith("<b>best</b>x") and len(back.name) == 120
    assert back.note == "a note; DROP TABLE runs"


def test_only_the_chosen_runs_are_deleted(kept: RunStore) -> None:
    numbers = [kept.add(entry(n, run={"bulk": "x" * 100_000})) for n in range(6)]
    full = kept.size()
    kept.delete(numbers[:4])
    assert [run.seed for run in kept.find(Wanted(), limit=9)] == [5, 4]
    assert kept.size() < full / 2
    assert kept.add(entry()) not in numbers  # a number is never used again: links name one run


def test_looking_makes_no_file(data_folder: Path) -> None:
    empty = RunStore(data_folder)
    assert empty.find(Wanted(), limit=1) == () and empty.count(Wanted()) == 0
    assert empty.get(1) is None and not list(empty.every(Wanted()))
    assert empty.size() == 0 and not data_folder.exists()


ADDS_FOR_EVER = """
import sys
from pathlib import Path
from tests_entry import entry
from tileviz.runners.store import RunStore
kept = RunStore(Path(sys.argv[1]))
number = int(sys.argv[2])
while number != int(sys.argv[3]):
    kept.add(entry(number, run={"bulk": "x" * 20_000}))
    print(number, flush=True)
    number += 1
"""


@pytest.fixture
def adding(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a process that adds runs and prints the number of each once it is committed."""
    here = Path(__file__).read_text().replace("@pytest.", "#").split("def run_of(")[0]
    (tmp_path / "tests_entry.py").write_text(here)
    places = os.pathsep.join([str(ROOT), str(tmp_path)])
    environment = {**os.environ, "PYTHONPATH": places}

    def start(folder: Path, first: int, last: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", ADDS_FOR_EVER, str(folder), str(first), str(last)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    return start


def test_a_killed_process_loses_nothing_that_was_kept(
    kept: RunStore, adding: Callable[..., subprocess.Popen[str]]
) -> None:
    with adding(kept.folder, 0, -1) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(5)]
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.readlines()
    committed = {int(line) for line in said if line.endswith("\n")}
    found = {run.seed for run in kept.every(Wanted())}
    assert committed <= found and len(found - committed) <= 1
    assert kept.notice == ""
    kept.add(entry(12345))
    assert kept.count(Wanted()) == len(found) + 1


def test_several_processes_write_at_once(
    kept: RunStore, adding: Callable[..., subprocess.Popen[str]]
) -> None:
    writers = [adding(kept.folder, first, first + 15) for first in (0, 100, 200)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    wanted = {first + n for first in (0, 100, 200) for n in range(15)}
    assert {run.seed for run in kept.find(Wanted(), limit=99)} == wanted


def test_another_process_that_holds_the_file_is_waited_for_and_then_said(kept: RunStore) -> None:
    kept.add(entry(1))
    holder = sqlite3.connect(path(kept), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    hurried = RunStore(kept.folder, busy_seconds=0.01)
    with pytest.raises(StoreUnavailable, match="locked"):
        hurried.add(entry(2))
    assert hurried.count(Wanted()) == 1  # reading goes on
    holder.execute("COMMIT")
    holder.close()
    hurried.add(entry(2))
    assert hurried.count(Wanted()) == 2


def test_a_damaged_file_is_kept_aside(data_folder: Path) -> None:
    data_folder.mkdir()
    damaged = data_folder / store.FILE
    damaged.write_bytes(b"this was a database" * 100)
    line = keep(demo(), run_of())  # type: ignore[arg-type]
    assert "damaged" in line and "\n" not in line
    (name,) = RunStore(data_folder).damaged()
    assert (data_folder / name).read_bytes() == b"this was a database" * 100
    assert RunStore(data_folder).count(Wanted()) == 1
    assert keep(demo(), run_of()) == ""  # type: ignore[arg-type]


def test_damage_inside_is_found_when_it_is_read(kept: RunStore) -> None:
    for number in range(50):
        kept.add(entry(number, run={"bulk": "x" * 9000}))
    content = bytearray(path(kept).read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path(kept).write_bytes(content)
    assert kept.find(Wanted(), limit=99) == ()
    assert "damaged" in kept.notice
    assert (kept.folder / kept.damaged()[0]).read_bytes() == bytes(content)


def test_a_file_is_set_aside_once_by_whoever_comes_first(kept: RunStore) -> None:
    kept.add(entry(1))
    another = identity(kept.folder)  # not the file that is there now
    StoreFile(path(kept), 1).set_aside(another)
    assert kept.damaged() == () and kept.count(Wanted()) == 1


def test_a_document_that_was_tampered_with_does_no_harm(kept: RunStore) -> None:
    number = kept.add(entry(1))
    with sqlite3.connect(path(kept)) as connection:
        connection.execute("UPDATE runs SET design = '{', run = '[1]', note = CAST(x'ff' AS TEXT)")
    back = kept.get(number)
    assert back is not None and back.design == {} and back.run == {}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("seed", "abc"),
        ("seed", "9" * 5000),
        ("seed", 1.5),
        ("design", "[" * 100_000),
        ("run", "[" * 100_000),
        ("name", b"\xff\xfe"),
        ("verdict", 5),
    ],
)
def test_no_value_of_a_column_hides_the_history(kept: RunStore, column: str, value: object) -> None:
    number = kept.add(entry(1))
    with sqlite3.connect(path(kept)) as connection:
        connection.execute(f"UPDATE runs SET {column} = ?", (value,))
    (found,) = kept.every(Wanted())
    assert found.id == number and json.dumps(found.to_json())


@pytest.fixture
def unwritable() -> Iterator[Path]:
    """A folder in which this process may not write, with one kept run."""
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        RunStore(folder).add(entry(3))
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs POSIX users")
def test_a_read_only_folder_fails_no_run_and_is_read(
    unwritable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEVIZ_DATA", str(unwritable))
    line = keep(demo(), run_of())  # type: ignore[arg-type]
    assert line.startswith("this run was not kept in the history: ") and "\n" not in line
    assert [run.seed for run in RunStore(unwritable).find(Wanted(), limit=9)] == [3]
    assert list(unwritable.iterdir()) == [unwritable / store.FILE]


def test_a_folder_that_cannot_be_made_fails_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEVIZ_DATA", str(tmp_path / "file" / "folder"))
    assert "not kept" in keep(demo(), run_of())  # type: ignore[arg-type]


def test_a_full_disk_fails_no_run(kept: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.add(entry(1))
    prepare = store_file._prepare

    def full(connection: sqlite3.Connection) -> None:
        prepare(connection)
        connection.execute("PRAGMA max_page_count = 5")

    monkeypatch.setattr(store_file, "_prepare", full)
    line = keep(demo(), run_of(note="x" * 90_000))  # type: ignore[arg-type]
    assert "not kept" in line and "full" in line
    assert [run.seed for run in kept.find(Wanted(), limit=9)] == [1]


def test_whatever_else_goes_wrong_fails_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **named: object) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(store, "entry_of", broken)
    assert keep(demo(), run_of()) == "this run was not kept in the history: odd"  # type: ignore[arg-type]


def test_an_older_file_is_brought_up_to_date(
    kept: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.add(entry(1))
    further = ("ALTER TABLE runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'",)
    monkeypatch.setattr(store_file, "MIGRATIONS", (*store_file.MIGRATIONS, further))
    kept.add(entry(2))
    assert kept.count(Wanted()) == 2
    with sqlite3.connect(path(kept)) as connection:
        assert connection.execute("SELECT DISTINCT colour FROM runs").fetchall() == [("blue",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_failed_migration_leaves_the_file_as_it_was(
    kept: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.add(entry(1))
    broken = ("ALTER TABLE runs ADD COLUMN colour TEXT", "ALTER TABLE nothing ADD COLUMN x TEXT")
    with monkeypatch.context() as patch:
        patch.setattr(store_file, "MIGRATIONS", (*store_file.MIGRATIONS, broken))
        with pytest.raises(StoreUnavailable, match="nothing"):
            kept.add(entry(2))
    kept.add(entry(3))
    assert [run.seed for run in kept.find(Wanted(), limit=9)] == [3, 1]


def test_a_newer_file_is_left_alone(kept: RunStore) -> None:
    kept.add(entry(1))
    with sqlite3.connect(path(kept)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreUnavailable, match="newer version"):
        kept.find(Wanted(), limit=9)
    assert "newer version" in keep(demo(), run_of())  # type: ignore[arg-type]
    assert kept.damaged() == ()


@pytest.mark.parametrize("word", ["off", "0", "No", " FALSE "])
def test_the_owner_can_switch_it_off(
    word: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEVIZ_HISTORY", word)
    assert keep(demo(), run_of()) == ""  # type: ignore[arg-type]
    assert not data_folder.exists()


def test_a_long_run_object_is_cut_and_says_so(kept: RunStore) -> None:
    number = kept.add(
        entry_of(demo(), run_of(note="n" * (2 * MAX_RUN)), version="0", plan=None)  # type: ignore[arg-type]
    )
    assert kept.get(number) is not None
    assert kept.size() > MAX_RUN  # a note is never cut, only lists are


def test_what_is_kept_of_a_run(kept: RunStore) -> None:
    assert keep(demo(), run_of(), seed=5, variant="k = 0") == ""  # type: ignore[arg-type]
    (run,) = kept.find(Wanted(), limit=9)
    assert (run.study, run.seed, run.variant) == ("permute", 5, "k = 0")
    assert run.design["stages"] == {"count": 2}
    assert run.verdict.startswith("Conflict-free: read 4 wavefronts")
    assert run.outcome.sentence.startswith("Output correct")
    assert len(run.at) == 20 and run.at.endswith("Z")
    assert json.loads(json.dumps(run.to_json()))["design"] == run.design


def test_the_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEVIZ_DATA", "~/somewhere")
    assert data_folder() == Path.home() / "somewhere"
    monkeypatch.delenv("TILEVIZ_DATA")
    assert data_folder().name == "tileviz" and data_folder().is_absolute()
