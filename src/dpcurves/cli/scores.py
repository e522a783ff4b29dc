"""Questions about models: their options, and views of what is answered. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..fields import load_field_object
from .options import (
    AUTO,
    QuestionOptions,
    SplitOptions,
    option,
    optional,
    parse_choice,
    parse_integer_above_one,
    parse_label,
    parse_labels,
    parse_magnitude,
    parse_number,
    parse_numbers,
    read_score_source,
)
from .output import IntervalSettings, PlainView, ResultView, ViewTable, plot_headless
from .terminal import Misuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import ResidualPlot, Scores, ScoresByCategory
    from ..data import Categories, Grid
    from ..models import NumericColumn

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
class ShowOptions:
    """Options for the reading that is shown and drawn; every reading comes from the same release."""

    split_options: SplitOptions
    show: str = option(
        "|".join((*READ, GAPS)), "The curve that is shown and drawn; all others are paid for with it.", NUMBERS
    )
    threshold: str = option("S", "For the confusion matrix: scores at or above it are called positive.", "0.5")
    bands: str = option("each|all", "With --by: bands of a curve hold for each category, or for all at once.", "each")

    def view(self, settings: IntervalSettings, grid: Grid | None) -> ScoresView:
        """View of scores on this grid, if known. Refused where a reading needs probabilities and it has others."""
        if self.show == GAPS and self.split_options.by is None:
            raise Misuse("show", "gaps are between groups: say which, by --by and --categories")
        reading = parse_choice("show", self.show, {**READ, GAPS: READ["confusion"]})
        if self.show in OF_PROBABILITIES and (grid is None or grid.lower < 0 or grid.upper > 1):
            raise Misuse("show", f"{self.show} is of probabilities, in [0, 1]; the grid has other scores")
        at, at_once = (
            parse_number("threshold", self.threshold),
            parse_choice("bands", self.bands, {"each": False, "all": True}),
        )
        if at_once and (self.split_options.by is None or self.show not in AT_ONCE):
            raise Misuse("bands", f"all are of --by and of --show {', '.join(AT_ONCE)}")
        return ScoresView(
            settings,
            show=self.show,
            compute_reading=lambda scores: reading(scores, at),
            threshold=at,
            simultaneous=at_once,
        )


@dataclass(frozen=True, kw_only=True)
class ScoresView(ResultView):
    """View of the numbers read from scores, and of one more reading."""

    show: str
    compute_reading: Callable[[Scores], Any]
    threshold: float = 0.5
    simultaneous: bool = False

    def tables(self, curve: Scores) -> list[ViewTable]:
        from ..curves.result import EACH
        from ..display import RECORDS, frame_columns

        columns = {
            "reading": [each.key for each in curve.metrics], "value": [curve.value(each) for each in curve.metrics]
        }  # fmt: skip
        first = self.make_table(curve, columns, what=EACH)
        if self.show == NUMBERS:
            return [first]
        frame = self.compute_reading(curve).to_frame(level=self.settings.level)
        head = f"{self.show.replace('-', ' ')}, with ends at {self.settings.level:g} {RECORDS}"
        return [first, ViewTable(head, frame_columns(frame))]

    def draw(self, curve: Scores) -> Axes:
        """The reading."""
        return self.plot_reading(self.compute_reading(curve))

    def plot_reading(self, reading: Any, like: Any = None) -> Axes:
        """Plot of a reading, in the size of readings `like` it."""
        from ..display import SQUARE

        of = getattr(reading if like is None else like, "SIZE", SQUARE)
        return plot_headless(reading, of, level=self.settings.level, population=self.settings.population)


@dataclass(frozen=True)
class GroupedScoresView:
    """View of the scores of several categories."""

    view: ScoresView

    def tables(self, curves: ScoresByCategory) -> list[ViewTable]:
        if self.view.show == GAPS:
            return self._gap_tables(curves)
        if self.view.simultaneous:
            from ..display import RECORDS, frame_columns

            frame = self._simultaneous_curves(curves).to_frame(level=self.view.settings.level)
            head = f"{self.view.show}, with simultaneous ends at {self.view.settings.level:g} {RECORDS}"
            return [ViewTable(head, frame_columns(frame))]
        found = [(name, shown) for name, scores in curves.items() for shown in self.view.tables(scores)]
        return [shown._replace(headline=f"{curves.format_category(name)}: {shown.headline}") for name, shown in found]

    def draw(self, curves: ScoresByCategory) -> Axes:
        """The reading of each category."""
        from ..curves import ByCategory
        from ..display import headless_axes

        if self.view.show == GAPS:
            sure, rates = self.view.settings, self._rates(curves)
            picture: Axes = rates.plot(headless_axes(rates.SIZE), level=sure.level, population=sure.population)
            return picture
        if self.view.simultaneous:
            together = self._simultaneous_curves(curves)
            return self.view.plot_reading(together, like=next(iter(together.values())))
        found = {name: self.view.compute_reading(scores) for name, scores in curves.items()}
        return self.view.plot_reading(ByCategory(curves.columns, found), like=next(iter(found.values())))

    def _simultaneous_curves(self, curves: ScoresByCategory) -> Any:
        return load_field_object("group_curves")(curves, AT_ONCE[self.view.show])

    def _rates(self, curves: ScoresByCategory) -> Any:
        return load_field_object("group_rates")(curves, self.view.threshold)

    def _gap_tables(self, curves: ScoresByCategory) -> list[ViewTable]:
        """Rates and numbers of all groups, and the largest gap of each."""
        from ..display import format_interval, join_columns

        rates, sure = self._rates(curves), self.view.settings
        gaps: dict[str, Any] = {"number": list(rates.numbers)}
        columns: dict[str, Any] = {}
        for name, whom in self.view.select_scopes(curves.privacy).items():
            told = name.split()[-1]
            frame = rates.to_frame(level=sure.level, population=whom)
            ends = zip(frame["lower"].to_list(), frame["upper"].to_list(), strict=True)
            columns |= {"value": frame["value"].to_list(), told: [format_interval(*each) for each in ends]}
            found = [rates.largest_gap(number, sure.level, population=whom) for number in rates.numbers]
            gaps |= {
                "largest gap": [each.value for each in found],
                told: [format_interval(*each[1:3]) for each in found],
            }
        labels = [(column, texts * len(rates.numbers)) for column, texts in rates.label_columns()]
        number = {"number": [number for number in rates.numbers for _ in rates]}
        table = {**number, **join_columns(labels, columns, reserved=number)}
        called = f"a score of {rates.threshold:g} or more is called positive"
        head = f"{called}; {sure.level:.0%} intervals of all groups at once"
        return [
            ViewTable(head, table, len(rates) * len(rates.numbers)),
            ViewTable("the largest gap of two groups, with its interval", gaps),
        ]


SLICES = 8


@dataclass(frozen=True)
class ResidualPlotOptions(QuestionOptions):
    """Options for predictions and residuals, and the size of their values."""

    predicted: str = option("NAME", "The column of predictions; or @FILE, a model in JSON that predicts.")
    residual: str = option("NAME", "The column of residuals; of a model in a file, the column that it predicts.")
    unit_predicted: str = option(
        "U", "The smallest bound of predictions tried, about their size, or auto; it is doubled.", AUTO, parse_magnitude
    )
    unit_residual: str = option(
        "U", "The smallest bound of residuals tried, about their size, or auto; it is doubled.", AUTO, parse_magnitude
    )

    def __post_init__(self) -> None:
        if self.predicted == self.residual:
            raise Misuse("residual", "another column than that of --predicted is needed")

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        from ..models import Residual

        predicted = read_score_source("predicted", self.predicted)
        residual = self.residual if isinstance(predicted, str) else Residual(self.residual, predicted)
        return {**super().question_fields(defaults), "predicted": predicted, "residual": residual}


class ResidualPlotView(PlainView):
    """View of a residual plot: a scatter plot of synthetic points, and a table of mean residuals of slices."""

    def tables(self, curve: ResidualPlot) -> list[ViewTable]:
        middle, share, mean = curve.slices(SLICES)
        beyond = f"about {curve.outside:.1%} of the records lie beyond the bounds; the points are synthetic"
        words = f"{beyond}\nthe bounds cover {curve.coverage_statement}"
        return [ViewTable(words, {"predicted": middle, "share": share, "mean_residual": mean})]


def parse_declared_column(argument: str, given: str) -> NumericColumn | Categories:
    """Parse a column with its range, or with its categories."""
    from ..data import Categories
    from ..models import NumericColumn

    column, sign, values = given.partition("=")
    if not (column and sign and values):
        raise Misuse(argument, f"declare it: NAME=L:U for numbers in a range, NAME=A,B for categories, got {given!r}")
    ends = values.split(":")
    if len(ends) == 2:
        return NumericColumn(column, *(parse_numbers(argument, end)[0] for end in ends))
    return Categories(column, parse_labels(argument, values))


@dataclass(frozen=True)
class ClaimOptions(QuestionOptions):
    """Options for a regression, and for a claim about one of its coefficients."""

    outcome: str = option(
        "NAME=...",
        "What is explained: NAME=L:U, numbers in a range, or NAME=A,B, two categories.",
        parse=parse_declared_column,
    )
    explained_by: list[str] = option(
        "NAME=...", "A column that explains it: NAME=L:U or NAME=A,B,C; given once for each."
    )
    coefficient: str = option("COLUMN", "The column whose coefficient is judged; of categories, NAME=B.")
    above: str | None = optional("X", "It is claimed to be above this; 0 for a positive one.", parse_number)
    below: str | None = optional("X", "It is claimed to be below this.", parse_number)
    subsets: str = option("N", "Into how many subsets the units are put: 2 to 10000.", "50", parse_integer_above_one)

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        found = super().question_fields(defaults)
        columns = tuple(parse_declared_column("explained-by", each) for each in found.pop("explained_by"))
        column, sign, level = self.coefficient.partition("=")
        of_column = parse_label("coefficient", level) if sign else None
        return {**found, "columns": columns, "coefficient": column, "level": of_column}
