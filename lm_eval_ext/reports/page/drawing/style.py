"""The matplotlib settings of a report."""

from __future__ import annotations

from typing import Any

from matplotlib import rcParamsDefault

from lm_eval_ext.reports.page.drawing.frame import SMALL, TEXT, legend_style
from lm_eval_ext.reports.page.drawing.palette import LIGHT


def style() -> Any:
    """Return every setting, so that none of the user's remains, in the type that the installed version expects."""
    defaults = {name: value for name, value in rcParamsDefault.items() if not name.startswith("backend")}
    return {
        **defaults,
        "axes.axisbelow": True,
        "axes.edgecolor": LIGHT["muted"],
        "axes.facecolor": "none",
        "axes.labelcolor": LIGHT["muted"],
        "axes.labelpad": 3.0,
        "axes.labelsize": SMALL,
        "axes.spines.bottom": False,
        "axes.spines.left": False,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.family": ["DejaVu Sans"],
        "font.size": TEXT,
        "grid.color": LIGHT["grid"],
        "grid.linewidth": 1.0,
        "hatch.linewidth": 1.1,
        "lines.scale_dashes": False,
        # Names are not formulas.
        "text.parse_math": False,
        "text.color": LIGHT["ink"],
        "xtick.color": LIGHT["muted"],
        "xtick.labelsize": SMALL,
        "xtick.major.pad": 4.0,
        "xtick.major.size": 0.0,
        "ytick.color": LIGHT["muted"],
        "ytick.labelsize": SMALL,
        "ytick.major.pad": 5.0,
        "ytick.major.size": 0.0,
        **legend_style(),
    }
