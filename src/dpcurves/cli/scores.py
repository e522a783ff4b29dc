"""Options and printed tables of commands that judge models: scores of classifiers, residuals, regression coefficients.

A class of options becomes fields of a question; a view prints the result of the question as tables, and plots it:

    ShowOptions, ScoresView, GroupedScoresView     all metrics of a release of scores, and one curve, such as the ROC
                                                   curve; by category as well
    ResidualPlotOptions, ResidualPlotView          mean residuals in slices of predictions, and synthetic points
    ClaimOptions                                   a regression, and a claim about one of its coefficients

Tables use the column names of the JSON. Views print released numbers and read no records.

>>> parse_declared_column("outcome", "age=18:90")
NumericColumn(column='age', lower=18.0, upper=90.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..extensions import load_field_object
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
from .output import IntervalSettings, PlainView, ResultView, ViewTable, interleave_groups, plot_headless
from .terminal import Misuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import ResidualPlot, Scores, ScoresByCategory
    from ..data import Categories, Grid
    from ..models import NumericColumn

NUMBERS = "numbers"
"""Default value of --show: single numbers such as the area under the curve are printed, and no curve."""
PROBABILITY_METRICS = ("calibration", "decision-curve")
"""Values of --show that need scores from 0 to 1: they are refused if the grid is unknown or goes beyond."""
METRIC_READERS: Mapping[str, Callable[[Scores, float], Any]] = MappingProxyType(
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
"""Values of --show, each with a function of the released scores and the threshold that computes what is shown."""
GAPS = "gaps"
"""Value of --show that compares all groups of --by; it is refused without --by."""
SIMULTANEOUS_CURVES = {
    "roc": "roc", "gain": "cumulative_gain", "calibration": "calibration", "decision-curve": "decision_curve",
}  # fmt: skip
"""Values of --show for which ``--bands all`` draws bands that hold for all groups at once, each with the name of the
method that computes the curve."""


@dataclass(frozen=True)
class ShowOptions:
    """Options for the metric that is printed and plotted. All metrics come from the same release."""

    split_options: SplitOptions
    show: str = option(
        "|".join((*METRIC_READERS, GAPS)),
        "Curve that is printed and plotted. All curves are paid for together.",
        NUMBERS,
    )
    threshold: str = option("S", "For the confusion matrix: scores of at least S are classified as positive.", "0.5")
    max_fpr: str | None = optional(
        "F,F", "Also the partial area under the ROC curve up to these false positive rates, as in 0.1."
    )
    specificity: str | None = optional("S,S", "Also the sensitivity at these specificities, as in 0.9,0.95.")
    bands: str = option("each|all", "With --by: bands hold for each category (each) or for all together (all).", "each")

    def view(self, settings: IntervalSettings, grid: Grid | None) -> ScoresView:
        """Return the view of the metrics that ``--show`` selects, and of those that ``--max-fpr`` and ``--specificity``
        add.

        Args:
            settings: Level of the printed intervals, and whether they include the population.
            grid: Public grid of the scores; None: it is chosen by the question.

        Raises:
            Misuse: an option has an unknown value, or a number outside its range, or needs ``--by``; or a metric of
                probabilities is selected and the grid is unknown or not within [0, 1].
        """
        if self.show == GAPS and self.split_options.by is None:
            raise Misuse("show", "gaps compare groups: name them with --by and --categories")
        compute_metric = parse_choice("show", self.show, {**METRIC_READERS, GAPS: METRIC_READERS["confusion"]})
        if self.show in PROBABILITY_METRICS and (grid is None or grid.lower < 0 or grid.upper > 1):
            raise Misuse(
                "show",
                f"{self.show} needs probabilities, and the grid is not within [0, 1];"
                " give scores that are probabilities, or leave --show out",
            )
        threshold = parse_number("threshold", self.threshold)
        simultaneous = parse_choice("bands", self.bands, {"each": False, "all": True})
        if simultaneous and (self.split_options.by is None or self.show not in SIMULTANEOUS_CURVES):
            raise Misuse(
                "bands",
                f"--bands all needs --by and --show {', '.join(SIMULTANEOUS_CURVES)}; add them, or leave --bands out",
            )
        from ..curves.partial_roc import add_roc_metrics

        max_fprs, specificities = (
            () if text is None else parse_numbers(name, text)
            for name, text in (("max-fpr", self.max_fpr), ("specificity", self.specificity))
        )
        for name, numbers, rule, is_valid in (
            ("max-fpr", max_fprs, "numbers above 0 and at most 1, as in 0.1", lambda rate: 0 < rate <= 1),
            ("specificity", specificities, "numbers of at least 0 and below 1, as in 0.95", lambda rate: 0 <= rate < 1),
        ):
            if not all(map(is_valid, numbers)):
                raise Misuse(name, f"must be {rule}")
        add_metrics = partial(add_roc_metrics, max_fprs=max_fprs, specificities=specificities)
        return ScoresView(
            settings,
            show=self.show,
            compute_reading=lambda scores: compute_metric(add_metrics(scores), threshold),
            threshold=threshold,
            simultaneous=simultaneous,
            add_metrics=add_metrics,
        )


@dataclass(frozen=True, kw_only=True)
class ScoresView(ResultView):
    """View of the single-number metrics of scores, and of one metric that is a curve.

    Attributes:
        show: Name of the selected metric, as in `METRIC_READERS`; ``gaps`` compares groups.
        compute_reading: Function from released scores to the selected curve.
        add_metrics: Function that adds partial areas and sensitivities to released scores.
        threshold: Scores of at least this are classified as positive.
        simultaneous: Whether bands hold for all groups together.
    """

    show: str
    compute_reading: Callable[[Scores], Any]
    add_metrics: Callable[[Scores], Scores]
    threshold: float = 0.5
    simultaneous: bool = False

    def tables(self, curve: Scores) -> list[ViewTable]:
        """Return a table of all metrics with intervals and, if a curve is selected, a table of its points.

        Args:
            curve: The released result to show.
        """
        return [self.make_metric_table(curve), *self.list_curve_tables(curve)]

    def make_metric_table(self, curve: Scores) -> ViewTable:
        """Return a table of all metrics with intervals.

        Args:
            curve: The released result to show.
        """
        caption = f"metrics of one release{self.describe_missing_population(curve.privacy)}"
        return ViewTable.from_table(caption, self.add_metrics(curve).describe_table(**self.settings._asdict()))

    def list_curve_tables(self, curve: Scores) -> list[ViewTable]:
        """Return the table of the curve that --show selects, in a list; an empty list if only numbers are shown.

        Args:
            curve: The released result to show.
        """
        return [] if self.show == NUMBERS else [self.make_curve_table(self.compute_reading(curve), self.curve_name)]

    @property
    def curve_name(self) -> str:
        """The name in captions of the curve that ``--show`` selects."""
        return "ROC curve" if self.show == "roc" else self.show.replace("-", " ")

    def make_curve_table(self, curve: Any, caption: str) -> ViewTable:
        """Return the table of a curve, with its intervals for these records, under a caption.

        Args:
            curve: The released result to show.
            caption: Text above the table.
        """
        # intervals for the population are in files: with both, rows are wider than a terminal
        settings = self.settings._replace(population=False)._asdict()
        return ViewTable.from_table(caption, curve.describe_table(**settings))

    def draw(self, curve: Scores) -> Axes:
        """Return the axes of a plot of the selected metric.

        Args:
            curve: The released result to show.
        """
        return self.plot_reading(self.compute_reading(curve))

    def plot_reading(self, reading: Any, like: Any = None) -> Axes:
        """Draw a metric of the scores with the level and the population of the command line, and return the axes.

        Args:
            reading: The metric: a curve, or several by category.
            like: Metric that sets the size of the plot; None: `reading`.
        """
        from ..display import SQUARE

        size = getattr(reading if like is None else like, "SIZE", SQUARE)
        return plot_headless(reading, size, level=self.settings.level, population=self.settings.population)


@dataclass(frozen=True)
class GroupedScoresView:
    """View of the scores of several categories.

    Attributes:
        view: View of the scores of one category.
    """

    view: ScoresView

    def compute_reading(self, curves: ScoresByCategory) -> ScoresByCategory:
        """Return the scores of each category with partial areas and sensitivities, for files."""
        from ..curves.scores import ScoresByCategory

        return ScoresByCategory(
            curves.columns, {name: self.view.add_metrics(scores) for name, scores in curves.items()}
        )

    def tables(self, curves: ScoresByCategory) -> list[ViewTable]:
        """Return a table of all metrics by category and the curve of each category, or, if selected, the tables of gaps
        or of simultaneous curves.

        Args:
            curves: The released results by category to show.
        """
        if self.view.show == GAPS:
            return self._gap_tables(curves)
        if self.view.simultaneous:
            simultaneous = self._simultaneous_curves(curves)
            level = self.view.settings.level
            caption = f"{self.view.curve_name}, with bands of all groups that hold together at {level:g}"
            return [self.view.make_curve_table(simultaneous, caption)]
        metrics = interleave_groups(curves, [self.view.make_metric_table(scores) for scores in curves.values()])
        tables = [metrics]
        for name, scores in curves.items():
            for table in self.view.list_curve_tables(scores):
                tables.append(table._replace(headline=f"{curves.format_category(name)}: {table.headline}"))
        return tables

    def draw(self, curves: ScoresByCategory) -> Axes:
        """Return the axes of a plot of the selected metric, with one curve or rate for each category.

        Args:
            curves: Released scores by category.
        """
        from ..curves import ByCategory
        from ..display import headless_axes

        if self.view.show == GAPS:
            settings = self.view.settings
            rates = self._rates(curves)
            axes: Axes = rates.plot(headless_axes(rates.SIZE), level=settings.level, population=settings.population)
            return axes
        if self.view.simultaneous:
            simultaneous = self._simultaneous_curves(curves)
            return self.view.plot_reading(simultaneous, like=next(iter(simultaneous.values())))
        readings = {name: self.view.compute_reading(scores) for name, scores in curves.items()}
        return self.view.plot_reading(ByCategory(curves.columns, readings), like=next(iter(readings.values())))

    def _simultaneous_curves(self, curves: ScoresByCategory) -> Any:
        """Return the curve that --show selects, for all categories, with bands that hold for all of them at once.

        Args:
            curves: The released results by category to show.
        """
        return load_field_object("group_curves")(curves, SIMULTANEOUS_CURVES[self.view.show])

    def _rates(self, curves: ScoresByCategory) -> Any:
        """Return the rates of all categories, such as the true and false positive rates, at the threshold of
        ``--threshold``.

        Args:
            curves: The released results by category to show.
        """
        return load_field_object("group_rates")(curves, self.view.threshold)

    def _gap_tables(self, curves: ScoresByCategory) -> list[ViewTable]:
        """Return two tables: the rates and metrics of all groups, and the largest gap between two groups in each.

        Args:
            curves: Released scores by category.
        """
        from ..display import format_interval, join_columns

        rates = self._rates(curves)
        settings = self.view.settings
        titles = rates._row_words()
        gaps: dict[str, Any] = {"number": [titles[number] for number in rates.numbers]}
        columns: dict[str, Any] = {}
        for name, population in self.view.select_scopes(curves.privacy).items():
            scope = name.split()[-1]
            frame = rates.to_frame(level=settings.level, population=population)
            limits = zip(frame["lower"].to_list(), frame["upper"].to_list(), strict=True)
            columns |= {"value": frame["value"].to_list(), scope: [format_interval(*interval) for interval in limits]}
            largest_gaps = [
                rates.largest_gap(number, settings.level, population=population) for number in rates.numbers
            ]
            gaps |= {
                "largest gap": [gap.value for gap in largest_gaps],
                scope: [format_interval(*gap[1:3]) for gap in largest_gaps],
            }
        labels = [(column, texts * len(rates.numbers)) for column, texts in rates.label_columns()]
        number = {"number": [titles[number] for number in rates.numbers for _ in rates]}
        table = {**number, **join_columns(labels, columns, reserved=number)}
        threshold_text = f"scores of at least {rates.threshold:g} are classified as positive"
        caption = f"{threshold_text}; simultaneous {settings.level:.0%} intervals of all groups"
        return [
            ViewTable(caption, table, len(rates) * len(rates.numbers)),
            ViewTable("largest gap between two groups, with its interval", gaps),
        ]


@dataclass(frozen=True)
class ResidualPlotOptions(QuestionOptions):
    """Options for predictions and residuals, and for the size of their values."""

    predicted: str = option("NAME", "Column of predictions; or @FILE, a model in JSON that predicts.")
    residual: str = option("NAME", "Column of residuals; with a model in a file, the column that it predicts.")
    unit_predicted: str = option(
        "U",
        "Smallest bound of predictions tried, about their size, or auto. Bounds double from there.",
        AUTO,
        parse_magnitude,
    )
    unit_residual: str = option(
        "U",
        "Smallest bound of residuals tried, about their size, or auto. Bounds double from there.",
        AUTO,
        parse_magnitude,
    )

    def __post_init__(self) -> None:
        """Check that predictions and residuals are different columns.

        Raises:
            Misuse: both options name the same column.
        """
        if self.predicted == self.residual:
            raise Misuse("residual", "the same as --predicted; name the column of the observed labels or values")

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the question; with a model in a file, its predictions and residuals.

        Args:
            defaults: Default values of the question's fields.

        Raises:
            Misuse: an option has the wrong form, or the file of the model cannot be read.
        """
        from ..models import Residual

        predicted = read_score_source("predicted", self.predicted)
        residual = self.residual if isinstance(predicted, str) else Residual(self.residual, predicted)
        return {**super().question_fields(defaults), "predicted": predicted, "residual": residual}


class ResidualPlotView(PlainView):
    """View of a residual plot: a scatter plot of synthetic points, and a table of mean residuals of slices."""

    def tables(self, curve: ResidualPlot) -> list[ViewTable]:
        """Return a table of the mean residual in eight slices of predictions.

        Args:
            curve: The released result to show.
        """
        middle, share, mean = curve.slices(8)  # rows of the table
        outside = f"about {curve.outside:.1%} of the records are outside the bounds; the points are synthetic"
        caption = f"{outside}\nthe bounds cover {curve.coverage_statement}"
        shares = [f"{part:.1%}" for part in share]
        return [ViewTable(caption, {"predicted": middle, "share of records": shares, "mean residual": mean})]


def parse_declared_column(argument: str, text: str) -> NumericColumn | Categories:
    """Parse ``NAME=L:U`` as a numeric column with its range, or ``NAME=A,B`` as a column with its categories.

    Args:
        argument: Name of the option, for messages.
        text: Value of the option.

    Raises:
        Misuse: the text has neither form.
    """
    from ..data import Categories
    from ..models import NumericColumn

    column, equals, values = text.partition("=")
    if not (column and equals and values):
        raise Misuse(argument, f"write NAME=L:U for numbers in a range, or NAME=A,B for categories; got {text!r}")
    limits = values.split(":")
    if len(limits) == 2:
        return NumericColumn(column, *(parse_numbers(argument, end)[0] for end in limits))
    return Categories(column, parse_labels(argument, values))


@dataclass(frozen=True)
class ClaimOptions(QuestionOptions):
    """Options for a regression, and for a claim about one of its coefficients."""

    outcome: str = option(
        "NAME=...",
        "Outcome of the regression: NAME=L:U, numbers in a range, or NAME=A,B, two categories.",
        parse=parse_declared_column,
    )
    explained_by: list[str] = option(
        "NAME=...", "Explanatory column: NAME=L:U or NAME=A,B,C. Repeat the option for several."
    )
    coefficient: str = option("COLUMN", "Column whose coefficient the claim is about; for a category, NAME=B.")
    above: str | None = optional("X", "Claim that the coefficient is above X; 0 claims a positive one.", parse_number)
    below: str | None = optional("X", "Claim that the coefficient is below X.", parse_number)
    subsets: str = option("N", "Number of disjoint subsets of units, from 2 to 10000.", "50", parse_integer_above_one)

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the regression question: predictor columns, and the column and category of the claimed
        coefficient.

        Args:
            defaults: Default values of the question's fields.

        Raises:
            Misuse: an option has the wrong form.
        """
        question_fields = super().question_fields(defaults)
        columns = tuple(
            parse_declared_column("explained-by", declaration) for declaration in question_fields.pop("explained_by")
        )
        column, equals, level = self.coefficient.partition("=")
        parsed_level = parse_label("coefficient", level) if equals else None
        return {**question_fields, "columns": columns, "coefficient": column, "level": parsed_level}
