"""The controls of a page as one form: filled from it, collected into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from tileviz.studies.registry import Preset
from tileviz.ui import inputs
from tileviz.ui.state import Form, StateRules

F = TypeVar("F", bound=Form)

# The preset's choice while the form shows none of them.
CUSTOM = "custom"


def choose_preset(
    presets: Sequence[Preset],
    key: str,
    on_change: Callable[[], None],
    own: str = "Your own design",
    label: str = "Preset",
) -> None:
    """Draw the choice of a preset.

    Args:
        presets: The page's.
        key: The control's session key; ``CUSTOM`` while the form shows none of them.
        on_change: Puts the chosen one into the controls.
        own: What a design is called that is none of them.
        label: The control's name.
    """
    titles = {preset.name: preset.title for preset in presets}
    inputs.selectbox(
        label,
        list(titles),
        key=key,
        sometimes=[CUSTOM] if st.session_state[key] == CUSTOM else [],
        format_func=lambda name: titles.get(name, own),
        on_change=on_change,
    )


@dataclass(frozen=True)
class Controls(Generic[F]):
    """A page's text controls, a session key each.

    Attributes:
        page: Prefix of the keys.
        rules: How the page's state changes; tells which preset a form shows.
        make: The form's class.
        fields: Names of its fields, each with a control of its own.
    """

    page: str
    rules: StateRules[F, Any]
    make: type[F]
    fields: Sequence[str]

    def key(self, field: str) -> str:
        """Return the session key of a field's control."""
        return f"{self.page}.{field}"

    def fill(self, form: F, *, force: bool) -> None:
        """Put a form into the controls; without ``force`` only where one has no value yet."""
        for field in self.fields:
            if force or self.key(field) not in st.session_state:
                st.session_state[self.key(field)] = getattr(form, field)
        preset = self.rules.matching_preset(self.collect(form))
        st.session_state[self.key("preset")] = preset.name if preset else CUSTOM

    def collect(self, form: F) -> F:
        """Return what the controls hold; a field without a value there keeps the form's."""
        values = {field: st.session_state.get(self.key(field)) for field in self.fields}
        kept = {
            field: getattr(form, field) if value is None else value
            for field, value in values.items()
        }
        return self.make(**kept)

    def load_preset(self) -> None:
        """Put the chosen preset into the controls."""
        name = st.session_state[self.key("preset")]
        for preset in self.rules.presets():
            if preset.name == name:
                self.fill(self.rules.preset_form(preset), force=True)
