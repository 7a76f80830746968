"""The floors of the architecture: imports only go down."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Floor of every part; a module may import its own part and strictly lower floors.
FLOORS = {
    "words": 0,
    "errors": 1,
    "dtypes": 2,
    "layouts": 3,
    "memory": 3,
    "workers": 3,
    "cuda": 4,
    "studies": 5,
    "emulator": 5,
    "runners": 6,
    "figures": 7,
    "export": 7,
    "api": 7,
    "doctor": 7,
    "tracing": 7,
    "checking": 8,
    "comparing": 8,
    "lessons": 8,
    "reviewing": 8,
    "ui": 9,
    "cli": 9,
}
# The floor from which an outside package may be imported.
OUTSIDE = {"plotly": FLOORS["figures"], "streamlit": FLOORS["ui"], "typer": FLOORS["cli"]}
PYCUDA_HOME = "runners"

MODULES = sorted(path for path in (ROOT / "tileviz").rglob("*.py") if "templates" not in path.parts)


def part_of(dotted: str) -> str:
    pieces = dotted.split(".")
    return pieces[1] if len(pieces) > 1 else ""


def imports_of(path: Path) -> list[tuple[str, int, bool]]:
    """Every imported module: its name, the line, and whether it is imported lazily."""
    tree = ast.parse(path.read_text())
    lazy = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno, id(node) in lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            module = node.module or ""
            if module == "tileviz":
                names = [f"tileviz.{alias.name}" for alias in node.names]
                found += [(name, node.lineno, id(node) in lazy) for name in names]
            else:
                found.append((module, node.lineno, id(node) in lazy))
    return found


def own_part(path: Path) -> str:
    relative = path.relative_to(ROOT / "tileviz")
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_go_down(path: Path) -> None:
    part = own_part(path)
    if part in ("__init__", "__main__"):
        return
    floor = FLOORS[part]
    for name, line, lazy in imports_of(path):
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        top = name.split(".")[0]
        if top == "tileviz":
            target = part_of(name)
            if target == "__version__":
                continue
            assert target == part or FLOORS[target] < floor, where
            assert not (part == "studies" and target == "runners"), where
        elif top in OUTSIDE:
            assert floor >= OUTSIDE[top], where
        elif top == "pycuda":
            assert part == PYCUDA_HOME and lazy, where


def test_pycuda_is_imported_in_one_file_only() -> None:
    files = {
        path
        for path in MODULES
        for name, _, _ in imports_of(path)
        if name.split(".")[0] == "pycuda"
    }
    assert len(files) <= 1


def test_every_part_has_a_floor() -> None:
    parts = {own_part(path) for path in MODULES} - {"__init__", "__main__"}
    assert parts == set(FLOORS)


def test_studies_keep_the_same_files() -> None:
    for folder in (ROOT / "tileviz" / "studies").iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            files = {path.name for path in folder.glob("*.py")}
            assert {"design.py", "plan.py"} <= files, folder


def test_importing_tileviz_is_cheap() -> None:
    import subprocess
    import sys

    code = (
        "import sys, tileviz; print([m for m in ('numpy', 'streamlit', 'plotly', 'pydantic', "
        "'pycuda') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


# Streamlit's own inputs let a browser that is late undo what a script put into them.
INPUTS = {
    *("button", "form_submit_button"),
    *("checkbox", "date_input", "datetime_input", "feedback", "multiselect", "number_input"),
    *("pills", "radio", "segmented_control", "select_slider", "selectbox", "slider"),
    *("text_area", "text_input", "time_input", "toggle"),
}


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if own_part(path) == "ui" and path.name != "inputs.py"],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_pages_draw_inputs_through_one_door(path: Path) -> None:
    called = {
        (ast.unparse(node.func.value), node.func.attr)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert {owner for owner, name in called if name in INPUTS} <= {"inputs"}
