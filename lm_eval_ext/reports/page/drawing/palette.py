"""The colors of a report in light and dark mode.

Series have Okabe and Ito's colors (2008), which color-blind readers can distinguish, darkened where they would be too
faint on white; each also has its own hatch, marker or position. Everything is drawn in the light colors, and the page's
drawings refer to a color by its role, so that the page can switch to dark mode. No two colors of surfaces and lines are
the same, which tells their role. The ink on a cell of a heat map is one of two, so its role is said with the text.
"""

from __future__ import annotations

from collections.abc import Mapping

_PAGE = {
    "ground": ("#f5f6f8", "#0d1117"),
    "paper": ("#ffffff", "#161b22"),
    "ink": ("#1b2026", "#e6eaef"),
    "muted": ("#58616c", "#a3adb9"),
    "grid": ("#e4e7eb", "#2b323b"),
    "rule": ("#d3d8de", "#363e48"),
    "link": ("#0a5c99", "#6cb6f5"),
    "notice": ("#fdf6e3", "#272214"),
    "missing": ("#eceef1", "#20262e"),
}
_SERIES = {
    "series0": ("#0072b2", "#4ba9e3"),
    "series1": ("#d55e00", "#ff8c42"),
    "series2": ("#009e73", "#35cb9d"),
    "series3": ("#b85c93", "#e59ac4"),
    "series4": ("#3d9bd3", "#93d3f8"),
    "series5": ("#a87900", "#e3b74d"),
    "series6": ("#6b7480", "#a0aab5"),
}
# From low to high: away from the background color, in one hue.
_GOOD = (
    ("#f0f5fb", "#182330"),
    ("#dbe8f5", "#1b3045"),
    ("#c1daee", "#1d3f5d"),
    ("#a1c9e5", "#205076"),
    ("#7bb3da", "#266391"),
    ("#5099cb", "#5497cb"),
    ("#2a6ca5", "#7cb4de"),
    ("#1a5288", "#a6ceeb"),
    ("#0e3965", "#d2e7f6"),
)
_BAD = (
    ("#fdf4ea", "#2a2018"),
    ("#fbe6d0", "#40291a"),
    ("#f8d2ac", "#57351a"),
    ("#f3b981", "#70421a"),
    ("#ea9c54", "#8a511b"),
    ("#d97b26", "#d98a3d"),
    ("#b45f10", "#e8a866"),
    ("#8a460a", "#f2c696"),
    ("#5f2f06", "#fae3cb"),
)
_PLAIN = (
    ("#f3f3f4", "#1f242b"),
    ("#e6e7e9", "#2a3037"),
    ("#d4d6d9", "#363d45"),
    ("#bcbfc4", "#444c55"),
    ("#9fa3aa", "#555e68"),
    ("#7f858d", "#8b949e"),
    ("#5c636c", "#a7afb8"),
    ("#434951", "#c4cad1"),
    ("#2b3036", "#e2e6ea"),
)
# Better, unchanged, worse.
_CHANGE = (
    ("#0e4a7f", "#b5dcf7"),
    ("#5598cd", "#62a6d9"),
    ("#8dbde0", "#245d89"),
    ("#cbe0f1", "#1d3b55"),
    ("#f3f2ef", "#242a31"),
    ("#fbdfc5", "#4f331c"),
    ("#f5b67e", "#814913"),
    ("#e28533", "#e18633"),
    ("#a54900", "#ffcf9f"),
)
SHADES = 9
"""The number of colors in a heat map."""
SERIES = len(_SERIES)
"""The number of series colors before they repeat."""
INK = "-ink"
"""What follows the role of a cell's color in that of its ink."""
DARK_INK, LIGHT_INK = "#0b0f14", "#ffffff"


def luminance(color: str) -> float:
    """Return a color's relative luminance (WCAG 2.1)."""
    channels = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, 1 to 21 (WCAG 2.1)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _ink_on(color: str) -> str:
    """Return black or white, whichever is easier to read."""
    return max(DARK_INK, LIGHT_INK, key=lambda ink: contrast(ink, color))


def _with_inks(name: str, colors: tuple[tuple[str, str], ...]) -> dict[str, tuple[str, str]]:
    roles = {}
    for level, (light, dark) in enumerate(colors):
        roles[f"{name}{level}"] = (light, dark)
        roles[f"{name}{level}{INK}"] = (_ink_on(light), _ink_on(dark))
    return roles


ROLES: Mapping[str, tuple[str, str]] = {
    **_PAGE,
    **_SERIES,
    **_with_inks("good", _GOOD),
    **_with_inks("bad", _BAD),
    **_with_inks("plain", _PLAIN),
    **_with_inks("change", _CHANGE),
}
"""The light and the dark color of each role."""
LIGHT: Mapping[str, str] = {role: light for role, (light, _) in ROLES.items()}
"""The color that each role is drawn with."""
ROLE_OF: Mapping[str, str] = {light: role for role, light in LIGHT.items() if not role.endswith(INK)}
"""The role of each color that is drawn with, except for the inks of cells."""


def declarations(*, dark: bool) -> str:
    """Return the CSS custom properties that the page's drawings refer to."""
    return "".join(f"--{role}:{pair[dark]};" for role, pair in ROLES.items())
