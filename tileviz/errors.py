"""The one error a person's input can cause."""

from __future__ import annotations

from tileviz.words import visible


class DesignError(ValueError):
    """Input that is not a design: names the field, the value and what is allowed.

    A refusal by a reference system is a *result*, never a ``DesignError``.

    Args:
        field: The field at fault, dotted where nested (``"src.layout"``).
        message: One line: what is wrong and what is allowed.
        value: The value as the person gave it, or None.
        position: For text, the 0-based index of the character at fault.

    Example:
        >>> error = DesignError("src.layout", 'expected ")"', "S[(4, 32]", position=8)
        >>> print(error)
        src.layout: expected ")"
        >>> print(error.caret())
        S[(4, 32]
                ^
    """

    def __init__(
        self, field: str, message: str, value: object = None, *, position: int | None = None
    ) -> None:
        # Both may repeat what came from outside, and both are one line.
        self.field = visible(field)
        self.message = visible(message)
        super().__init__(f"{self.field}: {self.message}" if field else self.message)
        self.value = value
        self.position = position

    def within(self, field: str) -> DesignError:
        """Return the same error, seen from the enclosing ``field``."""
        inner = f"{field}.{self.field}" if self.field else field
        return DesignError(inner, self.message, self.value, position=self.position)

    def caret(self) -> str:
        """Return the text with a caret under the fault, or "" where there is no text."""
        if self.position is None or not isinstance(self.value, str):
            return ""
        return f"{visible(self.value)}\n{' ' * self.position}^"

    def to_json(self) -> dict[str, object]:
        """Return the ``error`` object of the command line."""
        document: dict[str, object] = {
            "field": self.field,
            "message": self.message,
            "value": self.value,
        }
        if self.position is not None:
            document["position"] = self.position
        return {"error": document}
