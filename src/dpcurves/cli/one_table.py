"""Commands that ask one question of one table, such as ``dpcurves cdf``: the list of all of them, with their options.

`QUESTIONS` has the commands by name. Most are made by `make_question_command` from an entry

    command name, question class, groups of options, views that print the result, title, example

and print the released result as a table, with the privacy loss that was spent. Commands of other packages are listed
after the ones that they name. `commands_for_terms` returns the same commands for other deployments, such as a server,
which have other privacy terms. The module defines commands; records are read when one is run, after its charge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ..extensions import find_entry_points
from . import columns, options
from . import scores as score_options
from .ask_file import QUESTION_ENTRY_POINTS, FieldQuestions, Terms, build_question, make_question_command
from .options import Command
from .output import BinnedResidualsView, HosmerLemeshowView, Output, ResultView, RocView
from .studies import ask_study


def scores(  # noqa: PLR0917
    scored: options.ScoreOptions,
    cells: options.AutoCells,
    showing: score_options.ShowOptions,
    row_filter: options.FilterOptions,
    terms: Terms,
    output: Output,
) -> None:
    """Many curves of a binary classifier's scores, for one privacy loss.

    ROC and precision-recall curve, gain, confusion matrix, decision curve, calibration and more are computed from one
    release. --show selects one; the others are free under the same --request-id.

    Scores lie in [0, 1] unless a grid is given. With --grid auto, part of the budget searches for their range.
    Example: dpcurves scores scored.parquet --label late --score p_late --show precision-recall --epsilon 1
    --adjacency replace-one
    """
    question = build_question(
        "AutoRangeScoresQuestion" if cells.is_auto else "ScoresQuestion", scored, cells, showing.split_options
    )
    question = row_filter.apply(question)
    view = showing.view(output.interval_settings(), getattr(question, "grid", None))
    terms.answer(question, score_options.GroupedScoresView(view) if question.by else view, output)


STATISTICS = columns.SummaryView, columns.SummariesView
"""How counts, sums, means and variances are printed and plotted: one result, or one for each category of --by."""
COMMANDS = (
    make_question_command(
        "cdf", columns.cdf_question,
        [options.SmoothColumn, options.OptionalEdgeCells, options.SplitOptions, options.WeightOptions],
        [ResultView, columns.QuartilesView],
        title="Distribution function of a column.",
        example="flights.csv --column arr_delay --grid -100:1300:4096",
        more="Without a grid, part of the budget searches for the range first. "
        "With --cut-points or --points only a few edges are counted. Other edges, and quantiles along the same fine "
        "grid, then cost nothing under the same --request-id.",
    ),
    make_question_command(
        "quantiles", columns.quantiles_question,
        [
            options.ColumnOptions, options.OptionalHintedCells, options.ProbabilityOptions, options.SplitOptions,
            options.WeightOptions,
        ],
        [columns.QuantilesView, columns.QuartilesView],
        title="Quantiles of a column.",
        example="flights.csv --column arr_delay --grid -100:1300:4096 --probabilities 0.5,0.9",
        more="All quantiles come from one distribution function, so more quantiles cost no more. If the grid has too "
        "many cells to count, they are found by bisection, with intervals at --level. With --by they are those of one "
        "distribution function per group.",
        complete_question=lambda question, view: (
            getattr(question, "with_level_of_search", lambda _: question)(view.settings.level)
        ),
    ),
    make_question_command(
        "histogram", columns.histogram_question,
        [options.ColumnOptions, options.AutoCells, options.SplitOptions, options.WeightOptions],
        [columns.HistogramView, columns.HistogramsView],
        title="Counts of records in cells.",
        example="flights.csv --column arr_delay --grid -60:180:16",
        more="With --grid auto, part of the budget chooses the cells. With --weight: shares and sums of weights, which "
        "are bins of a weighted distribution function.",
        complete_question=columns.require_unsuppressed,
    ),
    make_question_command(
        "bars", "BarChartQuestion", [columns.CategoryOptions, columns.BarOptions], [columns.BarChartView],
        title="Bar chart: counts and shares of records by category of a column.",
        example="flights.csv --column carrier --categories UA,AA,B6 --sort count",
        more="Values of no listed category are counted together as other. Without categories, --delta or --universe "
        "selects those of many units.",
    ),
    make_question_command(
        "summary", columns.make_summary_builder("SummaryQuestion", "mean"),
        [columns.BoundedColumn, options.MOMENTS, options.SplitOptions, options.WeightOptions], STATISTICS,
        title="Count, sum, mean and variance of a column.",
        example="flights.csv --column arr_delay --bounds -60:180",
    ),
    make_question_command(
        "count", columns.count_question, [options.COUNTED_COLUMN, options.SplitOptions, options.WeightOptions],
        STATISTICS,
        title="Number of records, or of those that have a value in a column; with weights, of those they represent.",
        example="flights.csv --by carrier=UA,AA", adjacency="add-remove",
    ),
    make_question_command(
        "sum", columns.make_summary_builder("SumQuestion", "sum"),
        [columns.BoundedColumn, options.SplitOptions, options.WeightOptions], STATISTICS,
        title="Sum of a column, with its count and mean.",
        example="flights.csv --column arr_delay --bounds 0:180",
    ),
    make_question_command(
        "mean", columns.make_summary_builder("MeanQuestion", "mean"),
        [columns.BoundedColumn, options.SplitOptions, options.WeightOptions], STATISTICS,
        title="Mean of a column, with its count, sum and variance.",
        example="flights.csv --column arr_delay --bounds -60:180",
    ),
    make_question_command(
        "variance", columns.make_summary_builder("VarianceQuestion", "variance"),
        [columns.BoundedColumn, options.SplitOptions], STATISTICS,
        title="Variance of a column, with its count, sum and mean.",
        example="flights.csv --column arr_delay --bounds -60:180",
    ),
    make_question_command(
        "contingency", "ContingencyQuestion", [columns.CrossTableOptions], [columns.ContingencyView],
        title="Counts of pairs of categories of two columns, and a test of independence.",
        example="flights.csv --rows carrier --row-categories UA,AA --columns late --column-categories 0,1",
    ),
    make_question_command(
        "bounds", columns.bounds_question, [columns.MagnitudeOptions, options.COVERAGE], [columns.BoundsView],
        title="Private bounds on the values of a column, or of two columns: symmetric intervals around zero.",
        example="flights.csv --column arr_delay --smallest 10 --coverage 0.95",
        more="Each bound is a power of two times the smallest bound. A grid can then be chosen within the bounds.",
        epsilon="0.1",
    ),
    scores,
    make_question_command(
        "roc", "RocQuestion", [options.ScoreOptions, options.ThresholdCells], [RocView],
        title="ROC curve of a score, with its area (AUC).",
        example="scored.parquet --label late --score p_late",
        more="Scores lie in [0, 1] unless a grid is given; scores outside are counted separately. --cut-points or "
        "--points name all thresholds; others then cost nothing under the same --request-id.",
    ),
    make_question_command(
        "calibration", "CalibrationQuestion", [options.ScoreOptions, options.GROUPS, options.GroupedCells],
        [ResultView],
        title="Calibration curve of a score.",
        example="scored.parquet --label late --score p_late",
        more="Share of positive labels among records of similar score. Scores lie in [0, 1] unless a grid "
        "is given.",
    ),
    make_question_command(
        "hosmer-lemeshow", "HosmerLemeshowQuestion", [options.ScoreOptions, options.GROUPS, options.GroupedCells],
        [HosmerLemeshowView],
        title="Hosmer-Lemeshow test of a score.",
        example="scored.parquet --label late --score p_late",
        more="Tests whether predicted probabilities agree with the labels. The p-value accounts for noise and "
        "sampling.",
    ),
    make_question_command(
        "binned-residuals", "BinnedResidualsQuestion",
        [options.TwoClasses, options.ORIGIN, options.BINS, options.GroupedCells],
        [BinnedResidualsView],
        title="Mean residuals in bins of similar scores.",
        example="scored.parquet --label late --score p_late --model disjoint",
        more="Shows where the model predicts too much or too little. The envelope accounts for noise and sampling.",
    ),
    make_question_command(
        "residuals", "ResidualPlotQuestion",
        [score_options.ResidualPlotOptions, options.ORIGIN, options.COVERAGE, options.CELLS],
        [score_options.ResidualPlotView],
        title="Residuals against predictions.",
        example="fitted.parquet --predicted fare --residual error --unit-predicted 1 --unit-residual 1 --coverage 0.95 "
        "--model disjoint",
        more="Finds private bounds, estimates a density within them, and draws synthetic points from it.",
    ),
    make_question_command(
        "table", "Histogram2DQuestion", [columns.PlaneOptions], [columns.Histogram2DView],
        title="Two-dimensional histogram: counts of two columns.",
        example="flights.csv --x dep_delay --y arr_delay --x-grid -60:240:64 --y-grid -60:240:64",
    ),
    make_question_command(
        "verify", "VerifyQuestion", [score_options.ClaimOptions], [ResultView],
        title="Verify a claim about a regression coefficient: its sign, or an interval that contains it.",
        example="people.csv --outcome ill=0,1 --explained-by age=18:90 --coefficient age --above 0",
        more="Units are divided into disjoint subsets, a regression is fitted in each, and the subsets that confirm "
        "the claim are counted.",
    ),
    ask_study,
)  # fmt: skip
"""Question commands of this package, each with its options and the views that print its result, in the order of the
help."""


def _list_commands() -> Iterator[Command]:
    """Yield the core's commands, each followed by the commands of other packages that are listed after it."""
    field_questions: list[FieldQuestions] = [
        entry_point.load() for entry_point in find_entry_points(QUESTION_ENTRY_POINTS)
    ]
    for command in COMMANDS:
        yield command
        for field in field_questions:
            if field.after == command.__name__:
                yield from field.commands


QUESTIONS: Mapping[str, Command] = MappingProxyType({command.__name__: command for command in _list_commands()})
"""All question commands by name, those of installed packages included."""


def commands_for_terms(terms: type[Any], *, plans: bool = False) -> dict[str, Command]:
    """Return the commands of all questions to one table, with the terms of another deployment instead of a file's.

    Args:
        terms: Class of options with a method ``answer(question, view, output)``.
        plans: Whether the commands only plan, so that they have no output options.
    """
    return {
        name: _bind_terms(command, terms, plans)
        for name, command in QUESTIONS.items()
        if options.groups_of(command).get("terms") is Terms
    }


def _bind_terms(command: Command, kind: type[Any], plans: bool) -> Command:
    """Return a command with the same question options, and the options of another deployment as its terms.

    Args:
        command: Command of `QUESTIONS`.
        kind: Class of options with a method ``answer(question, view, output)``.
        plans: Whether the command only plans, so that it has no output options.
    """
    own_groups = (Terms, Output) if plans else (Terms,)
    option_groups = {name: group for name, group in options.groups_of(command).items() if group not in own_groups}

    def run_command(terms: Any, **groups: Any) -> None:
        """Run the question's command with the options `terms` of another deployment in place of a file's options.

        Args:
            groups: Values of the option groups of the question, by name.
        """
        command(**groups, terms=terms, **({"output": Output()} if plans else {}))

    run_command.__name__ = command.__name__
    run_command.__doc__ = (command.__doc__ or "").partition("\n\n    Example:")[0]
    run_command.__annotations__ = {**option_groups, "terms": kind}
    return run_command
