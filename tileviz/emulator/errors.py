"""What stops the emulator before a kernel runs: text or a launch it cannot execute."""

from __future__ import annotations


class EmulatorError(Exception):
    """PTX or a launch that the emulator cannot execute; nothing has run.

    A fault *during* a run (an access out of bounds, a deadlock) is a result and never an
    ``EmulatorError``: see `tileviz.emulator.problems.Problem`.

    Args:
        message: One line for people.
        line: 1-based source line at fault, or None where there is none.

    Example:
        >>> str(EmulatorError("unsupported PTX instruction wgmma.fence", 12))
        'unsupported PTX instruction wgmma.fence, line 12'
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"{message}, line {line}")
        self.message = message
        self.line = line


class ParseError(EmulatorError):
    """PTX text that is malformed."""


class TooLargeError(ParseError):
    """PTX with more instructions than the limit; `emulate` returns it as a problem."""


class UnsupportedError(EmulatorError):
    """PTX that is well formed but uses what the emulator does not implement."""


class LaunchError(EmulatorError):
    """A launch that no GPU would accept: wrong arguments, or a block that is too large."""
