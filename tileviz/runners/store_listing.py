"""One list of what ran here and of the recorded GPU runs, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tileviz.runners.history import RecordedCase, Recording, recordings
from tileviz.runners.store import RunStore, data_folder
from tileviz.runners.store_entry import KeptRun, Wanted
from tileviz.runners.store_file import StoreUnavailable
from tileviz.runners.words import statement_of
from tileviz.studies.documents import json_line
from tileviz.studies.registry import assets


@dataclass(frozen=True)
class Listing:
    """A page of the list.

    Attributes:
        rows: Runs; those of this installation without their run objects.
        total: How many there are in all.
        recorded: How many of them are recorded GPU runs.
        notes: What could not be read, a line each.
    """

    rows: tuple[KeptRun, ...]
    total: int
    recorded: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    """The runs of this installation beside the recorded ones.

    Attributes:
        store: What was run here.
        folder: Of the recordings.
    """

    store: RunStore
    folder: Path

    @classmethod
    def here(cls) -> History:
        """Return the history of this installation."""
        return cls(RunStore(data_folder()), assets() / "runs")

    def listing(self, wanted: Wanted, *, limit: int, offset: int = 0) -> Listing:
        """Return a page of what is asked for, newest first; what cannot be read is said.

        Example:
            >>> History(RunStore(Path("/none")), Path("/none")).listing(Wanted(), limit=9).total
            0
        """
        found, notes = self.recorded()
        ours = [run for run in found if wanted.takes(run)]
        try:
            kept = self.store.count(wanted)
            # Where in the whole list each recorded run stands.
            places = {
                number + self.store.count(wanted, after=run.at): run
                for number, run in enumerate(ours)
            }
            before = sum(place < offset for place in places)
            within = [place for place in places if offset <= place < offset + limit]
            asked = limit - len(within)
            rows = list(self.store.find(wanted, limit=asked, offset=max(offset - before, 0)))
        except StoreUnavailable as error:
            notes = (*notes, f"what was run here cannot be read: {error}")
            shown = tuple(ours[offset : offset + limit])
            return Listing(shown, len(ours), len(ours), notes)
        for place in within:
            rows.insert(place - offset, places[place])
        return Listing(tuple(rows), kept + len(ours), len(ours), notes)

    def count(self, wanted: Wanted) -> int:
        """Return how many runs are asked for.

        Raises:
            StoreUnavailable: What was run here cannot be read.
        """
        return self.store.count(wanted) + sum(map(wanted.takes, self.recorded()[0]))

    def recorded(self) -> tuple[tuple[KeptRun, ...], tuple[str, ...]]:
        """Return the recorded runs, newest first, and what could not be read."""
        try:
            found = recordings(self.folder)
        except ValueError as error:
            return (), (str(error),)
        runs = (
            _recorded(recording, case)
            for recording in found
            for case in recording.cases
            if case.run is not None
        )
        return tuple(runs), ()

    def get(self, key: str) -> KeptRun | None:
        """Return the run that a link names, with its run object, or None.

        Raises:
            StoreUnavailable: What was run here cannot be read.
        """
        if key.isascii() and key.isdigit() and len(key) < 18:
            return self.store.get(int(key))
        return next((run for run in self.recorded()[0] if run.key == key), None)

    def lines(self, wanted: Wanted) -> Iterator[str]:
        """Yield everything that is asked for as JSON lines, with the run objects.

        Raises:
            StoreUnavailable: What was run here cannot be read.
        """
        for run in self.store.every(wanted):
            yield json_line(run.to_json()) + "\n"
        for run in self.recorded()[0]:
            if wanted.takes(run):
                yield json_line(run.to_json()) + "\n"


def _recorded(recording: Recording, case: RecordedCase) -> KeptRun:
    run = case.run or {}
    runner = run.get("runner", {})
    against = f"against {case.baseline}: {case.speedup}" if case.speedup else ""
    return KeptRun(
        at=recording.recorded,
        study=case.study,
        design=case.design,
        variant="",
        verdict="",
        outcome=statement_of(run),
        runner=str(runner.get("name", "gpu")),
        device=recording.device,
        verified=run.get("verified"),
        version=recording.versions.get("tileviz", ""),
        seed=case.seed,
        name=case.name,
        note=against,
        recorded=recording.label,
        key=f"{recording.file_name.removesuffix('.json')}/{case.name}",
        run=run,
    )
