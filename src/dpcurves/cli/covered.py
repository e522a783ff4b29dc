"""Bands and intervals on the terminal and on pictures, for these records and for the population."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .output import Covering

MOST_BANDED = 2**16 + 1  # simulations of more take long
FINEST_SPAN = 1e-4

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..curves import ROC
    from ..curves.covering import Ends
    from ..release import PrivacyStatement


def covered(privacy: PrivacyStatement, sure: Covering, what: str, ends: Ends) -> tuple[str, dict[str, ArrayLike]]:
    """What is said above a table, and the columns of lower and upper ends: for these records, and for the population.

    Args:
        privacy: What the curve says of it: where a unit may have several records nothing is said of the population.
        sure: The level, and whether the population is spoken of.
        what: The kind, as ``band``.
        ends: Lower and upper ends.
    """
    from ..curves.covering import scopes

    whom = scopes(privacy, population=sure.population)
    columns = {
        f"{name.split()[-1]}: {side}": end
        for name, asked in whom.items()
        for side, end in zip(("lower", "upper"), ends(sure.level, population=asked), strict=True)
    }
    return _said(privacy, sure, what), columns


def banded(curve: ROC, sure: Covering) -> tuple[str, dict[str, ArrayLike]]:
    """Show the bands of a ROC curve, which bound both rates of a threshold: two columns for each rate."""
    from ..curves.covering import scopes
    from ..display import span

    bands = {
        name.split()[-1]: curve.band(sure.level, population=asked)
        for name, asked in scopes(curve.privacy, population=sure.population).items()
    }
    columns: dict[str, ArrayLike] = {}
    for name, (fpr_lower, fpr_upper, tpr_lower, tpr_upper) in bands.items():
        for rate, lower, upper in (("fpr", fpr_lower, fpr_upper), ("tpr", tpr_lower, tpr_upper)):
            ends = zip(lower.tolist(), upper.tolist(), strict=True)
            columns[f"{name}: {rate}"] = [span(low, high, max(high - low, FINEST_SPAN)) for low, high in ends]
    return _said(curve.privacy, sure, "band, all at once,"), columns


def drawn(curve: Any, sure: Covering, size: tuple[float, float] | None = None) -> Axes:
    """A picture that no window shows; of the size that the curve has on cards, unless one is given."""
    from ..display import LANDSCAPE, headless_axes

    own: tuple[float, float] = getattr(curve, "SIZE", LANDSCAPE)
    axes: Axes = curve.plot(ax=headless_axes(size or own), level=sure.level, population=sure.population)
    return axes


def _said(privacy: PrivacyStatement, sure: Covering, what: str) -> str:
    """What the columns are of which set of people."""
    from ..curves.covering import SEVERAL, scopes
    from ..display import covering

    whom = scopes(privacy, population=sure.population)
    words = "; ".join(f"{name.split()[-1]}: {covering(sure.level, what, name)}" for name in whom)
    return f"{words}\n{SEVERAL}" if sure.population and privacy.rows_per_unit != 1 else words
