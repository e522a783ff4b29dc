"""Commands for all questions to one table, by their names: each is a kind of question, its options and its view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from . import columns
from . import options as of
from . import scores as models
from .ask_file import LISTED, FieldQuestions, Terms, build_question, make_question_command
from .options import Command
from .output import BinnedResidualsView, HosmerLemeshowView, Output, ResultView, RocView
from .studies import study


def scores(
    scored: of.ScoreOptions, cells: of.AutoCells, showing: models.ShowOptions, terms: Terms, output: Output
) -> None:
    """Many curves of a score of two classes, for one privacy loss.

    ROC and precision-recall curve, gain, confusion matrix, decision curve, calibration and more are read from one
    release: --show says which, and others are free under the same --request-id.

    Scores lie in [0, 1] unless a grid is given; with --grid auto a part of the loss looks for their range.

    Example: dpcurves scores scored.parquet --label late --score p_late --show precision-recall --epsilon 1
    --adjacency replace-one
    """
    question = build_question(
        "AutoRangeScoresQuestion" if cells.is_auto else "ScoresQuestion", scored, cells, showing.split_options
    )
    view = showing.view(output.interval_settings(), getattr(question, "grid", None))
    terms.answer(question, models.GroupedScoresView(view) if question.by else view, output)


STATISTICS = columns.SummaryView, columns.SummariesView
COMMANDS = (
    make_question_command(
        "cdf", columns.cdf_question, [of.SmoothColumn, of.OptionalEdgeCells, of.SplitOptions, of.WeightOptions],
        [ResultView, columns.QuartilesView],
        title="The distribution function of a column.",
        example="flights.csv --column arr_delay --grid -100:1300:4096",
        more="Without a grid a part of the loss looks for the range first. "
        "With --at or --points it is counted at a few edges only. Other edges, and quantiles along the same fine "
        "grid, then cost nothing under the same --request-id.",
    ),
    make_question_command(
        "quantiles", columns.quantiles_question, [of.ColumnOptions, of.OptionalHintedCells, of.SHARES, of.WeightOptions],
        [columns.QuantilesView],
        title="Quantiles of a column.",
        example="flights.csv --column arr_delay --grid -100:1300:4096 --at 0.5,0.9",
        more="All are read from one distribution function, so more quantiles cost no more. On a grid with too many "
        "cells to be counted they are found by bisection, with intervals at --level.",
        complete_question=lambda question, view: getattr(question, "with_level_of_search", lambda _: question)(view.settings.level),
    ),
    make_question_command(
        "histogram", columns.histogram_question, [of.ColumnOptions, of.AutoCells, of.SplitOptions],
        [columns.HistogramView, columns.HistogramsView],
        title="Counts of records in cells.",
        example="flights.csv --column arr_delay --grid -60:180:16",
        more="With --grid auto a part of the loss chooses cells.",
    ),
    make_question_command(
        "summary", columns.make_summary_builder("SummaryQuestion", "mean"),
        [columns.BoundedColumn, of.MOMENTS, of.SplitOptions, of.WeightOptions], STATISTICS,
        title="Count, sum, mean and variance of a column.",
        example="flights.csv --column arr_delay --bounds -60:180",
    ),
    make_question_command(
        "count", "CountQuestion", [of.ONE_COLUMN, of.SplitOptions], STATISTICS,
        title="Number of records that have a value in a column.",
        example="flights.csv --column arr_delay", adjacency="add-remove",
    ),
    make_question_command(
        "sum", columns.make_summary_builder("SumQuestion", "sum"), [columns.BoundedColumn, of.SplitOptions, of.WeightOptions], STATISTICS,
        title="The sum of a column, with its count and mean.",
        example="flights.csv --column arr_delay --bounds 0:180",
    ),
    make_question_command(
        "mean", columns.make_summary_builder("MeanQuestion", "mean"), [columns.BoundedColumn, of.SplitOptions, of.WeightOptions], STATISTICS,
        title="The mean of a column, with its count, sum and variance.",
        example="flights.csv --column arr_delay --bounds -60:180",
    ),
    make_question_command(
        "variance", columns.make_summary_builder("VarianceQuestion", "variance"), [columns.BoundedColumn, of.SplitOptions], STATISTICS,
        title="The variance of a column, with its count, sum and mean.",
        example="flights.csv --column arr_delay --bounds -60:180",
    ),
    make_question_command(
        "contingency", "ContingencyQuestion", [columns.CrossTableOptions], [columns.ContingencyView],
        title="Counts of pairs of two columns' categories, and a test of independence.",
        example="flights.csv --rows carrier --row-categories UA,AA --columns late --column-categories 0,1",
    ),
    make_question_command(
        "bounds", columns.bounds_question, [columns.MagnitudeOptions, of.COVERAGE], [columns.BoundsView],
        title="Bounds of the values of a column, or of two columns: symmetric intervals or a rectangle around zero.",
        example="flights.csv --column arr_delay --smallest 10 --coverage 0.95",
        more="The answer is a power of two times the smallest bound. A grid may then be chosen within it.",
        epsilon="0.1",
    ),
    scores,
    make_question_command(
        "roc", "RocQuestion", [of.ScoreOptions, of.ThresholdCells], [RocView],
        title="The ROC curve of a score, and its area.",
        example="scored.parquet --label late --score p_late",
        more="Scores lie in [0, 1] unless a grid is given; those outside are counted separately. --at or --points "
        "name all thresholds; others then cost nothing under the same --request-id.",
    ),
    make_question_command(
        "calibration", "CalibrationQuestion", [of.ScoreOptions, of.GROUPS, of.GroupedCells], [ResultView],
        title="The calibration curve of a score.",
        example="scored.parquet --label late --score p_late",
        more="How often the label is positive among records of similar score. Scores lie in [0, 1] unless a grid "
        "is given.",
    ),
    make_question_command(
        "hosmer-lemeshow", "HosmerLemeshowQuestion", [of.ScoreOptions, of.GROUPS, of.GroupedCells],
        [HosmerLemeshowView],
        title="The Hosmer-Lemeshow test of a score.",
        example="scored.parquet --label late --score p_late",
        more="Do predicted probabilities agree with the labels? The p-value includes noise and sampling.",
    ),
    make_question_command(
        "binned-residuals", "BinnedResidualsQuestion", [of.TwoClasses, of.ORIGIN, of.BINS, of.GroupedCells],
        [BinnedResidualsView],
        title="Mean residuals of bins of similar scores.",
        example="scored.parquet --label late --score p_late --model disjoint",
        more="Where does the model predict too much, and where too little? The envelope includes noise and sampling.",
    ),
    make_question_command(
        "residuals", "ResidualPlotQuestion", [models.ResidualPlotOptions, of.ORIGIN, of.COVERAGE, of.CELLS],
        [models.ResidualPlotView],
        title="Residuals against predictions.",
        example="fitted.parquet --predicted fare --residual error --unit-predicted 1 --unit-residual 1 --coverage 0.95 "
        "--model disjoint",
        more="Bounds are found privately; within them a density is estimated, and synthetic points are drawn from it.",
    ),
    make_question_command(
        "table", "Histogram2DQuestion", [columns.PlaneOptions], [columns.Histogram2DView],
        title="Counts of two columns together.",
        example="flights.csv --x dep_delay --y arr_delay --x-grid -60:240:64 --y-grid -60:240:64",
    ),
    make_question_command(
        "verify", "VerifyQuestion", [models.ClaimOptions], [ResultView],
        title="Verify a claim about a regression coefficient: its sign, or an interval that it lies in.",
        example="people.csv --outcome late=0,1 --explained-by age=18:90 --coefficient age --above 0",
        more="Units are put into disjoint subsets, in each a regression is fitted, and those that confirm the claim "
        "are counted.",
    ),
    study,
)  # fmt: skip


def _list_commands() -> Iterator[Command]:
    """Commands of the core, each before those of fields that are listed after it."""
    found: list[FieldQuestions] = [
        each.load() for each in sorted(entry_points(group=LISTED), key=lambda each: each.name)
    ]
    for command in COMMANDS:
        yield command
        yield from (each for field in found if field.after == command.__name__ for each in field.commands)


QUESTIONS: Mapping[str, Command] = MappingProxyType({each.__name__: each for each in _list_commands()})


def commands_for_terms(terms: type[Any], *, plans: bool = False) -> dict[str, Command]:
    """Commands for all questions to one table, with terms of another deployment in place of a file's.

    Args:
        terms: A class of options with a method ``answer(question, view, output)``.
        plans: Whether nothing is answered, so that there are no options for output.
    """
    return {
        name: _bind_terms(command, terms, plans)
        for name, command in QUESTIONS.items()
        if of.groups_of(command).get("terms") is Terms
    }


def _bind_terms(command: Command, kind: type[Any], plans: bool) -> Command:
    without = (Terms, Output) if plans else (Terms,)
    asked = {name: group for name, group in of.groups_of(command).items() if group not in without}

    def run_command(terms: Any, **groups: Any) -> None:
        command(**groups, terms=terms, **({"output": Output()} if plans else {}))

    run_command.__name__, run_command.__doc__ = (
        command.__name__,
        (command.__doc__ or "").partition("\n\n    Example:")[0],
    )
    run_command.__annotations__ = {**asked, "terms": kind}
    return run_command
