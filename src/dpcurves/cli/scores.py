"""Commands about models: scores, ROC and calibration curves, residual plots, verification of a coefficient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .ask_file import Terms
from .option_groups import amount, categories, category, chosen, numbers, whole
from .options import Split
from .output import Covering, Output
from .refusal import Misuse
from .table_options import (
    CellOptions,
    CoveredOptions,
    GroupedCells,
    GroupOptions,
    JudgedOptions,
    MostBins,
    PlaneCells,
    ScoreOptions,
    Thresholded,
    scores_of,
)
from .views import BinnedResidualsView, HosmerLemeshowView, ResultView, RocView, Shown, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..curves import ResidualPlot, Scores, ScoresByCategory
    from ..data import Categories, Grid
    from ..data.axis import Category, Predictor
    from ..models import Ranged
    from ..privacy import Model
    from .option_groups import Command


# Views of the curves and numbers read from one release of scores. Names are those of the JSON.


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


@dataclass(frozen=True)
class Showing:
    """Options for the reading that is shown and drawn; every reading comes from the same release."""

    split: Split
    show: Annotated[
        str,
        Option(
            help="The curve that is shown and drawn; all others are paid for with it.",
            metavar="|".join(READ),
        ),
    ] = NUMBERS
    threshold: Annotated[
        str, Option(help="For the confusion matrix: scores at or above it are called positive.", metavar="S")
    ] = "0.5"

    def view(self, sure: Covering, grid: Grid) -> ScoresView:
        """View of scores on this grid.

        Raises:
            Misuse: there is no such reading, it needs probabilities and the grid has others, or the threshold is no
                number.
        """
        reading = chosen("show", self.show, READ)
        if self.show in OF_PROBABILITIES and (grid.lower < 0 or grid.upper > 1):
            raise Misuse("show", f"{self.show} is of probabilities, in [0, 1]; the grid has other scores")
        at = numbers("threshold", self.threshold)
        if len(at) != 1:
            raise Misuse("threshold", f"one number is needed, got {self.threshold!r}")
        return ScoresView(sure, self.show, lambda scores: reading(scores, at[0]))


@dataclass(frozen=True)
class ScoresView:
    """View of the numbers read from scores, and of one more reading."""

    sure: Covering
    show: str
    read: Callable[[Scores], Any]

    def tables(self, curve: Scores) -> list[Shown]:
        """Numbers with their intervals, and the chosen reading with its intervals for these records."""
        from ..curves.result import EACH, ends_of
        from .views import covered

        words, ends = covered(curve.privacy, self.sure, EACH, ends_of(curve.intervals))
        values: dict[str, ArrayLike] = {
            "reading": [each.key for each in curve.readings], "value": [curve.value(each) for each in curve.readings]
        }  # fmt: skip
        first = Shown(words, {**values, **ends})
        return [first] if self.show == NUMBERS else [first, self._read(curve)]

    def _read(self, curve: Scores) -> Shown:
        from ..display import RECORDS

        frame = self.read(curve).to_frame(level=self.sure.level)
        columns = {str(name): frame[name].to_numpy() for name in frame.columns}
        return Shown(f"{self.show.replace('-', ' ')}, with ends at {self.sure.level:g} {RECORDS}", columns)

    def draw(self, curve: Scores) -> Axes:
        """The reading."""
        from ..display import SQUARE

        found = self.read(curve)
        return drawn(found, self.sure, getattr(found, "SIZE", SQUARE))


@dataclass(frozen=True)
class GroupedScoresView:
    """View of the scores of several categories."""

    one: ScoresView

    def tables(self, curves: ScoresByCategory) -> list[Shown]:
        """A table for each category."""
        found = [(name, shown) for name, scores in curves.items() for shown in self.one.tables(scores)]
        return [shown._replace(headline=f"{curves.named(name)}: {shown.headline}") for name, shown in found]

    def draw(self, curves: ScoresByCategory) -> Axes:
        """The reading of each category."""
        from ..curves import ByCategory
        from ..display import SQUARE

        found = {name: self.one.read(scores) for name, scores in curves.items()}
        first, *_ = found.values()
        return drawn(ByCategory(curves.columns, found), self.one.sure, getattr(first, "SIZE", SQUARE))


# Commands about the scores of a model: many readings, ROC and calibration curve, Hosmer-Lemeshow test, residuals.


def roc(scored: ScoreOptions, cells: CellOptions, thresholded: Thresholded, terms: Terms, output: Output) -> None:
    """The ROC curve of a score, and its area.

    Scores lie in [0, 1] unless a grid is given; those outside are counted separately. --at or --points name all
    thresholds; others then cost nothing under the same --request-id.

    Example: dpcurves roc scored.parquet --label late --score p_late --epsilon 1 --adjacency replace-one
    """
    from ..curves import RocQuestion
    from ..data.grid import UNIT_INTERVAL

    sure, grid = output.covering(), cells.declared_or(UNIT_INTERVAL)
    question = RocQuestion(
        scored.label, scored.scores, grid, scored.positive, scored.negative, scored.model, thresholded.found(),
        thresholded.some.of(grid),
    )  # fmt: skip
    terms.answer(question, RocView(sure), output)


def calibration(scored: ScoreOptions, groups: GroupOptions, cells: GroupedCells, terms: Terms, output: Output) -> None:
    """The calibration curve of a score.

    How often the label is positive among records of similar score. Scores lie in [0, 1] unless a grid is given.

    Example: dpcurves calibration scored.parquet --label late --score p_late --epsilon 1 --adjacency replace-one
    """
    from ..curves import CalibrationQuestion
    from ..data.grid import SCORES

    sure = output.covering()
    question = CalibrationQuestion(
        scored.label, scored.scores, groups.number, cells.declared_or(SCORES), scored.positive, scored.negative,
        scored.model,
    )  # fmt: skip
    terms.answer(question, ResultView(sure), output)


def hosmer_lemeshow(
    scored: ScoreOptions, groups: GroupOptions, cells: GroupedCells, terms: Terms, output: Output
) -> None:
    """The Hosmer-Lemeshow test of a score.

    Do predicted probabilities agree with the labels? The p-value includes noise and sampling.

    Example: dpcurves hosmer-lemeshow scored.parquet --label late --score p_late --epsilon 1 --adjacency replace-one
    """
    from ..curves import HosmerLemeshowQuestion
    from ..data.grid import SCORES

    sure = output.covering()
    question = HosmerLemeshowQuestion(
        scored.label, scored.scores, groups.number, cells.declared_or(SCORES), scored.positive, scored.negative,
        scored.model,
    )  # fmt: skip
    terms.answer(question, HosmerLemeshowView(sure), output)


def binned_residuals(judged: JudgedOptions, bins: MostBins, cells: GroupedCells, terms: Terms, output: Output) -> None:
    """Mean residuals of bins of similar scores.

    Where does the model predict too much, and where too little? The envelope includes noise and sampling.

    Example: dpcurves binned-residuals scored.parquet --label late --score p_late --model disjoint --epsilon 1
    --adjacency replace-one
    """
    from ..curves import BinnedResidualsQuestion
    from ..data.grid import SCORES

    level = output.simulated()
    question = BinnedResidualsQuestion(
        judged.label, judged.scores, judged.declared(), bins.number, grid=cells.declared_or(SCORES),
        pos_label=judged.positive, neg_label=judged.negative,
    )  # fmt: skip
    terms.answer(question, BinnedResidualsView(level), output)


def scores(scored: ScoreOptions, cells: CellOptions, showing: Showing, terms: Terms, output: Output) -> None:
    """Many curves of a score of two classes, for one privacy loss.

    ROC and precision-recall curve, gain, confusion matrix, decision curve, calibration and more are read from one
    release: --show says which, and others are free under the same --request-id.

    Example: dpcurves scores scored.parquet --label late --score p_late --show precision-recall --epsilon 1
    --adjacency replace-one
    """
    from ..curves import ScoresQuestion
    from ..data.grid import HUNDREDTHS

    by, grid = showing.split.declared(), cells.declared_or(HUNDREDTHS)
    view = showing.view(output.covering(), grid)
    question = ScoresQuestion(scored.label, scored.scores, grid, by, scored.positive, scored.negative, scored.model)
    terms.answer(question, GroupedScoresView(view) if by else view, output)


SCORE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {
        "scores": scores, "roc": roc, "calibration": calibration, "hosmer-lemeshow": hosmer_lemeshow,
        "binned-residuals": binned_residuals,
    }
)  # fmt: skip


# Residual plots: the command, its options, and its view.


SLICES = 8


@dataclass(frozen=True)
class Plane:
    """Options for predictions and residuals, the size of their values, and the provenance of the model."""

    predicted: Annotated[
        str, Option(help="The column of predictions; or @FILE, a model in JSON that predicts.", metavar="NAME")
    ]
    residual: Annotated[
        str, Option(help="The column of residuals; of a model in a file, the column that it predicts.", metavar="NAME")
    ]
    unit_predicted: Annotated[
        str, Option(help="The smallest bound of predictions tried, about their size; it is doubled.", metavar="U")
    ]
    unit_residual: Annotated[
        str, Option(help="The smallest bound of residuals tried, about their size; it is doubled.", metavar="U")
    ]
    model: Annotated[
        str,
        Option(
            help="How the model was made: it is public, was trained on disjoint records, or is itself private.",
            metavar="public|disjoint|private",
        ),
    ]

    def __post_init__(self) -> None:
        if self.predicted == self.residual:
            raise Misuse("residual", "another column than that of --predicted is needed")

    @property
    def columns(self) -> tuple[str | Predictor, str | Predictor]:
        """Columns of predictions and residuals, or the model that gives them.

        Raises:
            Misuse: there is no such model.
        """
        from ..models import Residual

        predicted = scores_of("predicted", self.predicted)
        return predicted, self.residual if isinstance(predicted, str) else Residual(self.residual, predicted)

    @property
    def units(self) -> tuple[float, float]:
        """Smallest bounds tried of predictions and residuals, which are doubled."""
        predicted, residual = amount("unit-predicted", self.unit_predicted), amount("unit-residual", self.unit_residual)
        return float(Fraction(predicted)), float(Fraction(residual))

    def declared(self) -> Model:
        """Provenance of the model: public, trained on disjoint records, or private."""
        from ..privacy import Model

        return chosen("model", self.model, {each.name.lower(): each for each in Model})


@dataclass(frozen=True)
class ResidualPlotView:
    """View of a residual plot: a scatter plot of synthetic points, and a table of mean residuals of slices."""

    def tables(self, curve: ResidualPlot) -> list[Shown]:
        """Mean residuals from the lowest predictions to the highest."""
        middle, share, mean = curve.slices(SLICES)
        beyond = f"about {curve.outside:.1%} of the records lie beyond the bounds; the points are synthetic"
        words = f"{beyond}\nthe bounds cover {curve.covers}"
        return [Shown(words, {"predicted": middle, "share": share, "mean_residual": mean})]

    def draw(self, curve: ResidualPlot) -> Axes:
        """The scatter plot."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


def residuals(plane: Plane, covered: CoveredOptions, cells: PlaneCells, terms: Terms, output: Output) -> None:
    """Residuals against predictions.

    Bounds are found privately; within them a density is estimated, and synthetic points are drawn from it.

    Example: dpcurves residuals fitted.parquet --predicted fare --residual error --unit-predicted 1 --unit-residual 1
    --coverage 0.95 --model disjoint --epsilon 1 --adjacency replace-one
    """
    from ..curves import ResidualPlotQuestion

    question = ResidualPlotQuestion(*plane.columns, *plane.units, covered.share, plane.declared(), cells.number)
    terms.answer(question, ResidualPlotView(), output)


RESIDUAL_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"residuals": residuals})


# Verification of a regression coefficient by disjoint subsets of records: the command and its options.


@dataclass(frozen=True)
class Claim:
    """Options for a regression, and for a claim about one of its coefficients."""

    outcome: Annotated[
        str,
        Option(
            help="What is explained: NAME=L:U, numbers in a range, or NAME=A,B, two categories.", metavar="NAME=..."
        ),
    ]
    explained_by: Annotated[
        list[str],
        Option(help="A column that explains it: NAME=L:U or NAME=A,B,C; given once for each.", metavar="NAME=..."),
    ]
    coefficient: Annotated[
        str, Option(help="The column whose coefficient is judged; of categories, NAME=B.", metavar="COLUMN")
    ]
    above: Annotated[str | None, Option(help="It is claimed to be above this; 0 for a positive one.", metavar="X")] = (
        None
    )
    below: Annotated[str | None, Option(help="It is claimed to be below this.", metavar="X")] = None
    subsets: Annotated[str, Option(help="Into how many subsets the units are put: 2 to 10000.", metavar="N")] = "50"

    @property
    def judged(self) -> tuple[str, Category | None]:
        """Column of the coefficient, and its category, if it has one."""
        column, sign, level = self.coefficient.partition("=")
        return column, category(level) if sign else None

    def bound(self, name: str) -> float | None:
        """Lower or upper end of the claim, if it was given.

        Raises:
            Misuse: the end is no number.
        """
        given = self.above if name == "above" else self.below
        if given is None:
            return None
        found = numbers(name, given)
        if len(found) != 1:
            raise Misuse(name, f"one number is needed, got {given!r}")
        return found[0]


def declared(option: str, given: str) -> Ranged | Categories:
    """Parse a column with its range, or with its categories.

    Raises:
        Misuse: the column has neither.
    """
    from ..data import Categories
    from ..models import Ranged

    column, sign, values = given.partition("=")
    if not (column and sign and values):
        raise Misuse(option, f"declare it: NAME=L:U for numbers in a range, NAME=A,B for categories, got {given!r}")
    ends = values.split(":")
    if len(ends) == 2:
        return Ranged(column, *(numbers(option, end)[0] for end in ends))
    return Categories(column, categories(option, values))


def verify(claim: Claim, terms: Terms, output: Output) -> None:
    """Verify a claim about a regression coefficient: its sign, or an interval that it lies in.

    Units are put into disjoint subsets, in each a regression is fitted, and those that confirm the claim are counted.

    Example: dpcurves verify people.csv --outcome late=0,1 --explained-by age=18:90 --coefficient age --above 0
    --epsilon 1 --adjacency replace-one
    """
    from ..curves import VerifyQuestion

    sure = output.covering()
    columns = tuple(declared("explained-by", each) for each in claim.explained_by)
    column, level = claim.judged
    question = VerifyQuestion(
        declared("outcome", claim.outcome), columns, column, level, claim.bound("above"), claim.bound("below"),
        whole("subsets", claim.subsets, least=2),
    )  # fmt: skip
    terms.answer(question, ResultView(sure), output)


VERIFY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"verify": verify})
