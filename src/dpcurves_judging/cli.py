"""Command line of questions that evaluate models: ``dpcurves multiclass``, ``dpcurves uplift`` and others.

Each command asks one question about a table of labels and scores, and prints a table of numbers with intervals; with
``--show curves`` it draws the curves of the result. `COMMANDS` puts the commands together from

    options    groups of options, which become fields of the question: labels, scores, classes, bounds
    views      printed output: all numbers of a result; matrices, histograms and coefficients where it has them

Options have the names of JSON keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dpcurves.cli import options
from dpcurves.cli.ask_file import FieldQuestions, make_question_command
from dpcurves.cli.output import ResultView, ViewTable, interleave_groups
from dpcurves.cli.terminal import Misuse

MODEL_HELP = "What pictures and JSON say about the model."
"""Help text of the option ``--model-note``."""
PUBLIC_MODEL_RULE = "the model is taken as public"
"""Default of ``--model-note``, a note that results show about one model."""


def parse_names(argument: str, text: str) -> tuple[str, ...]:
    """Return the names of columns in a comma-separated list, without surrounding spaces.

    Args:
        argument: Name of the option; not used, because any text is accepted.
        text: The list as typed.
    """
    return tuple(name.strip() for name in text.split(","))


@dataclass(frozen=True)
class ModelPairOptions(options.QuestionOptions):
    """Options for the labels and the scores of two models."""

    label: str = options.option("NAME", "The column of true labels.")
    first: str = options.option(
        "NAME", "The column of the first model's scores; or @FILE, a model in JSON.", parse=options.read_score_source
    )
    second: str = options.option("NAME", "That of the second model.", parse=options.read_score_source)
    grid: str = options.option("L:U:N", "Public cells of the first model's scores.", "0:1:100", options.parse_grid)
    second_grid: str | None = options.optional(
        "L:U:N", "Public cells of the second model's scores, if they are others.", options.parse_grid
    )
    cells: str | None = options.optional(
        "N", "Cells that each score is joined to; chosen by a forecast if left out.", options.parse_integer
    )
    releases: str | None = options.optional(
        "1|2", "Both scores together, or one by one; chosen by a forecast if left out.", options.parse_integer
    )
    thresholds: str | None = options.optional("P,P", "Threshold probabilities of net benefit.", options.parse_numbers)
    pos_label: str = options.option("LABEL", "The positive label.", "1", options.parse_label)
    neg_label: str | None = options.optional(
        "LABEL",
        "Negative label. Required for CSV files, and if the positive label is neither 1 nor 0.",
        options.parse_label,
    )
    model: str = options.option("TEXT", MODEL_HELP, "the models are taken as public", name="--model-note")

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a model pair's question by name; `thresholds` is an empty tuple if none was typed.

        Args:
            defaults: Default values of the question's fields.

        Raises:
            Misuse: the text of an option has another form.
        """
        fields = super().question_fields(defaults)
        return {**fields, "thresholds": fields["thresholds"] or ()}


@dataclass(frozen=True)
class ModelComparisonOptions(options.QuestionOptions):
    """Options for the labels and the scores of several models."""

    label: str = options.option("NAME", "The column of true labels.")
    scores: str = options.option("S,S,S", "The columns of scores, one for each model.", parse=parse_names)
    grid: str = options.option("L:U:N", "Public cells of all scores.", "0:1:100", options.parse_grid)
    cells: str | None = options.optional(
        "N", "Cells that each score is merged to; chosen by a forecast if left out.", options.parse_integer
    )
    releases: str | None = options.optional(
        "pairs|scores", "Scores of each pair together, or one by one; chosen by a forecast if left out."
    )
    pos_label: str = options.option("LABEL", "The positive label.", "1", options.parse_label)
    neg_label: str | None = options.optional(
        "LABEL",
        "Negative label. Required for CSV files, and if the positive label is neither 1 nor 0.",
        options.parse_label,
    )
    model: str = options.option("TEXT", MODEL_HELP, "the models are taken as public", name="--model-note")


class DeclaredClassOptions(options.QuestionOptions):
    """Base of options with declared classes of the label."""

    label: str
    classes: str

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the question by name, with label column and classes joined to `Categories`.

        Args:
            defaults: Default values of the question's fields.

        Raises:
            Misuse: the text of an option has another form.
        """
        from dpcurves.data import Categories

        fields = super().question_fields(defaults)
        del fields["classes"]
        return {**fields, "label": Categories(self.label, options.parse_labels("classes", self.classes))}


@dataclass(frozen=True)
class MulticlassOptions(DeclaredClassOptions):
    """Options for true classes and the scores of each class."""

    label: str = options.option("NAME", "The column of true classes.")
    classes: str = options.option("A,B,C", "The classes, declared in public; records with others are missing.")
    scores: str = options.option(
        "S,S,S", "The columns of scores, one for each class in their order.", parse=parse_names
    )
    predicted: str | None = options.optional("NAME", "The column of predicted classes, for accuracy and confusion.")
    confidence: str | None = options.optional("NAME", "The column of the largest scores, for top-1 calibration.")
    grid: str = options.option("L:U:N", "Public cells of scores.", "0:1:20", options.parse_grid)
    groups: str = options.option("L:U:N", "Public cells of --confidence.", "0:1:10", options.parse_grid)
    model: str = options.option("TEXT", MODEL_HELP, PUBLIC_MODEL_RULE, name="--model-note")


@dataclass(frozen=True)
class OrdinalClassesOptions(DeclaredClassOptions):
    """Options for three ordered classes and a score."""

    label: str = options.option("NAME", "The column of classes.")
    classes: str = options.option("A,B,C", "Its three classes, in their order.")
    score: str = options.option("NAME", "The column of scores.")
    grid: str = options.option("L:U:N", "Public cells of scores.", "0:1:20", options.parse_grid)
    model: str = options.option("TEXT", MODEL_HELP, PUBLIC_MODEL_RULE, name="--model-note")


@dataclass(frozen=True)
class UpliftOptions(options.QuestionOptions):
    """Options for outcomes, treatments and scores."""

    outcome: str = options.option("NAME", "The column of outcomes.")
    treatment: str = options.option("NAME", "The column of treatments.")
    score: str = options.option(
        "NAME", "The column of predicted gains; or @FILE, a model in JSON.", parse=options.read_score_source
    )
    grid: str = options.option("L:U:N", "Public cells of scores.", "-1:1:40", options.parse_grid)
    pos_label: str = options.option("LABEL", "Label of the wanted outcome.", "1", options.parse_label)
    neg_label: str | None = options.optional(
        "LABEL",
        "Label of the unwanted outcome. Required for CSV files, and if --pos-label is neither 1 nor 0.",
        options.parse_label,
    )
    treated_value: str = options.option("LABEL", "The value of --treatment of the treated.", "1", options.parse_label)
    control_value: str | None = options.optional(
        "LABEL",
        "That of the others; needed in a CSV file, and where the other is neither 1 nor 0.",
        options.parse_label,
    )
    model: str = options.option("TEXT", MODEL_HELP, PUBLIC_MODEL_RULE, name="--model-note")


@dataclass(frozen=True)
class QuantileForecastOptions(options.QuestionOptions):
    """Options for errors of forecast quantiles."""

    errors: str = options.option("E,E,E", "For each quantile, the column of outcome minus forecast.", parse=parse_names)
    quantiles: str = options.option(
        "P,P,P", "The quantiles: rising shares between 0 and 1.", parse=options.parse_numbers
    )
    grid: str = options.option("L:U:N", "Public cells of errors, of which one begins at 0.", parse=options.parse_grid)
    model: str = options.option("TEXT", MODEL_HELP, PUBLIC_MODEL_RULE, name="--model-note")


@dataclass(frozen=True)
class PredictedObservedOptions(options.QuestionOptions):
    """Options for predicted and observed numbers."""

    predicted: str = options.option(
        "NAME", "The column of predictions; or @FILE, a model in JSON.", parse=options.read_score_source
    )
    observed: str = options.option("NAME", "The column of observed numbers, which --predicted predicts.")
    grid: str = options.option("L:U:N", "Public bins of predictions.", parse=options.parse_grid)
    observed_grid: str = options.option("L:U:N", "Public cells of observed numbers.", parse=options.parse_grid)
    model: str = options.option("TEXT", MODEL_HELP, PUBLIC_MODEL_RULE, name="--model-note")


@dataclass(frozen=True)
class PairwiseScorerOptions(options.QuestionOptions):
    """Options for labels and bounded features."""

    label: str = options.option("NAME", "The column of true labels.")
    features: list[str] = options.option("NAME=L:U", "A column of numbers with its bounds; given once for each.")
    folds: str = options.option("N", "Into how many folds records are put: 2 to 20.", "2", options.parse_integer)
    split_by: str | None = options.optional(
        "NAME", "The column of numbers whose hash decides on folds; else all features do."
    )
    pos_label: str = options.option("LABEL", "The positive label.", "1", options.parse_label)
    neg_label: str | None = options.optional(
        "LABEL",
        "Negative label. Required for CSV files, and if the positive label is neither 1 nor 0.",
        options.parse_label,
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the question by name, with each feature parsed from NAME=L:U to a `NumericColumn`.

        Args:
            defaults: Default values of the question's fields.

        Raises:
            Misuse: the text of an option has another form.
        """
        from dpcurves.cli.scores import parse_declared_column

        return {
            **super().question_fields(defaults),
            "features": tuple(parse_declared_column("features", text) for text in self.features),
        }


class NumbersView(ResultView):
    """View of all numbers of a result, or of the results of several categories."""

    def tables(self, curve: Any) -> list[ViewTable]:
        """Return a table with a row for each number, or with categories a row for each number and category.

        Args:
            curve: The released result, or results by category.
        """
        if not hasattr(curve, "label_columns"):
            columns = curve._known_columns()
            return [self.make_table(curve, columns, what=curve._interval_name(), max_rows=len(curve.names))]
        return [interleave_groups(curve, [NumbersView.tables(self, result)[0] for result in curve.values()])]


class ScorerView(NumbersView):
    """View of a scorer: the held-out area under the ROC curve, and coefficients."""

    def tables(self, curve: Any) -> list[ViewTable]:
        """Return the table of areas and other numbers, and a table with the coefficient of each feature.

        Args:
            curve: The released scorer.
        """
        coefficients = curve.coefficients
        return [
            *super().tables(curve),
            ViewTable("coefficients", {"feature": list(coefficients), "coefficient": [*coefficients.values()]}),
        ]


class ClassesView(NumbersView):
    """View of a model of several classes: all numbers, and the confusion matrix if predicted classes were counted."""

    def tables(self, curve: Any) -> list[ViewTable]:
        """Return a table of numbers, and the confusion matrix with a row for each true class.

        Args:
            curve: The released result.
        """
        tables = super().tables(curve)
        if curve.question.predicted is None:
            return tables
        import numpy as np

        labels = list(map(str, curve.question.label.values))
        columns = {f"predicted {label}": np.rint(curve.confusion[:, index]) for index, label in enumerate(labels)}
        return [*tables, ViewTable("records by true and predicted class", {"true": labels, **columns}, len(labels))]


class QuantilesView(NumbersView):
    """View of forecast quantiles: all numbers, and the histogram of the probability integral transform (PIT)."""

    def tables(self, curve: Any) -> list[ViewTable]:
        """Return a table of numbers, and a table with a row for each bin of the histogram.

        Args:
            curve: The released result.
        """
        ends = (0.0, *curve.question.quantiles, 1.0)
        expected = [after - before for before, after in pairwise(ends)]
        columns = {"from": ends[:-1], "to": ends[1:], "expected": expected, "observed": curve.pit}
        return [
            *super().tables(curve),
            ViewTable("PIT histogram: shares of outcomes between forecast quantiles", columns),
        ]


@dataclass(frozen=True)
class PictureOptions(options.ReadingOptions):
    """Option for the plot: numbers with their intervals, or the curves."""

    show: str = options.option("numbers|curves", "Result that is plotted. Both are paid for together.", "numbers")

    def adapt_view(self, view: Any, question: Any) -> Any:
        """Return the view that ``--show`` asks for.

        Args:
            view: View of the numbers.
            question: The question.

        Returns:
            `view`, or for ``--show curves`` a `CurvesView` around it.

        Raises:
            Misuse: curves of several categories are asked for, or the word is unknown.
        """
        curves = options.parse_choice("show", self.show, {"numbers": False, "curves": True})
        if curves and getattr(question, "by", None) is not None:
            raise Misuse("show", "curves are drawn of one result; leave --by out, or show numbers")
        return CurvesView(view.settings, view.max_points, view) if curves else view


@dataclass(frozen=True)
class CurvesView(ResultView):
    """View that draws the curves of a result and takes its tables from `numbers_view`."""

    numbers_view: Any = None

    def tables(self, curve: Any) -> list[ViewTable]:
        """Return the tables of the numbers, unchanged: only the drawing shows the curves.

        Args:
            curve: The released result.
        """
        tables: list[ViewTable] = self.numbers_view.tables(curve)
        return tables

    def draw(self, curve: Any) -> Any:
        """Draw the curves of a result without a display, and return the axes.

        Args:
            curve: A result: ROC curves of each class against the rest, or uplift and Qini curves with bands.
        """
        from dpcurves.display import SQUARE, headless_axes

        ax = headless_axes(SQUARE)
        return curve.plot_roc(ax) if hasattr(curve, "plot_roc") else curve.plot_curves(ax, level=self.settings.level)


COMMANDS = (
    make_question_command(
        "model-pair", "ModelPairQuestion", [ModelPairOptions, options.SplitOptions], [NumbersView],
        title="Two models on the same records: differences of areas, average precision, Brier scores and net benefit.",
        example="scored.parquet --label late --first p_old --second p_new --thresholds 0.2",
        more="Both scores are counted together, so intervals are those of paired models.",
    ),
    make_question_command(
        "model-comparison", "ModelComparisonQuestion", [ModelComparisonOptions, PictureOptions], [NumbersView],
        title="Several models on the same records: their areas under the ROC curve, and all differences.",
        example="scored.parquet --label late --scores p_old,p_new,p_third",
        more="Intervals of all areas hold together, and so do those of all differences.",
    ),
    make_question_command(
        "multiclass", "MulticlassQuestion", [MulticlassOptions, PictureOptions], [ClassesView],
        title="A model of several classes: areas of one against the rest and of pairs, accuracy, top-1 calibration.",
        example="scored.csv --label kind --classes a,b,c --scores p_a,p_b,p_c --predicted guess",
    ),
    make_question_command(
        "ordinal-classes", "OrdinalClassesQuestion", [OrdinalClassesOptions, options.SplitOptions], [NumbersView],
        title="How well a score orders three classes: the volume under the ROC surface.",
        example="scored.csv --label stage --classes 1,2,3 --score marker",
    ),
    make_question_command(
        "uplift", "UpliftQuestion", [UpliftOptions, options.SplitOptions, PictureOptions], [NumbersView],
        title="Gains over treatment: areas under uplift and Qini curves.",
        example="trial.parquet --outcome bought --treatment mailed --score gain",
    ),
    make_question_command(
        "quantile-forecasts", "QuantileForecastsQuestion", [QuantileForecastOptions], [QuantilesView],
        title="Forecast quantiles: how often outcomes lie below them, coverage of intervals, and pinball losses.",
        example="fitted.csv --errors e10,e50,e90 --quantiles 0.1,0.5,0.9 --grid -10:10:80",
    ),
    make_question_command(
        "predicted-observed", "PredictedObservedQuestion", [PredictedObservedOptions, options.SplitOptions],
        [NumbersView],
        title="Predicted against observed numbers, in bins of similar predictions.",
        example="fitted.csv --predicted fare --observed paid --grid 0:50:10 --observed-grid 0:100:50",
    ),
    make_question_command(
        "pairwise-scorer", "PairwiseScorerQuestion", [PairwiseScorerOptions], [ScorerView],
        title="Learn a linear scorer that ranks positives above negatives, judged on held-out records.",
        example="loans.parquet --label late --features age=18:90 --features owed=0:5000",
        more="Sums of features and of their products are released by class; AUC is of folds that were left out.",
    ),
)  # fmt: skip
"""Commands of the questions about models that this package adds, with their options and what they can show."""
QUESTIONS = FieldQuestions("verify", COMMANDS)
"""These commands for `dpcurves`, which lists them after `verify`."""
