"""The colors of a report in light and dark mode.

Series have Okabe and Ito's colors (2008), which color-blind readers can distinguish, darkened where they would be too
faint on white; each also has its own hatch, marker or position. Everything is drawn in the light colors, and the page's
drawings refer to a color by its role, so that the page can switch to dark mode. No two colors of surfaces and lines are
the same, which tells their role. The ink on a cell of a heat map is one of two, so its role is said with the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

SHADES = 9
"""The number of colors in a heat map."""
INK = "-ink"
"""What follows the role of a cell's color in that of its ink."""
DARK_INK, LIGHT_INK = "#0b0f14", "#ffffff"


def luminance(color: str) -> float:
    """Return a color's relative luminance (WCAG 2.1)."""
    channels = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(color: str, other_color: str) -> float:
    """Return the contrast of two colors, 1 to 21 (WCAG 2.1)."""
    darker, lighter = sorted((luminance(color), luminance(other_color)))
    return (lighter + 0.05) / (darker + 0.05)


def _ink_on(color: str) -> str:
    """Return black or white, whichever is easier to read."""
    return max(DARK_INK, LIGHT_INK, key=lambda ink: contrast(ink, color))


def _roles() -> Mapping[str, tuple[str, str]]:
    """Return the light and the dark color of each role, those of heat maps each with that of its ink.

    In a file with a line for each role: of ``good``, ``bad`` and ``plain``, from low to high, which is away from the
    background color, in one hue; of ``change``, from better through unchanged to worse.
    """
    roles = {}
    lines = (files(__package__) / "palette.txt").read_text(encoding="utf-8").splitlines()
    for role, light, dark in map(str.split, filter(None, lines)):
        roles[role] = (light, dark)
        if role.startswith(("good", "bad", "plain", "change")):
            roles[f"{role}{INK}"] = (_ink_on(light), _ink_on(dark))
    return roles


ROLES = _roles()
"""The light and the dark color of each role."""
LIGHT: Mapping[str, str] = {role: light for role, (light, _) in ROLES.items()}
"""The color that each role is drawn with."""
SERIES = sum(role.startswith("series") for role in ROLES)
"""The number of series colors before they repeat."""
ROLE_OF: Mapping[str, str] = {light: role for role, light in LIGHT.items() if not role.endswith(INK)}
"""The role of each color that is drawn with, except for the inks of cells."""


def declarations(*, dark: bool) -> str:
    """Return the CSS custom properties that the page's drawings refer to."""
    return "".join(f"--{role}:{pair[dark]};" for role, pair in ROLES.items())
