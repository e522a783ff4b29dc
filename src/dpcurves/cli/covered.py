"""Bands and intervals on the terminal and on pictures, for these records and for the population."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .output import Covering

MOST_BANDED = 2**16 + 1  # simulations of more take long

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..curves import ROC
    from ..curves.covering import Ends
    from ..release import PrivacyStatement


def covered(privacy: PrivacyStatement, sure: Covering, what: str, ends: Ends) -> tuple[str, dict[str, ArrayLike]]:
    """Caption of a table, and its columns of intervals: for these records, and for the population.

    Args:
        privacy: Privacy statement of the curve; where a unit may have several records, there are no intervals for the
            population.
        sure: The level, and whether intervals for the population are shown.
        what: The kind, as ``band``.
        ends: Lower and upper ends.
    """
    import numpy as np

    from ..curves.covering import scopes

    whom = scopes(privacy, population=sure.population)
    columns: dict[str, ArrayLike] = {
        name.split()[-1]: np.stack(tuple(ends(sure.level, population=asked)), axis=-1) for name, asked in whom.items()
    }
    return said_of(privacy, sure, what), columns


def banded(curve: ROC, sure: Covering) -> list[tuple[str, dict[str, ArrayLike]]]:
    """Bands of a ROC curve, which bound both rates of a threshold: for each its caption and two columns."""
    import numpy as np

    from ..curves.covering import scopes
    from ..display import covering

    found: list[tuple[str, dict[str, ArrayLike]]] = []
    for name, asked in scopes(curve.privacy, population=sure.population).items():
        fpr_lower, fpr_upper, tpr_lower, tpr_upper = curve.band(sure.level, population=asked)
        ends = {"fpr": (fpr_lower, fpr_upper), "tpr": (tpr_lower, tpr_upper)}
        columns: dict[str, ArrayLike] = {
            f"{rate}, {name.split()[-1]}": np.stack(each, axis=-1) for rate, each in ends.items()
        }
        found.append((covering(sure.level, "band, all at once,", name), columns))
    return found


def drawn(curve: Any, sure: Covering, size: tuple[float, float] | None = None) -> Axes:
    """Plot of a curve without a window; its size is that in the curve's HTML summary, unless one is given."""
    from ..display import LANDSCAPE, headless_axes

    own: tuple[float, float] = getattr(curve, "SIZE", LANDSCAPE)
    axes: Axes = curve.plot(ax=headless_axes(size or own), level=sure.level, population=sure.population)
    return axes


def said_of(privacy: PrivacyStatement, sure: Covering, what: str) -> str:
    """Description of the columns of intervals: kind, level, and the records or the population that each covers."""
    from ..curves.covering import scopes
    from ..display import covering

    whom = scopes(privacy, population=sure.population)
    return "; ".join(f"{name.split()[-1]}: {covering(sure.level, what, name)}" for name in whom) + left_out(
        privacy, sure
    )


def left_out(privacy: PrivacyStatement, sure: Covering) -> str:
    """Note that intervals for the population were asked for but are left out, as a unit may have several records."""
    from ..curves.covering import SEVERAL

    return f"\n{SEVERAL}" if sure.population and privacy.rows_per_unit != 1 else ""
