"""A question as a form; after an answer its verdict, and how the engine comes to its number."""

from __future__ import annotations

import streamlit as st

from tileviz.errors import DesignError
from tileviz.lessons import Lesson, Marked, Question, mark
from tileviz.lessons.expressions import filled
from tileviz.lessons.expressions import shown as number_text
from tileviz.lessons.model import ChoiceAsk, ClaimAsk, NumberAsk, TypedAsk
from tileviz.ui import explain, html, inputs
from tileviz.ui.lessons import parts, tables
from tileviz.ui.lessons.progress import Attempt, Progress
from tileviz.ui.overview import text_table

# Short choices stand beside each other.
_SHORT = 44


def question(lesson: Lesson, part: Question, key: str, before: Progress) -> Progress:
    """Draw a question, and its verdict once it was answered.

    Args:
        lesson: The lesson.
        part: The question.
        key: Prefix of the controls' keys, unique on the page.
        before: The session's progress.

    Returns:
        The progress after this run's answer.
    """
    solved = (lesson.name, part.number) in before.solved
    st.html(tables.question_title(part.number, solved=solved))
    st.markdown(filled(part.ask.ask, lesson.names))
    attempt = before.attempt(lesson, part.number)
    with st.form(key, border=False):
        given = _field(part, f"{key}.given")
        sent = inputs.submit_button("Check", icon=":material/check:", key=f"{key}.check")
    if sent:
        try:
            with st.spinner("The engine works it out"):
                marked = mark(lesson, part, given)
        except DesignError as error:
            # No answer yet: nothing is counted, nothing given away.
            st.html(html.error_box([html.Fault("Your answer", error)]))
            return before
        _verdict(marked, key)
        return before.answered(lesson, part.number, Attempt(given, marked.right))
    again = None if attempt is None else _marked_again(lesson, part, attempt.given)
    if again is not None:
        _verdict(again, key)
    return before


def _marked_again(lesson: Lesson, part: Question, given: str) -> Marked | None:
    """Mark an answer from before; None where the file has changed so that it is none any more."""
    try:
        return mark(lesson, part, given)
    except DesignError:
        return None


def _field(part: Question, key: str) -> str:
    """Draw where the answer goes; return it as text, "" for none."""
    ask = part.ask
    if isinstance(ask, TypedAsk):
        return parts.typed_field(ask.label or ask.field, ask.template, ask.start, key, in_form=True)
    labels: tuple[str, ...] = ()
    if isinstance(ask, (ChoiceAsk, ClaimAsk)):
        labels = tuple(ask.choices)
    elif ask.choices is not None:
        labels = tuple(map(number_text, ask.choices))
    name = f"Answer to question {part.number}"
    if labels:
        chosen = inputs.radio(
            name,
            labels,
            key=key,
            in_form=True,
            format_func=html.literal,
            horizontal=sum(map(len, labels)) <= _SHORT,
            label_visibility="collapsed",
        )
        return chosen or ""
    unit = ask.unit if isinstance(ask, NumberAsk) else ""
    label = html.literal(f"{name}, in {unit}" if unit else name)
    return inputs.text_input(label, key=key, max_chars=40, in_form=True)


def _verdict(marked: Marked, key: str) -> None:
    """Draw the verdict, what the lesson and the engine say, and the pictures."""
    said = marked.statement
    st.html(html.verdict(said.state, said.sentence))
    if marked.said:
        st.markdown(marked.said)
    if marked.table is not None:
        st.html(text_table(marked.table))
    if marked.reasons:
        st.html(_reasons(marked))
    for name, number in marked.derivations:
        whose = f"{parts.title_of(name)}: " if len(marked.derivations) > 1 else ""
        with st.expander(html.literal(f"{whose}{number.title}, step by step")):
            st.html(explain.summary(number))
            st.html(explain.steps(number))
    parts.shown(marked.designs, marked.shown, f"{key}.shown")
    names = tuple(dict.fromkeys(ref.name for ref in marked.shown))
    for name in names:
        title = parts.title_of(name) if len(names) > 1 else ""
        parts.full_page(marked.designs[name], f"{key}.{name}", title)


def _reasons(marked: Marked) -> str:
    several = len(marked.reasons) > 1
    lines = [
        (f"<strong>{html.text(parts.title_of(name))}.</strong> " if several else "")
        + html.text(words)
        for name, words in marked.reasons
    ]
    return "".join(f'<p class="tv-body tv-reason">{line}</p>' for line in lines)
