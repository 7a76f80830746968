"""The scheduler: runs basic blocks over the lanes of a batch, and decides who goes next.

Lanes are kept in groups by the basic block they are about to run. While all are in one group
nothing is masked. When they diverge, the group at the lowest block runs first: blocks are ordered
so that lanes which left a loop or took the short side of a branch then wait for the others.

That alone would never end a spinlock whose holder is further on. So a block that polls memory, by
an atomic or a volatile load, gives way to the group that has waited longest once it has run often.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tileviz.emulator.binder import Binder
from tileviz.emulator.flow import BasicBlock, guard_of
from tileviz.emulator.lanes import WARP, Index, Lanes
from tileviz.emulator.limits import Limits
from tileviz.emulator.meeting import Meeting
from tileviz.emulator.problems import Kind, Stop
from tileviz.emulator.state import State, Step

# How often a polling block runs before other groups while they wait.
_PATIENCE = 64


@dataclass
class Counters:
    """What has been executed so far."""

    thread_instructions: int = 0
    warp_instructions: int = 0


class Code:
    """A basic block bound to the rows of a batch."""

    def __init__(self, block: BasicBlock, steps: list[Step], binder: Binder) -> None:
        self.block = block
        self.steps = steps
        self.size = block.size
        self.targets = block.targets
        self.ending = block.ending
        self.polls = block.polls
        self.meeting = Meeting(block.meeting, binder) if block.meeting is not None else None
        self.guard: NDArray[np.bool_] | None = None
        self.choice: NDArray[np.int64] | None = None
        self.negated = False
        guard = guard_of(block.last) if block.last is not None else None
        if guard is not None:
            register, self.negated = guard
            value = binder.source(register, "pred")
            if not isinstance(value, np.ndarray):
                value = np.full(binder.state.geometry.lanes, value)
            self.guard = value
        if self.ending == "table" and block.last is not None:
            index = binder.source(block.last.operands[0], "u32")
            self.choice = np.broadcast_to(index, binder.state.geometry.lanes)


class Machine:
    """Executes batches of blocks of one launch."""

    def __init__(self, state: State, code: list[Code], limits: Limits, deadline: float) -> None:
        self.state = state
        self.code = code
        self.limits = limits
        self.deadline = deadline
        self.counters = Counters()
        self.groups: dict[int, Lanes] = {}
        self.waiting: dict[int, Index] = {}
        self._polled: Counter[int] = Counter()
        self._last_run: dict[int, int] = {}
        self._choices = 0

    def run(self, ids: NDArray[np.int64]) -> None:
        """Run the blocks ``ids`` (linear numbers) to their end.

        Raises:
            Stop: A fault that ends the run.
        """
        self.groups = {0: self.state.begin(ids)}
        self.waiting = {}
        self._polled.clear()
        self._last_run = {}
        while True:
            if len(self.groups) == 1:
                number, lanes = self.groups.popitem()
            elif self.groups:
                number, lanes = self._choose()
            elif self.waiting:
                self._release_any()
                continue
            else:
                return
            code = self.code[number]
            if code.meeting is not None and lanes.count != self.state.live_count:
                arrived = self._meet(number, lanes)
                if arrived is None:
                    continue
                lanes = arrived
            self._execute(code, lanes)

    def _execute(self, code: Code, lanes: Lanes) -> None:
        """Run a block once and hand its lanes to the blocks that follow."""
        self._account(code, lanes)
        for step in code.steps:
            step(lanes)
        ending = code.ending
        if ending == "fall" or (ending == "branch" and code.guard is None):
            self._join(code.targets[0], lanes)
        elif ending == "table":
            self._dispatch(code, lanes)
        elif code.guard is None:
            self._end(code, lanes)
        else:
            taken, rest = self._split(code, lanes)
            if taken is not None:
                if ending == "branch":
                    self._join(code.targets[0], taken)
                else:
                    self._end(code, taken)
            if rest is not None:
                self._join(code.targets[-1], rest)

    def _split(self, code: Code, lanes: Lanes) -> tuple[Lanes | None, Lanes | None]:
        """Return the lanes whose guard holds, and the others."""
        guard = code.guard
        assert guard is not None
        mask = guard if lanes.exact is None else guard[lanes.exact]
        count = int(np.count_nonzero(mask))
        if code.negated:
            count = lanes.count - count
        if count == lanes.count:
            return lanes, None
        if count == 0:
            return None, lanes
        if code.negated:
            mask = ~mask
        live = self.state.live_count
        return lanes.among(mask, live), lanes.among(~mask, live)

    def _dispatch(self, code: Code, lanes: Lanes) -> None:
        assert code.choice is not None
        choice = code.choice if lanes.exact is None else code.choice[lanes.exact]
        for value in np.unique(choice):
            some = lanes.among(choice == value, self.state.live_count)
            if value >= len(code.targets):
                raise self._stop("trap", "branch table index out of range", code, lanes)
            if some is not None:
                self._join(code.targets[int(value)], some)

    def _join(self, number: int, lanes: Lanes) -> None:
        """Put lanes into the group of a block."""
        present = self.groups.get(number)
        if present is None:
            self.groups[number] = lanes
            return
        self.groups[number] = self.state.lanes(self._union(present.index, lanes.index))

    def _union(self, one: Index, other: Index) -> Index:
        mask = np.zeros(self.state.geometry.lanes, np.bool_)
        mask[one] = True
        mask[other] = True
        return np.flatnonzero(mask)

    def _end(self, code: Code, lanes: Lanes) -> None:
        """Retire lanes."""
        if code.ending == "trap":
            raise self._stop("trap", "trap executed", code, lanes)
        state = self.state
        state.live[slice(None) if lanes.exact is None else lanes.exact] = False
        state.live_count -= lanes.count
        # Groups that are now all that is left alive may run without masks.
        for number, group in self.groups.items():
            if group.count == state.live_count:
                self.groups[number] = state.lanes(group.index)

    def _choose(self) -> tuple[int, Lanes]:
        number = min(self.groups)
        if self.code[number].polls:
            self._polled[number] += 1
            if self._polled[number] > _PATIENCE:
                number = min(self.groups, key=lambda block: self._last_run.get(block, 0))
        self._choices += 1
        self._last_run[number] = self._choices
        return number, self.groups.pop(number)

    # -- meeting points ----------------------------------------------------------------------------

    def _meet(self, number: int, lanes: Lanes) -> Lanes | None:
        """Let lanes arrive at a meeting point; return those that may go on, or None."""
        meeting = self.code[number].meeting
        assert meeting is not None
        parked = self.waiting.pop(number, None)
        here = lanes.index if parked is None else self._union(parked, lanes.index)
        return self._release(number, meeting, here)

    def _release(self, number: int, meeting: Meeting, here: Index) -> Lanes | None:
        go = meeting.ready(here, self.state)
        stay = here[~go]
        if len(stay):
            self.waiting[number] = stay
        free = here[go]
        return self.state.lanes(free) if len(free) else None

    def _release_any(self) -> None:
        """Nothing can run: exits may have completed a meeting. If not, this is a deadlock."""
        for number in sorted(self.waiting):
            meeting = self.code[number].meeting
            assert meeting is not None
            lanes = self._release(number, meeting, self.waiting.pop(number))
            if lanes is not None:
                self._execute(self.code[number], lanes)
                return
        raise self._deadlock()

    def _deadlock(self) -> Stop:
        number = min(self.waiting, key=lambda block: int(self.waiting[block][0]))
        lane = int(self.waiting[number][0])
        stride = self.state.geometry.stride
        place = self.code[number].block.meeting
        assert place is not None
        block = lane // stride
        mine = int(np.count_nonzero(self.waiting[number] // stride == block))
        living = int(np.count_nonzero(self.state.live[block * stride : (block + 1) * stride]))
        detail = f"{mine} of {living} threads of the block wait here for the rest"
        others = self._waiting_elsewhere(number, block)
        if others:
            detail += f" ({', '.join(others)})"
        what = f"deadlock at {place.opcode}"
        site = self.state.site(lane, place.line)
        return Stop(site.problem("deadlock", what, detail))

    def _waiting_elsewhere(self, number: int, block: int) -> list[str]:
        """Describe the threads of a block that wait at other meeting points than ``number``."""
        found = []
        for other, index in sorted(self.waiting.items()):
            count = int(np.count_nonzero(index // self.state.geometry.stride == block))
            place = self.code[other].block.meeting
            if other != number and count and place is not None:
                line = "elsewhere" if place.line is None else f"at line {place.line}"
                found.append(f"{count} {line}")
        return found

    # -- limits ------------------------------------------------------------------------------------

    def _account(self, code: Code, lanes: Lanes) -> None:
        counters, limits = self.counters, self.limits
        counters.thread_instructions += code.size * lanes.count
        exact = lanes.exact
        if exact is None:
            warps = lanes.total // WARP
        elif isinstance(exact, slice):
            warps = (exact.stop - 1) // WARP - exact.start // WARP + 1
        else:
            warp = exact // WARP
            warps = int(np.count_nonzero(warp[1:] != warp[:-1])) + 1
        counters.warp_instructions += code.size * warps
        if counters.thread_instructions > limits.thread_instructions:
            what = f"limit of {limits.thread_instructions:,} thread instructions reached"
            raise self._stop("limit", what, code, lanes)
        if time.perf_counter() > self.deadline:
            raise self._stop("limit", f"limit of {limits.seconds:g} s reached", code, lanes)

    def _stop(self, kind: Kind, what: str, code: Code, lanes: Lanes) -> Stop:
        place = code.block.place
        site = self.state.site(int(lanes.index[0]), place.line if place else None)
        return Stop(site.problem(kind, what))
