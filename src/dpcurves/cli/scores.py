"""Questions about models: their options, and views of what is answered. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..fields import of_field
from .options import (
    AUTO,
    Asked,
    Split,
    categories,
    category,
    chosen,
    numbers,
    one_number,
    option,
    perhaps,
    scores_of,
    several,
    unit,
)
from .output import Covering, PlainView, ResultView, Shown, drawn
from .terminal import Misuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import ResidualPlot, Scores, ScoresByCategory
    from ..data import Categories, Grid
    from ..models import Ranged

NUMBERS = "numbers"
OF_PROBABILITIES = ("calibration", "decision-curve")
READ: Mapping[str, Callable[[Scores, float], Any]] = MappingProxyType(
    {
        NUMBERS: lambda scores, threshold: scores,
        "roc": lambda scores, threshold: scores.roc(),
        "precision-recall": lambda scores, threshold: scores.precision_recall(),
        "gain": lambda scores, threshold: scores.cumulative_gain(),
        "calibration": lambda scores, threshold: scores.calibration(),
        "decision-curve": lambda scores, threshold: scores.decision_curve(),
        "confusion": lambda scores, threshold: scores.confusion(threshold),
    }
)
"""Readings of released scores that ``--show`` offers."""
GAPS = "gaps"
"""The one that is read of all groups together."""
AT_ONCE = {
    "roc": "roc", "gain": "cumulative_gain", "calibration": "calibration", "decision-curve": "decision_curve",
}  # fmt: skip
"""Curves whose bands may hold for all groups at once."""


@dataclass(frozen=True)
class Showing:
    """Options for the reading that is shown and drawn; every reading comes from the same release."""

    split: Split
    show: str = option(
        "|".join((*READ, GAPS)), "The curve that is shown and drawn; all others are paid for with it.", NUMBERS
    )
    threshold: str = option("S", "For the confusion matrix: scores at or above it are called positive.", "0.5")
    bands: str = option("each|all", "With --by: bands of a curve hold for each category, or for all at once.", "each")

    def view(self, sure: Covering, grid: Grid | None) -> ScoresView:
        """View of scores on this grid, if known. Refused where a reading needs probabilities and it has others."""
        if self.show == GAPS and self.split.by is None:
            raise Misuse("show", "gaps are between groups: say which, by --by and --categories")
        reading = chosen("show", self.show, {**READ, GAPS: READ["confusion"]})
        if self.show in OF_PROBABILITIES and (grid is None or grid.lower < 0 or grid.upper > 1):
            raise Misuse("show", f"{self.show} is of probabilities, in [0, 1]; the grid has other scores")
        at, at_once = one_number("threshold", self.threshold), chosen("bands", self.bands, {"each": False, "all": True})
        if at_once and (self.split.by is None or self.show not in AT_ONCE):
            raise Misuse("bands", f"all are of --by and of --show {', '.join(AT_ONCE)}")
        return ScoresView(sure, show=self.show, read=lambda scores: reading(scores, at), threshold=at, at_once=at_once)


@dataclass(frozen=True, kw_only=True)
class ScoresView(ResultView):
    """View of the numbers read from scores, and of one more reading."""

    show: str
    read: Callable[[Scores], Any]
    threshold: float = 0.5
    at_once: bool = False

    def tables(self, curve: Scores) -> list[Shown]:
        from ..curves.result import EACH
        from ..display import RECORDS, columns_of

        columns = {
            "reading": [each.key for each in curve.readings], "value": [curve.value(each) for each in curve.readings]
        }  # fmt: skip
        first = self.shown(curve, columns, what=EACH)
        if self.show == NUMBERS:
            return [first]
        frame = self.read(curve).to_frame(level=self.sure.level)
        head = f"{self.show.replace('-', ' ')}, with ends at {self.sure.level:g} {RECORDS}"
        return [first, Shown(head, columns_of(frame))]

    def reading(self, curve: Scores) -> Any:
        """The result that is shown."""
        return self.read(curve)

    def draw(self, curve: Scores) -> Axes:
        """The reading."""
        return self.drawn(self.read(curve))

    def drawn(self, reading: Any, like: Any = None) -> Axes:
        """Plot of a reading, in the size of readings `like` it."""
        from ..display import SQUARE

        of = getattr(reading if like is None else like, "SIZE", SQUARE)
        return drawn(reading, of, level=self.sure.level, population=self.sure.population)


@dataclass(frozen=True)
class GroupedScoresView:
    """View of the scores of several categories."""

    one: ScoresView

    def tables(self, curves: ScoresByCategory) -> list[Shown]:
        if self.one.show == GAPS:
            return self._gaps(curves)
        if self.one.at_once:
            from ..display import RECORDS, columns_of

            frame = self._at_once(curves).to_frame(level=self.one.sure.level)
            head = f"{self.one.show}, with simultaneous ends at {self.one.sure.level:g} {RECORDS}"
            return [Shown(head, columns_of(frame))]
        found = [(name, shown) for name, scores in curves.items() for shown in self.one.tables(scores)]
        return [shown._replace(headline=f"{curves.named(name)}: {shown.headline}") for name, shown in found]

    def draw(self, curves: ScoresByCategory) -> Axes:
        """The reading of each category."""
        from ..curves import ByCategory
        from ..display import headless_axes

        if self.one.show == GAPS:
            sure, rates = self.one.sure, self._rates(curves)
            picture: Axes = rates.plot(headless_axes(rates.SIZE), level=sure.level, population=sure.population)
            return picture
        if self.one.at_once:
            together = self._at_once(curves)
            return self.one.drawn(together, like=next(iter(together.values())))
        found = {name: self.one.read(scores) for name, scores in curves.items()}
        return self.one.drawn(ByCategory(curves.columns, found), like=next(iter(found.values())))

    def _at_once(self, curves: ScoresByCategory) -> Any:
        return of_field("group_curves")(curves, AT_ONCE[self.one.show])

    def _rates(self, curves: ScoresByCategory) -> Any:
        return of_field("group_rates")(curves, self.one.threshold)

    def _gaps(self, curves: ScoresByCategory) -> list[Shown]:
        """Rates and numbers of all groups, and the largest gap of each."""
        from ..display import join_columns, span

        rates, sure = self._rates(curves), self.one.sure
        gaps: dict[str, Any] = {"number": list(rates.numbers)}
        columns: dict[str, Any] = {}
        for name, whom in self.one.whom(curves.privacy).items():
            told = name.split()[-1]
            frame = rates.to_frame(level=sure.level, population=whom)
            ends = zip(frame["lower"].to_list(), frame["upper"].to_list(), strict=True)
            columns |= {"value": frame["value"].to_list(), told: [span(*each) for each in ends]}
            found = [rates.largest_gap(number, sure.level, population=whom) for number in rates.numbers]
            gaps |= {"largest gap": [each.value for each in found], told: [span(*each[1:3]) for each in found]}
        labels = [(column, texts * len(rates.numbers)) for column, texts in rates.label_columns()]
        number = {"number": [number for number in rates.numbers for _ in rates]}
        table = {**number, **join_columns(labels, columns, reserved=number)}
        called = f"a score of {rates.threshold:g} or more is called positive"
        head = f"{called}; {sure.level:.0%} intervals of all groups at once"
        return [
            Shown(head, table, len(rates) * len(rates.numbers)),
            Shown("the largest gap of two groups, with its interval", gaps),
        ]


SLICES = 8


@dataclass(frozen=True)
class Plane(Asked):
    """Options for predictions and residuals, and the size of their values."""

    predicted: str = option("NAME", "The column of predictions; or @FILE, a model in JSON that predicts.")
    residual: str = option("NAME", "The column of residuals; of a model in a file, the column that it predicts.")
    unit_predicted: str = option(
        "U", "The smallest bound of predictions tried, about their size, or auto; it is doubled.", AUTO, unit
    )
    unit_residual: str = option(
        "U", "The smallest bound of residuals tried, about their size, or auto; it is doubled.", AUTO, unit
    )

    def __post_init__(self) -> None:
        if self.predicted == self.residual:
            raise Misuse("residual", "another column than that of --predicted is needed")

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        from ..models import Residual

        predicted = scores_of("predicted", self.predicted)
        residual = self.residual if isinstance(predicted, str) else Residual(self.residual, predicted)
        return {**super().told(usual), "predicted": predicted, "residual": residual}


class ResidualPlotView(PlainView):
    """View of a residual plot: a scatter plot of synthetic points, and a table of mean residuals of slices."""

    def tables(self, curve: ResidualPlot) -> list[Shown]:
        middle, share, mean = curve.slices(SLICES)
        beyond = f"about {curve.outside:.1%} of the records lie beyond the bounds; the points are synthetic"
        words = f"{beyond}\nthe bounds cover {curve.covers}"
        return [Shown(words, {"predicted": middle, "share": share, "mean_residual": mean})]


def declared(argument: str, given: str) -> Ranged | Categories:
    """Parse a column with its range, or with its categories."""
    from ..data import Categories
    from ..models import Ranged

    column, sign, values = given.partition("=")
    if not (column and sign and values):
        raise Misuse(argument, f"declare it: NAME=L:U for numbers in a range, NAME=A,B for categories, got {given!r}")
    ends = values.split(":")
    if len(ends) == 2:
        return Ranged(column, *(numbers(argument, end)[0] for end in ends))
    return Categories(column, categories(argument, values))


@dataclass(frozen=True)
class Claim(Asked):
    """Options for a regression, and for a claim about one of its coefficients."""

    outcome: str = option(
        "NAME=...", "What is explained: NAME=L:U, numbers in a range, or NAME=A,B, two categories.", read=declared
    )
    explained_by: list[str] = option(
        "NAME=...", "A column that explains it: NAME=L:U or NAME=A,B,C; given once for each."
    )
    coefficient: str = option("COLUMN", "The column whose coefficient is judged; of categories, NAME=B.")
    above: str | None = perhaps("X", "It is claimed to be above this; 0 for a positive one.", one_number)
    below: str | None = perhaps("X", "It is claimed to be below this.", one_number)
    subsets: str = option("N", "Into how many subsets the units are put: 2 to 10000.", "50", several)

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        found = super().told(usual)
        columns = tuple(declared("explained-by", each) for each in found.pop("explained_by"))
        column, sign, level = self.coefficient.partition("=")
        of_column = category("coefficient", level) if sign else None
        return {**found, "columns": columns, "coefficient": column, "level": of_column}
