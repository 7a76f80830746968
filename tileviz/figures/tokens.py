"""Every colour that carries meaning, once, for both themes and for print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ThemeName = Literal["light", "dark", "print"]

# Passes fall into six classes; a class ends at the power of two printed in its label.
PASS_LABELS = ("1 · free", "2", "3–4", "5–8", "9–16", "17–32")
_PASS_ENDS = np.array([1, 2, 4, 8, 16])
IDLE = -1

# Eight steps each: an order from first to last, and lanes or warps by their number modulo 8.
# fmt: off
_ORDER = (
    "#46217A", "#414487", "#355F8D", "#237B8A", "#1FA187", "#56C667", "#A5DB36", "#F0E51D",
)
_OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
_GREYS = (
    "#F4F4F4", "#DADADA", "#BEBEBE", "#A2A2A2", "#868686", "#5E5E5E", "#424242", "#1E1E1E",
)
# fmt: on

# Above this relative luminance dark ink reads better; both inks keep at least 4.6:1.
_INK_LIMIT = 0.19


@dataclass(frozen=True)
class Theme:
    """The colours a figure needs.

    Attributes:
        name: ``light``, ``dark`` or ``print``.
        page: Page ground; halos around thick lines take it too.
        text: Body text.
        muted: Units, axis labels, text of idle cells.
        border: Hairlines.
        strong: Thick borders.
        hot: Only the thing under discussion.
        idle: Ground of cells that take no part.
        passes: Six classes, from free to worst.
        dark_ink: Text on light cells.
        light_ink: Text on dark cells.
        bar: Bars that carry no class.
        order: Eight steps, from first to last; the same in both themes.
        lanes: Eight classes for lanes, warps and other numbers modulo 8.
    """

    name: ThemeName
    page: str
    text: str
    muted: str
    border: str
    strong: str
    hot: str
    idle: str
    passes: tuple[str, str, str, str, str, str]
    dark_ink: str = "#10151C"
    light_ink: str = "#FFFFFF"
    bar: str = "#7D90A8"
    order: tuple[str, ...] = _ORDER
    lanes: tuple[str, ...] = (*_OKABE_ITO, "#000000")

    @property
    def inks(self) -> tuple[str, ...]:
        """The text colour of each class of passes."""
        return tuple(self.ink(colour) for colour in self.passes)

    def ink(self, colour: str) -> str:
        """Return the text colour that reads on a ground.

        Example:
            >>> LIGHT.ink("#F0E442"), LIGHT.ink("#0072B2")
            ('#10151C', '#FFFFFF')
        """
        return self.dark_ink if luminance(colour) > _INK_LIMIT else self.light_ink


LIGHT = Theme(
    "light",
    page="#FFFFFF",
    text="#1B2430",
    muted="#566273",
    border="#D3DAE3",
    strong="#1B2430",
    hot="#D55E00",
    idle="#F8FAFC",
    passes=("#DAE1EA", "#C9E05A", "#5CC06B", "#23908C", "#35608D", "#47256F"),
)
DARK = Theme(
    "dark",
    page="#12161C",
    text="#E6EAF0",
    muted="#A3AFBE",
    border="#343E4B",
    strong="#F2F5F9",
    hot="#FF7F2A",
    idle="#191F27",
    passes=("#2C3542", "#3F5C93", "#2A7F94", "#2FA884", "#84D14F", "#FDE725"),
    bar="#6C7C91",
    # Black would vanish on this page; its place is taken by the colour of thick borders.
    lanes=(*_OKABE_ITO, "#F2F5F9"),
)
PRINT = Theme(
    "print",
    page="#FFFFFF",
    text="#000000",
    muted="#4F4F4F",
    border="#A8A8A8",
    strong="#000000",
    hot="#000000",
    idle="#FFFFFF",
    passes=("#F4F4F4", "#D2D2D2", "#A8A8A8", "#7C7C7C", "#4F4F4F", "#1E1E1E"),
    dark_ink="#000000",
    bar="#A8A8A8",
    order=_GREYS,
    lanes=_GREYS,
)
THEMES: dict[str, Theme] = {theme.name: theme for theme in (LIGHT, DARK, PRINT)}


@dataclass(frozen=True)
class StateColours:
    """Text and ground of one state, as (light, dark)."""

    text: tuple[str, str]
    ground: tuple[str, str]


STATES: dict[str, StateColours] = {
    "ok": StateColours(("#00664A", "#5AD1A8"), ("#E6F4EE", "#10312A")),
    "attention": StateColours(("#7A4E00", "#F2BE5C"), ("#FCF1D9", "#38290C")),
    "reject": StateColours(("#5A4799", "#BDB0F5"), ("#EFECF8", "#2A2548")),
    "error": StateColours(("#A8201A", "#FF9389"), ("#FCEBE9", "#43191A")),
    "neutral": StateColours(("#566273", "#A3AFBE"), ("#F4F6F9", "#1B212A")),
}


def pass_classes(passes: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the class (0 free .. 5 worst) of each number of passes, ``IDLE`` for 0.

    Example:
        >>> pass_classes(np.array([0, 1, 2, 3, 4, 5, 16, 17, 32])).tolist()
        [-1, 0, 1, 2, 2, 3, 4, 5, 5]
    """
    classes = np.searchsorted(_PASS_ENDS, passes).astype(np.int8)
    return np.where(passes > 0, classes, np.int8(IDLE))


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#RRGGBB``, 0 to 1, as WCAG defines it.

    Example:
        >>> luminance("#FFFFFF"), luminance("#000000")
        (1.0, 0.0)
    """
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21.

    Example:
        >>> round(contrast("#FFFFFF", "#000000"))
        21
    """
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def css_variables() -> str:
    """Return the tokens as CSS custom properties that follow the browser's colour scheme.

    Example:
        >>> "--muted: light-dark(#566273, #A3AFBE);" in css_variables()
        True
    """
    pairs = {
        name: (getattr(LIGHT, name), getattr(DARK, name))
        for name in ("page", "text", "muted", "border", "strong", "hot", "idle")
    }
    for name in ("passes", "order", "lanes"):
        both = zip(getattr(LIGHT, name), getattr(DARK, name), strict=True)
        short = {"passes": "pass", "lanes": "lane"}.get(name, name)
        pairs |= {f"{short}-{index}": colours for index, colours in enumerate(both)}
    for name, state in STATES.items():
        pairs[name] = state.text
        pairs[f"{name}-ground"] = state.ground
    lines = [f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in pairs.items()]
    return ":root {\n  " + "\n  ".join(lines) + "\n}\n"
