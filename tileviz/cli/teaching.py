"""The command for lessons: list, read, answer, and check those of a teacher."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tileviz.cli.shell import FAILED, OK, JsonOption, app, finish, print_json
from tileviz.errors import DesignError

if TYPE_CHECKING:
    from tileviz.lessons import Lesson, Marked, Question, Shelf
    from tileviz.lessons.model import Part

_WIDTH = 96


@app.command()
def lessons(
    name: Annotated[str, typer.Argument(help="A lesson's name; none lists them all.")] = "",
    answer: Annotated[
        list[str] | None, typer.Option("--answer", help="Answer a question: 1=32. May be repeated.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Plan every design, answer every question; exit 1 where one fails.",
        ),
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Lessons of your own instead.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the lessons, read one, answer its questions, or check every file of a folder."""
    from tileviz.lessons import shelf, shelf_of

    def work() -> int:
        if folder is not None and not folder.is_dir():
            raise DesignError("folder", "there is no such folder of lessons", str(folder)[:120])
        found = shelf() if folder is None else shelf_of([folder])
        if check:
            return _check(found, name, as_json)
        if not name:
            return _list(found, as_json)
        of = found.lesson(name)
        return _answer(of, answer, as_json) if answer else _read(of, as_json)

    finish(work, as_json)


def _list(found: Shelf, as_json: bool) -> int:
    if as_json:
        shown = [
            {
                "name": lesson.name,
                "title": lesson.title,
                "summary": lesson.summary,
                "questions": len(lesson.questions),
            }
            for lesson in found.lessons
        ]
        print_json({"lessons": shown, "faults": list(map(str, found.faults))})
        return OK
    wide = max((len(lesson.name) for lesson in found.lessons), default=0)
    for lesson in found.lessons:
        typer.echo(f"{lesson.name:<{wide}}  {len(lesson.questions)} questions  {lesson.title}")
    for fault in found.faults:
        typer.echo(f"error: {fault}", err=True)
    return OK


def _check(found: Shelf, name: str, as_json: bool) -> int:
    from tileviz.lessons import faults_of

    chosen = [found.lesson(name)] if name else found.lessons
    faults = [] if name else list(found.faults)
    for lesson in chosen:
        faults += faults_of(lesson)
    asked = sum(len(lesson.questions) for lesson in chosen)
    if as_json:
        passed = {"passed": not faults, "lessons": len(chosen), "questions": asked}
        print_json({**passed, "faults": list(map(str, faults))})
    else:
        for fault in faults:
            typer.echo(str(fault))
        if not faults:
            typer.echo(f"{len(chosen)} lessons hold; {asked} questions answered right and wrong.")
    return FAILED if faults else OK


def _read(lesson: Lesson, as_json: bool) -> int:
    parts = [_said(lesson, part) for part in lesson.parts]
    text = "\n\n".join(filter(None, [f"# {lesson.title}", lesson.summary, *parts]))
    if as_json:
        print_json({"name": lesson.name, "title": lesson.title, "text": text})
    else:
        typer.echo(text)
        typer.echo(f"\nAnswer with: tileviz lessons {lesson.name} --answer 1=...")
    return OK


def _said(lesson: Lesson, part: Part) -> str:
    """Return a part as text: what the page draws is named by its caption and a link."""
    from tileviz.export.links import page_url
    from tileviz.lessons import Edit, Figure, Prose, Question
    from tileviz.lessons.expressions import filled

    try:
        if isinstance(part, Prose):
            return filled(part.text, lesson.names)
        if isinstance(part, Question):
            return _asked(lesson, part)
        if isinstance(part, Edit):
            design = lesson.designs[part.edit.design]
            return f"[try] {filled(part.edit.say, lesson.names)}\n      {page_url(design)}"
    except DesignError as error:
        raise lesson.at(part.line, error) from None
    names = [ref.name for ref in part.shown] if isinstance(part, Figure) else [part.name]
    links = [f"\n      {page_url(lesson.designs[name])}" for name in dict.fromkeys(names)]
    return f"[picture] {part.caption}{''.join(links)}"


def _asked(lesson: Lesson, question: Question) -> str:
    from tileviz.lessons.expressions import filled, shown

    ask = question.ask
    lines = [f"{question.number}. {filled(ask.ask, lesson.names)}"]
    choices: Sequence[object] = tuple(getattr(ask, "choices", None) or ())
    lines += [
        f"   ( ) {choice if isinstance(choice, str) else shown(choice)}" for choice in choices
    ]
    if ask.kind == "design":
        lines += [f"   to fill in: {ask.template.strip()}"] if ask.template != "{}" else []
        lines += [f"   goal: {goal}" for goal in ask.goals]
    return "\n".join(lines)


def _answer(lesson: Lesson, given: Sequence[str], as_json: bool) -> int:
    from tileviz.lessons import mark

    marks = []
    for text in given:
        number, found, answer = text.partition("=")
        asked = {str(question.number): question for question in lesson.questions}
        if not found or number.strip() not in asked:
            allowed = f"NUMBER=ANSWER is expected, with a number from 1 to {len(asked)}"
            raise DesignError("answer", allowed, text[:60])
        try:
            marks.append((number.strip(), mark(lesson, asked[number.strip()], answer)))
        except DesignError as error:
            raise error.within(f"answer.{number.strip()}") from None
    if as_json:
        print_json({"answers": [_mark_json(number, marked) for number, marked in marks]})
    else:
        for number, marked in marks:
            _print_mark(number, marked)
    return OK if all(marked.right for _, marked in marks) else FAILED


def _mark_json(number: str, marked: Marked) -> dict[str, Any]:
    return {
        "question": int(number),
        "right": marked.right,
        "sentence": marked.statement.sentence,
        "said": marked.said,
        "reasons": dict(marked.reasons),
    }


def _print_mark(number: str, marked: Marked) -> None:
    typer.echo(f"{number}. {marked.statement.glyph} {marked.statement.sentence}")
    for row in () if marked.table is None else marked.table.rows:
        typer.echo(f"      {': '.join(row)}")
    reasons = [f"{name}: {words}" for name, words in marked.reasons]
    for paragraph in (*marked.said.split("\n\n"), *reasons):
        if paragraph:
            typer.echo(
                textwrap.fill(paragraph, _WIDTH, initial_indent="   ", subsequent_indent="   ")
            )
