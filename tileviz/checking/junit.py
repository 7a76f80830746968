"""Checks as JUnit XML, which GitHub, GitLab and Jenkins read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from xml.etree import ElementTree as ET

from tileviz.checking.verdicts import Check, Verdict
from tileviz.errors import DesignError

# What XML 1.0 cannot hold, however it is escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Checked:
    """One design of several, checked; or what is wrong with it.

    Attributes:
        label: What the design was called: a file, a preset, a line of standard input.
        outcome: The check, or the error.
        seconds: It took.
        file: The file that holds it, "" for none.
    """

    label: str
    outcome: Check | DesignError
    seconds: float = 0.0
    file: str = ""

    @property
    def passed(self) -> bool:
        """Whether every budget is kept."""
        return isinstance(self.outcome, Check) and self.outcome.passed


def junit(checked: Sequence[Checked]) -> str:
    """Return an XML document with a suite a design and a case a budget.

    Args:
        checked: The designs, in order.

    Example:
        >>> error = DesignError("layout", 'expected ")"')
        >>> '<error message="layout: expected &quot;)&quot;"' in junit([Checked("a.json", error)])
        True
    """
    root = ET.Element("testsuites", name="tileviz check")
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for one in checked:
        suite = _suite(one)
        root.append(suite)
        for name in totals:
            totals[name] += int(suite.get(name, "0"))
    for name, count in totals.items():
        root.set(name, str(count))
    root.set("time", _seconds(sum(one.seconds for one in checked)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(one: Checked) -> ET.Element:
    suite = ET.Element("testsuite", name=_clean(one.label))
    if isinstance(one.outcome, DesignError):
        _case(suite, one, "design", "error", str(one.outcome), _of_error(one.outcome))
        failures, errors, tests = 0, 1, 1
    else:
        for verdict in one.outcome.budgets:
            kind = "" if verdict.passed else "failure"
            _case(suite, one, verdict.name, kind, verdict.sentence, _of_verdict(verdict))
        failures = sum(not verdict.passed for verdict in one.outcome.budgets)
        errors, tests = 0, len(one.outcome.budgets)
        if one.outcome.notes:
            ET.SubElement(suite, "system-out").text = _clean("\n".join(one.outcome.notes))
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": 0}
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("time", _seconds(one.seconds))
    return suite


def _case(
    suite: ET.Element, one: Checked, name: str, kind: str, message: str, details: str
) -> None:
    study = one.outcome.design.study if isinstance(one.outcome, Check) else "design"
    case = ET.SubElement(
        suite,
        "testcase",
        # A dot would part it into packages.
        classname=_clean(f"{study}.{one.label.replace('.', '_')}"),
        name=name,
        time=_seconds(one.seconds),
    )
    if one.file:
        case.set("file", _clean(PurePath(one.file).as_posix()))
    if kind:
        found = ET.SubElement(case, kind, message=_clean(message), type=f"tileviz.{name}")
        found.text = _clean(details)
    else:
        ET.SubElement(case, "system-out").text = _clean(message)


def _of_verdict(verdict: Verdict) -> str:
    return "\n".join([verdict.sentence, *(line.words for line in verdict.lines)])


def _of_error(error: DesignError) -> str:
    shown = "" if error.value is None else f"\ngot: {error.value}"
    return f"{error}{shown}"


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
