"""Cold starts, judging, and the app: what a person waits for."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from benchmarks.harness import Row, fastest, peak_memory, process
from tileviz.memory import Accesses, judge


def rows() -> list[Row]:
    """Measure whole processes, and the memory rules over 100,000 warp accesses."""
    plan = ("tileviz", "plan", "permute-demo", "--json")
    run = ("tileviz", "run", "permute-demo", "--json")
    return [
        Row("cold plan of the demo", process(*plan), "s", 0.5),
        Row("its peak memory", peak_memory(*plan), "MB"),
        Row("cold run of the demo, verified", process(*run), "s", 1.2),
        Row("its peak memory, without the worker", peak_memory(*run), "MB"),
        *(_judging(name, width) for name, width in (("random", 4), ("random", 16), ("free", 4))),
        *_page(),
    ]


def _judging(pattern: str, width: int) -> Row:
    shape = (100_000, 32)
    random = np.random.default_rng(0)
    lanes = (
        random.integers(0, 4096, shape)
        if pattern == "random"
        else np.tile(np.arange(32), (shape[0], 1))
    )
    accesses = Accesses.of(width * lanes, space="shared", op="ld", bytes=width)
    seconds = fastest(lambda: judge(accesses), repeat=5)
    return Row(f"judge 100,000 {pattern} accesses of {width} bytes", seconds, "s", 0.1)


def _page() -> list[Row]:
    """Redraw the permute page after an edit, on the server's side."""
    from streamlit.testing.v1 import AppTest

    from benchmarks.harness import ROOT

    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    app.switch_page("pages/1_Permute_layout.py").run()
    dtypes = cycle(("uint32", "float32"))

    def edit() -> None:
        app.selectbox(key="permute.dtype").set_value(next(dtypes)).run()
        if app.exception:
            raise AssertionError(app.exception[0].message)

    return [Row("permute page after an edit, server side", fastest(edit, repeat=5), "s", 0.3)]
