"""Views of curves of one column: terminal tables and plots. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .compared import distributions_compared
from .covered import MOST_BANDED, covered, left_out
from .views import ResultView, Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..curves import CDF, ByCategory, Histogram, Quantiles

MOST_BARS = 40
SIDE_BY_SIDE = 6
QUARTILES = (0.25, 0.5, 0.75)


class QuantilesView(ResultView):
    """Quantiles with their intervals."""

    def tables(self, curve: Quantiles) -> list[Shown]:
        """Shares, values, and the ends of their intervals."""
        from ..curves.covering import ends_of
        from ..display import span, standing

        known = curve.intervals(self.sure.level)
        widths = (known[:, 1] - known[:, 0]).tolist()
        places = zip(curve.x.tolist(), curve.cells.tolist(), widths, strict=True)
        columns: dict[str, ArrayLike] = {
            "p": curve.p,
            "x": [standing(x, *cell, known_to=width) for x, cell, width in places],
            "cell": [span(*cell) for cell in curve.cells.tolist()],
        }
        words, found = covered(curve.privacy, self.sure, "intervals, all at once,", ends_of(curve.intervals))
        return [Shown(words, {**columns, **found})]


class HistogramView(ResultView):
    """Cells and their counts; with very many cells neighbouring ones are merged, and none is left out."""

    def tables(self, curve: Histogram) -> list[Shown]:
        """Cells and counts, with intervals."""
        from ..curves.covering import ends_of

        at = curve.groups(MOST_BARS)
        columns = {**_places(curve, at), "count": curve.count_between(at)}
        if len(curve.count) >= MOST_BANDED:
            return [Shown(_error_of(curve), columns, MOST_BARS)]
        ends = ends_of(curve.intervals, at=at)
        words, found = covered(curve.privacy, self.sure, "intervals, all at once,", ends)
        return [Shown(f"{_error_of(curve)}{_joined(curve, at)}\n{words}", {**columns, **found}, MOST_BARS)]


class QuartilesView(ResultView):
    """A distribution function for each category, as one table of quartiles."""

    def tables(self, curves: ByCategory[CDF]) -> list[Shown]:
        """A row for each category: how many records, and its quartiles with their intervals."""
        from ..curves.covering import scopes
        from ..display import covering, numeral

        (privacy, *_) = (curve.privacy for curve in curves.values())
        whom = scopes(privacy, population=self.sure.population)
        quartiles = zip(*(_quartiles(curve, self.sure.level, whom) for curve in curves.values()), strict=True)
        columns: dict[str, list[str]] = {
            **curves.parts(),
            "records": [numeral(round(curve.count)) for curve in curves.values()],
            **{f"{p:g} quantile": list(column) for p, column in zip(QUARTILES, quartiles, strict=True)},
        }
        each = "; ".join(covering(self.sure.level, "intervals", name) for name in whom)
        words = f"{distributions_compared(curves, self.sure)}in brackets: {each}; in each row all at once"
        return [Shown(words + left_out(privacy, self.sure), columns, len(curves))]


class HistogramsView(ResultView):
    """Histograms of categories, side by side."""

    def tables(self, curves: ByCategory[Histogram]) -> list[Shown]:
        """A row for each cell, or for merged neighbouring cells; a column for each category."""
        first, *_ = curves.values()
        at = first.groups(MOST_BARS)
        places = _places(first, at)
        counts = [(curves.named(name), curve.count_between(at)) for name, curve in curves.items()]
        parts = [counts[start : start + SIDE_BY_SIDE] for start in range(0, len(counts), SIDE_BY_SIDE)]
        return [Shown(f"{_error_of(first)}{_joined(first, at)}", {**places, **dict(part)}, MOST_BARS) for part in parts]


def _quartiles(curve: CDF, level: float, whom: Mapping[str, bool]) -> list[str]:
    """Text of each quartile, with its intervals in brackets: for the records, and for the population if asked for."""
    from ..display import span, standing

    ends = [curve.quantile_intervals(QUARTILES, level, population=asked).tolist() for asked in whom.values()]
    places = zip(QUARTILES, zip(*ends, strict=True), strict=True)
    return [
        f"{standing(float(curve.quantile(p)), *curve.quantile_cell(p).tolist(), known_to=known[0][1] - known[0][0])} "
        f"({'; '.join(span(*each) for each in known)})"
        for p, known in places
    ]


def _places(curve: Histogram, at: NDArray[Any]) -> dict[str, ArrayLike]:
    """Edges of cells or of merged cells; for declared values, each value, or the first and last value merged."""
    values = curve.grid.values
    if values is None:
        return {"left": curve.x[at[:-1]], "right": curve.x[at[1:]]}
    first, last = values[at[:-1]], values[at[1:] - 1]
    return {"value": first} if len(at) > len(values) else {"first": first, "last": last}


def _error_of(curve: Histogram) -> str:
    from ..display import RECORDS, numeral

    return f"standard error of the noise of one cell, {RECORDS}: {numeral(curve.error)} records"


def _joined(curve: Histogram, at: NDArray[Any]) -> str:
    return "" if len(at) > len(curve.count) else f"; {len(curve.count):,} cells, neighbours added up"
