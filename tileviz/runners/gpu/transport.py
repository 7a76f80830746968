"""Requests to the GPU worker and its answers, as a JSON header and arrays.

What comes back was made by a process that ran unknown code: every field is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast, get_args

import numpy as np

from tileviz.cuda.kernel import Array, Buffer, Scalar
from tileviz.dtypes import dtype
from tileviz.emulator.problems import Coordinates, Kind, Problem
from tileviz.runners.gpu.device import Facts, Usage
from tileviz.runners.gpu.patterns import CyclePattern
from tileviz.runners.gpu.settings import Settings
from tileviz.runners.timing import Samples
from tileviz.workers.wire import Header

_MAX_TEXT = 1000
_MAX_SAMPLES = 100_000


@dataclass(frozen=True)
class Images:
    """A compiled text: machine code, b"" where there is none, and PTX."""

    code: bytes
    ptx: bytes


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled kernel with its launch and its inputs.

    Attributes:
        entry: Name of the kernel.
        grid: Blocks in x, y, z.
        block: Threads in x, y, z.
        parameters: Buffers and scalars in parameter order.
        shared_bytes: Dynamic shared memory per block.
        images: What the compiler made of it.
        inputs: Flat content of every ``in`` and ``inout`` buffer by name.
    """

    entry: str
    grid: Coordinates
    block: Coordinates
    parameters: tuple[Buffer | Scalar, ...]
    shared_bytes: int
    images: Images
    inputs: Mapping[str, Array] = field(default_factory=dict)

    @property
    def buffers(self) -> list[Buffer]:
        """The pointer parameters, in order."""
        return [item for item in self.parameters if isinstance(item, Buffer)]


@dataclass(frozen=True, eq=False)
class Request:
    """Programs to check, and then to time in alternation.

    Attributes:
        programs: One, or several to compare.
        settings: Limits and goals.
        probes: The measuring kernels, compiled for the device; empty images where not timed.
        patterns: Shared-memory patterns to count the cycles of.
    """

    programs: tuple[Program, ...]
    settings: Settings = field(default_factory=Settings)
    probes: Images = field(default_factory=lambda: Images(b"", b""))
    patterns: tuple[CyclePattern, ...] = ()


@dataclass(frozen=True, eq=False)
class Series:
    """Times of one program in microseconds, and of what was measured beside it.

    Attributes:
        mode: ``"cold"`` or ``"warm"``.
        launches: Launches between one pair of events.
        samples: Microseconds per launch, shape ``[sample]``.
        floor: The same for an empty kernel of the same shape.
        copy: The same for a copy on the device that moves as many bytes; empty where not timed.
    """

    mode: str
    launches: int
    samples: Samples
    floor: Samples
    copy: Samples


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one program.

    Attributes:
        outputs: Flat content of every ``out`` and ``inout`` buffer; empty where it did not run.
        problems: What went wrong.
        usage: What the loaded kernel takes.
        series: Its times; empty where it was not timed.
    """

    outputs: Mapping[str, Array] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    usage: Usage | None = None
    series: tuple[Series, ...] = ()


@dataclass(frozen=True, eq=False)
class Answer:
    """What the worker found.

    Attributes:
        facts: The device; None where there is none to use.
        unavailable: Why nothing could run here, "" otherwise: the driver's or PyCUDA's text.
        outcomes: One a program; empty where nothing ran.
        copy: Bytes of a large copy on the device, read and written together, and its times in
            microseconds; (0, empty) where not timed.
        clocks: MHz of a multiprocessor before and after the series.
        cycles: Cycles of one access, for each pattern; empty where not counted.
    """

    facts: Facts | None = None
    unavailable: str = ""
    outcomes: tuple[Outcome, ...] = ()
    copy: tuple[int, Samples] = (0, np.empty(0))
    clocks: tuple[float, ...] = ()
    cycles: tuple[float, ...] = ()


def pack_request(request: Request) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays: images, then the inputs; what several programs read goes once."""
    arrays = [_bytes(request.probes.code), _bytes(request.probes.ptx)]
    programs = []
    for program in request.programs:
        arrays += [_bytes(program.images.code), _bytes(program.images.ptx)]
    for program in request.programs:
        inputs = [
            _placed(program.inputs[b.name], arrays) for b in program.buffers if b.role != "out"
        ]
        described = [
            {"is": "buffer" if isinstance(item, Buffer) else "scalar", **asdict(item)}
            for item in program.parameters
        ]
        programs.append(
            {
                "entry": program.entry,
                "grid": program.grid,
                "block": program.block,
                "shared_bytes": program.shared_bytes,
                "parameters": described,
                "inputs": inputs,
            }
        )
    header = {
        "op": "run",
        "programs": programs,
        "settings": asdict(request.settings),
        "patterns": [asdict(pattern) for pattern in request.patterns],
    }
    return header, arrays


def unpack_request(header: Header, arrays: Sequence[Array]) -> Request:
    """Return the request."""
    given = iter(arrays)
    probes = Images(next(given).tobytes(), next(given).tobytes())
    programs = []
    for item in header["programs"]:
        images = Images(next(given).tobytes(), next(given).tobytes())
        parameters = tuple(_parameter(part) for part in item["parameters"])
        names = [p.name for p in parameters if isinstance(p, Buffer) and p.role != "out"]
        programs.append(
            Program(
                item["entry"],
                _coordinates(item["grid"]),
                _coordinates(item["block"]),
                parameters,
                item["shared_bytes"],
                images,
                {name: arrays[at] for name, at in zip(names, item["inputs"], strict=True)},
            )
        )
    return Request(
        tuple(programs),
        Settings(**header["settings"]),
        probes,
        tuple(
            CyclePattern(item["op"], item["bytes"], tuple(item["offsets"]))
            for item in header["patterns"]
        ),
    )


def pack_answer(answer: Answer) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays: the copy's times, then outputs and series of each program.

    An output that several programs have in common is sent once.
    """
    arrays: list[Array] = [answer.copy[1]]
    outcomes = []
    for outcome in answer.outcomes:
        outputs = [[name, _placed(array, arrays)] for name, array in outcome.outputs.items()]
        firsts = []
        for series in outcome.series:
            firsts.append(len(arrays))
            arrays += [series.samples, series.floor, series.copy]
        outcomes.append(
            {
                "outputs": outputs,
                "problems": [asdict(problem) for problem in outcome.problems],
                "usage": None if outcome.usage is None else asdict(outcome.usage),
                "series": [
                    [series.mode, series.launches, first]
                    for series, first in zip(outcome.series, firsts, strict=True)
                ],
            }
        )
    header = {
        "facts": None if answer.facts is None else asdict(answer.facts),
        "unavailable": answer.unavailable,
        "outcomes": outcomes,
        "copy_bytes": answer.copy[0],
        "clocks": answer.clocks,
        "cycles": answer.cycles,
    }
    return header, arrays


def unpack_answer(header: Header, arrays: Sequence[Array], request: Request) -> Answer:
    """Return the answer to a request.

    Raises:
        ValueError, TypeError, KeyError, IndexError: It is not what was asked for.
    """
    given = _Arrays(arrays)
    copy = (_whole(header["copy_bytes"]), _samples(given[0]))
    described = header["outcomes"]
    if described and len(described) != len(request.programs):
        raise ValueError("outcomes of other programs")
    outcomes = [
        _outcome(item, given, program)
        for item, program in zip(described, request.programs, strict=False)
    ]
    if given.unused:
        raise ValueError("more arrays than are described")
    cycles = tuple(float(value) for value in header["cycles"])
    if cycles and len(cycles) != len(request.patterns):
        raise ValueError("cycles of other patterns")
    return Answer(
        facts=None if header["facts"] is None else unpack_facts(header["facts"]),
        unavailable=_text(header["unavailable"]),
        outcomes=tuple(outcomes),
        copy=copy,
        clocks=tuple(float(value) for value in header["clocks"][:8]),
        cycles=cycles,
    )


def unpack_facts(item: Mapping[str, Any]) -> Facts:
    """Return what a device says of itself.

    Raises:
        ValueError, TypeError, KeyError: It does not.
    """
    major, minor = item["capability"]
    return Facts(
        name=_text(item["name"]),
        capability=(_whole(major), _whole(minor)),
        driver=_whole(item["driver"]),
        memory_bytes=_whole(item["memory_bytes"]),
        multiprocessors=_whole(item["multiprocessors"]),
        l2_bytes=_whole(item["l2_bytes"]),
        shared_bytes=_whole(item["shared_bytes"]),
        clock_mhz=float(item["clock_mhz"]),
        display=bool(item["display"]),
        library=_text(item["library"]),
    )


def _outcome(item: Mapping[str, Any], given: _Arrays, program: Program) -> Outcome:
    expected = {b.name: b for b in program.buffers if b.role != "in"}
    places = dict(item["outputs"])
    if places and list(places) != list(expected):
        raise ValueError("the outputs are not those of the kernel")
    outputs = {}
    for name, at in places.items():
        array, kind = given[at], dtype(expected[name].dtype)
        if array.dtype != kind.numpy or array.shape != (expected[name].count * kind.lanes,):
            raise ValueError("an output of another size or type")
        outputs[name] = array
    series = []
    for mode, launches, first in item["series"]:
        if mode not in ("cold", "warm") or not _whole(launches):
            raise ValueError("a series of an unknown kind")
        samples, floor, copy = (_samples(given[first + more]) for more in range(3))
        series.append(Series(mode, launches, samples, floor, copy))
    usage = item["usage"]
    return Outcome(
        outputs,
        tuple(_problem(problem) for problem in item["problems"]),
        None
        if usage is None
        else Usage(
            _whole(usage["registers"]), _whole(usage["local_bytes"]), _whole(usage["shared_bytes"])
        ),
        tuple(series),
    )


def _problem(item: Mapping[str, Any]) -> Problem:
    if item["kind"] not in get_args(Kind):
        raise ValueError("a problem of an unknown kind")
    buffer = item["buffer"]
    return Problem(
        cast(Kind, item["kind"]),
        _text(item["message"]),
        buffer=None if buffer is None else _text(buffer),
    )


def _parameter(item: Mapping[str, Any]) -> Buffer | Scalar:
    if item["is"] == "scalar":
        return Scalar(item["name"], item["dtype"], item["value"])
    return Buffer(item["name"], item["dtype"], tuple(item["shape"]), item["role"])


def _placed(array: Array, arrays: list[Array]) -> int:
    """Return where an array is among those to send, and put it there if it is not."""
    for place, other in enumerate(arrays):
        if other is array:
            return place
    arrays.append(array)
    return len(arrays) - 1


class _Arrays:
    """Arrays that came with a header, by the places it names."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = arrays
        self.unused = set(range(len(arrays)))

    def __getitem__(self, place: Any) -> Array:
        array = self._arrays[_whole(place)]
        self.unused.discard(place)
        return array


def _samples(array: Array) -> Samples:
    if array.dtype != np.float64 or array.ndim != 1 or array.size > _MAX_SAMPLES:
        raise ValueError("not a series of times")
    samples = array.astype(np.float64, copy=False)
    if not (np.isfinite(samples).all() and (samples >= 0).all()):
        raise ValueError("times that are none")
    return samples


def _bytes(raw: bytes) -> Array:
    return np.frombuffer(raw, np.uint8)


def _text(value: object) -> str:
    return " ".join(str(value).split())[:_MAX_TEXT]


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"not a count: {value!r:.40}")
    return value


def _coordinates(value: Sequence[Any]) -> Coordinates:
    x, y, z = value
    return _whole(x), _whole(y), _whole(z)
