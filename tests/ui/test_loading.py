"""Pages that are opened at once on a server that has just started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Three sessions, as three tabs of a browser that is started again.
SESSIONS = """
import sys, threading
sys.setswitchinterval(1e-4)
said = []
def session(page):
    try:
        from tileviz.ui.loading import load
        load()
        __import__(page, fromlist=["page"]).page
    except BaseException as error:
        said.append(f"{page}: {error!r}")
names = ["tileviz.ui.kernel.page", "tileviz.ui.kernel.page", "tileviz.ui.permute.page"]
threads = [threading.Thread(target=session, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(said)
"""
LATER = """
import sys, threading
from tileviz.ui.loading import load
load()
before = set(sys.modules)
from tileviz.studies.registry import presets
from tileviz.studies.kernel.kernel import kernel
from tileviz.studies.kernel.plan import plan
from tileviz.runners import run_kernel
from tileviz.studies.schedule.policies import policies
policies()
design = next(one.design for one in presets() if one.name == "kernel-vector-add")
run = run_kernel(kernel(plan(design)), on="emulator")
print(sorted(name for name in set(sys.modules) - before if name.startswith("tileviz")))
"""


def _printed(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    return done.stdout.strip() or done.stderr


def test_tabs_that_are_opened_at_once_are_drawn() -> None:
    assert _printed(SESSIONS) == "[]"


def test_nothing_is_left_to_be_loaded_later() -> None:
    assert _printed(LATER) == "[]"


def test_every_page_of_the_list_is_drawn_through_it() -> None:
    for path in (ROOT / "app.py", *(ROOT / "pages").glob("*.py")):
        assert 'from tileviz.ui.loading import draw\n\ndraw("tileviz.ui.' in path.read_text(), path
