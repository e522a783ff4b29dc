"""Commands of survival analysis: questions with columns of times, and statistics of released survival curves.

Option groups become fields of a question, and views print and plot its result. Statistics of a released curve, such as
restricted means and hazards, cost no further budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from dpcurves.cli import options
from dpcurves.cli.ask_file import (
    FieldQuestions,
    covers_population,
    describe_p_value,
    make_question_command,
    suppress_curve_warnings,
)
from dpcurves.cli.columns import build_weighted_question
from dpcurves.cli.output import IntervalSettings, ResultView, ViewTable, plot_headless
from dpcurves.cli.terminal import Misuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpcurves.curves import ByCategory
    from dpcurves.data import Grid

    from . import CompetingRisks, Survival, SurvivalModel


def survival_question(**said: Any) -> Any:
    """Return the survival question that the parsed command-line options ask for: weighted if a weight column is named,
    with an automatic range if there is no grid.

    Args:
        said: Values of the options by name.
    """
    from . import AutoRangeSurvivalQuestion, SurvivalQuestion

    if (found := build_weighted_question("WeightedSurvivalQuestion", said)) is not None:
        return found
    if said.get("grid") is not None:
        return SurvivalQuestion(**said)
    return AutoRangeSurvivalQuestion(**{name: value for name, value in said.items() if name != "grid"})


@dataclass(frozen=True)
class EventColumns(options.QuestionOptions):
    """Options for the columns of times and of event indicators (censoring)."""

    time: str = options.option("NAME", "A column of times: of the event, or of the end of observation without one.")
    event: str = options.option("NAME", "A column that says whether the event was observed.")
    event_value: str = options.option("LABEL", "Label of observed events.", "1", options.parse_label)
    censored_value: str | None = options.optional(
        "LABEL",
        "Label of censored records. Required for CSV files, and if --event-value is not one of 1, 0, -1, true, false.",
        options.parse_label,
    )
    measured_in: str = options.option("UNIT", "The unit of measurement, for the picture.", "")


class SurvivalView(ResultView):
    """View of a survival curve: an at-risk table with bands."""

    HIDDEN = ("cumulative_hazard", "at_risk_lower", "at_risk_upper")

    def tables(self, curve: Survival) -> list[ViewTable]:
        """Return one table: time, share without an event with its band, and the number at risk with its interval; the
        median as headline.

        Args:
            curve: The released curve.
        """
        (table,) = super().tables(curve)
        median = _describe_median(curve, self.settings.level)
        return [table._replace(headline="\n".join(filter(None, [median, table.headline])))]


MOST_NAMED_GROUPS = 6
"""Largest number of groups whose curves are printed and whose names a test lists; of more, the number alone, so that
the line stays short."""


class GroupedSurvivalView(ResultView):
    """View with a row per category: records, and median survival time; and the curves of few categories."""

    HIDDEN = SurvivalView.HIDDEN

    def tables(self, curves: ByCategory[Survival]) -> list[ViewTable]:
        """Return the tables that the command prints for survival curves by category.

        The first has a row for each category, with the released number of records and the median with its intervals,
        and the log-rank test above it; then follows the curve of each of up to six categories.

        Args:
            curves: Released curves by category.
        """
        table = curves.describe_groups(level=self.settings.level, population=self.settings.population)
        if table is None:
            return []
        groups = ViewTable.from_table(describe_log_rank_test(curves, self.settings), table, max(len(curves), 2))
        shown = curves.items() if len(curves) <= MOST_NAMED_GROUPS else ()  # more curves would fill several screens
        tables = [groups]
        for name, curve in shown:
            for view_table in ResultView.tables(self, curve):
                headline = f"{curves.format_category(name)}: {view_table.headline}".rstrip(": ")
                tables.append(view_table._replace(headline=headline))
        return tables


def _describe_median(curve: Survival, level: float) -> str:
    """Return one line: the median survival time of a curve, and its confidence interval for these records.

    Args:
        curve: The released curve.
        level: Confidence level of the interval, between 0 and 1.
    """
    from dpcurves.display import RECORDS, describe_interval, format_interval

    ends = format_interval(*curve.median_interval(level))
    return f"median {curve.median_text} ({describe_interval(level, 'interval', RECORDS)}: {ends})"


def describe_log_rank_test(
    curves: ByCategory[Survival], sure: IntervalSettings, weights: tuple[float, float] = (0.0, 0.0)
) -> str:
    """Return the log-rank test of groups as lines of text, each ended by a newline. Empty unless there are two groups
    with the same strata, or more without strata, and `sure`, the settings of the intervals, asks for intervals for the
    population.

    With several columns of categories, the first has the groups, and the other columns define strata.

    Args:
        curves: Survival curves by category.
        sure: Settings of the intervals.
        weights: Powers rho and gamma of the weighted test (Fleming and Harrington); (0, 0): the usual test.
    """
    group, *strata = curves.columns
    groups: dict[Any, dict[Any, Survival]] = {}
    for key, curve in curves.items():
        name, *stratum = key if isinstance(key, tuple) else (key,)
        groups.setdefault(name, {})[tuple(stratum)] = curve
    within = list(groups.values())
    is_pair = len(within) == 2 and within[0].keys() == within[1].keys()
    if not (is_pair or (len(within) > 2 and not strata)) or not covers_population(curves, sure):
        return ""
    from .group_tests import multivariate_log_rank_test
    from .kaplan_meier import log_rank_test

    rho, gamma = weights
    with suppress_curve_warnings():
        if is_pair:
            test = log_rank_test(*([*each.values()] for each in within), rho=rho, gamma=gamma)
        else:
            test = multivariate_log_rank_test([*curves.values()], rho=rho, gamma=gamma)
    name = "log-rank" if weights == (0.0, 0.0) else f"Fleming-Harrington ({weights[0]:g}, {weights[1]:g})"
    *first_names, last_name = (f"{group} {each}" for each in groups)
    names = f"{', '.join(first_names)} and {last_name}" + (f", strata of {', '.join(strata)}" if strata else "")
    if len(groups) > MOST_NAMED_GROUPS:
        names = f"{len(groups)} categories of {group}"
    statistic = "not known" if isnan(test.statistic) else f"{test.statistic:.3g}"
    words = f"{name}, {names}: chi-squared {statistic}, {describe_p_value(test.p_value)}"
    return "".join(f"{line}\n" for line in (words, *test.notes))


SHOWN_RESULTS = "survival", "hazard", "numbers", "figure"
"""Values of the option ``--show`` of survival curves: what is printed and drawn; the first is the default."""


@dataclass(frozen=True)
class TimeReadingOptions(options.ReadingOptions):
    """Options for results from released curves, and for statistics at times, at no further cost."""

    show: str = options.option(
        "incidence|numbers", "Result that is printed and plotted. Both are paid for together.", "incidence"
    )
    until: str | None = options.optional("T", "With --show numbers: the time up to which means are restricted.")
    times: str | None = options.optional(
        "T,T,...", "With --show numbers: times at which the cumulative incidence is printed."
    )

    def parse_times(self, shown: str, grid: Grid | None, since: str | None = None) -> Mapping[str, Any]:
        """Return the parsed times `until`, `times` and `since` of these options, as arguments of `SurvivalNumbers`.

        Args:
            shown: Word of --show, which says whether statistics are printed.
            grid: Grid of times; None: not known before the release.
            since: Time of --since as typed; None: not typed.

        Raises:
            Misuse: a time is not a number or lies beyond a known grid, times are given but statistics are not `shown`,
                or statistics are shown without times or without a grid.
        """
        if shown != "numbers" and (self.until, self.times, since) != (None, None, None):
            option_names = "--until, --times and --since" if hasattr(self, "since") else "--until and --times"
            raise Misuse("show", f"{option_names} need --show numbers")
        until, begin = (
            None if text is None else options.parse_number(name, text)
            for name, text in (("until", self.until), ("since", since))
        )
        times = () if self.times is None else options.parse_numbers("times", self.times)
        if shown == "numbers" and until is None and not times:
            raise Misuse("show", "add the times: --until T, or --times T,T")
        if grid is None and shown == "numbers":
            raise Misuse("grid", "statistics at times need a grid that contains them: give it instead of auto")
        if grid is not None:
            _require_times_on_grid(grid, until, times, begin)
        return {"until": until, "times": times, "since": begin}


@dataclass(frozen=True)
class SurvivalReadingOptions(TimeReadingOptions):
    """Options for results from survival curves at no further cost: statistics at times, hazards, a figure."""

    show: str = options.option(
        "|".join(SHOWN_RESULTS),
        "Result that is printed and plotted. All results are paid for together.",
        SHOWN_RESULTS[0],
    )
    times: str | None = options.optional("T,T,...", "With --show numbers: times at which survival is printed.")
    since: str | None = options.optional("T", "With --times: of those without an event up to this time.")
    weights: str = options.option(
        "R,G",
        "Powers rho and gamma of Fleming and Harrington's weights of the test of all groups; of two, further --by are "
        "strata.",
        "0,0",
    )
    theme: str = options.option("light|dark|print", "The colours of the figure.", "light")

    def adapt_view(self, view: ResultView, question: Any) -> ResultView:
        """Return `view`, or a `SurvivalReadingView` of the result that --show, --weights and --theme request.

        Args:
            view: View of the curve itself.
            question: The question.

        Raises:
            Misuse: a word of --show or --theme is unknown, or the weights are not two numbers of at least 0.
        """
        show = options.parse_choice("show", self.show, {word: word for word in SHOWN_RESULTS})
        rho, gamma = (*options.parse_numbers("weights", self.weights), None)[:2]
        if rho is None or gamma is None or min(rho, gamma) < 0:
            raise Misuse("weights", "two numbers of at least 0 are needed, as in 1,0 (rho,gamma)")
        options.parse_choice("theme", self.theme, dict.fromkeys(("light", "dark", "print")))
        times = self.parse_times(show, getattr(question, "grid", None), self.since)
        if show == "survival" and (rho, gamma) == (0.0, 0.0):
            return view
        return SurvivalReadingView(view.settings, show=show, arguments=times, weights=(rho, gamma), theme=self.theme)


@dataclass(frozen=True)
class CompetingRisksReadingOptions(TimeReadingOptions):
    """Options for results from competing risks at no further cost."""

    def adapt_view(self, view: ResultView, question: Any) -> ResultView:
        """Return `view` for incidences, or a `SurvivalReadingView` for the statistics at times of --show numbers.

        Args:
            view: View of the incidences.
            question: The question.
        """
        show = options.parse_choice("show", self.show, {word: word for word in ("incidence", "numbers")})
        times = self.parse_times(show, question.grid)
        return view if show == "incidence" else SurvivalReadingView(view.settings, show=show, arguments=times)


def _require_times_on_grid(grid: Grid, until: float | None, times: tuple[float, ...], since: float | None) -> None:
    """Check that all typed times lie on the grid, and that landmarks come after `since`, both rounded to edges.

    Args:
        grid: Time grid.
        until: Last time; None: not typed.
        times: Landmarks.
        since: Time of the condition; None: not typed.

    Raises:
        Misuse: a time is beyond the grid, or a landmark is not after `since`.
    """
    import numpy as np

    for name, time in (("until", until), ("since", since), *(("times", landmark) for landmark in times)):
        if time is not None and not grid.edges[0] <= time <= grid.edges[-1]:
            raise Misuse(name, f"a time from {grid.edges[0]:g} to {grid.edges[-1]:g} is needed, the range of --grid")
    if since is not None and (grid.nearest_edge(np.array(times)) <= grid.nearest_edge(np.array([since]))).any():
        raise Misuse("since", "must be a time before those of --times; give an earlier time")


@dataclass(frozen=True, kw_only=True)
class SurvivalReadingView(ResultView):
    """View of a result from one survival curve, or from the curves of all categories."""

    show: str
    arguments: Mapping[str, Any]
    weights: tuple[float, float] | None = None
    theme: str = "light"

    def tables(self, curves: Any) -> list[ViewTable]:
        """Return the table of the statistic that --show requests for each category, with intervals.

        The log-rank test of the categories is a line above the first table, if tests were requested.

        Args:
            curves: Released curve, or curves by category.
        """
        tested = hasattr(curves, "label_columns") and self.weights is not None
        test_lines = describe_log_rank_test(curves, self.settings, self.weights or (0.0, 0.0)) if tested else ""
        result = self.compute_reading(curves)
        members = result.items() if hasattr(result, "label_columns") else [("", result)]
        tables = [super(SurvivalReadingView, self).tables(member)[0] for _, member in members]
        heads = [f"{curves.format_category(name)}: " if name != "" else "" for name, _ in members]
        return [
            table._replace(headline=f"{'' if index else test_lines}{head}{table.headline}")
            for index, (head, table) in enumerate(zip(heads, tables, strict=True))
        ]

    def draw(self, curves: Any) -> Axes:
        """Return the axes of the plot of the result, or of the figure in journal style, drawn without a display.

        Args:
            curves: Released curve, or curves by category.
        """
        from dpcurves.display import headless_axes

        level: dict[str, Any] = {"level": self.settings.level, "population": self.settings.population}
        if self.show != "figure":
            return plot_headless(self.compute_reading(curves), **level)
        from . import survival_figure

        figure: Axes = survival_figure(
            curves, theme=self.theme, weights=self.weights or (0.0, 0.0), ax=headless_axes((6.4, 4.6)), **level
        )
        return figure

    def compute_reading(self, curves: Any) -> Any:
        """Return the object that --show requests, computed from released curves: `SurvivalNumbers`, cumulative
        hazards (one for each category), or the curves themselves.

        Args:
            curves: Released curve, or curves by category.
        """
        from dpcurves.curves import ByCategory

        from . import CumulativeHazard, SurvivalNumbers

        if self.show == "numbers":
            return SurvivalNumbers(curves, **self.arguments)
        if self.show != "hazard":
            return curves
        if not hasattr(curves, "label_columns"):
            return CumulativeHazard(curves)
        return ByCategory(curves.columns, {name: CumulativeHazard(curve) for name, curve in curves.items()})


@dataclass(frozen=True)
class CauseColumns(options.QuestionOptions):
    """Options for the time and the cause of the first event."""

    time: str = options.option(
        "NAME", "A column of times: of the first event, or of the end of observation without one."
    )
    event: str = options.option("NAME", "Column of the kind of event.")
    causes: str = options.option("A,B,C", "Its values for events, declared in public; other values count as missing.")
    censored_value: str = options.option("LABEL", "Label of censored records.", "0", options.parse_label)
    measured_in: str = options.option("UNIT", "The unit of measurement, for the picture.", "")

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the question as the base class does, with `causes` parsed into a tuple of labels.

        Args:
            defaults: Default values of the question's fields.
        """
        return {**super().question_fields(defaults), "causes": options.parse_labels("causes", self.causes)}


@dataclass(frozen=True, kw_only=True)
class EntryColumns(EventColumns):
    """Options for the columns of entries, of exits and of event indicators."""

    entry: str = options.option("NAME", "A column of times from which on records are observed, on the axis of --time.")
    entry_ties: str = options.option(
        "after|before", "Who enters at a declared value comes after its events, as in R, or before them.", "after"
    )


@dataclass(frozen=True)
class ExaminationColumns(options.QuestionOptions):
    """Options for the columns of both examinations between which an event lies."""

    last: str = options.option("NAME", "A column of times: the last examination without the event.")
    first: str = options.option(
        "NAME", "A column of times: the first examination with the event; empty or inf: not yet seen."
    )
    measured_in: str = options.option("UNIT", "The unit of measurement, for the picture.", "")
    missing_times: str = options.option(
        "open|excluded",
        "A missing time leaves that end of the interval open, as in R's interval2, or excludes the record.",
        "open",
    )


@dataclass(frozen=True)
class ScoreColumns(options.QuestionOptions):
    """Options for a score that predicts an event before a horizon."""

    score: str = options.option(
        "NAME",
        "A column of predicted chances of an event before the horizon; or @FILE, a model in JSON.",
        parse=options.read_score_source,
    )
    time: str = options.option("NAME", "A column of times: of the event, or of the end of observation without one.")
    event: str = options.option("NAME", "A column that says whether the event was observed.")
    times: str = options.option(
        "L:U:N", "Public cells of time, from the beginning to the horizon; a few are enough.", parse=options.parse_grid
    )
    scores: str = options.option("L:U:N", "Public cells of scores.", "0:1:50", options.parse_grid)
    groups: str = options.option(
        "N", "Largest number of groups of similar scores.", "10", options.parse_integer_above_one
    )
    event_value: str = options.option("LABEL", "The value of --event where it was observed.", "1", options.parse_label)
    censored_value: str | None = options.optional(
        "LABEL",
        "Label of censored records. Required for CSV files, and if --event-value is neither 1 nor 0.",
        options.parse_label,
    )
    model: str = options.option(
        "TEXT", "What pictures and JSON say about the model.", "the model is taken as public", name="--model-note"
    )


class GroupedView(ResultView):
    """View of the results of several categories; each category has the tables of a single result."""

    def tables(self, curves: Any) -> list[ViewTable]:
        """Return the tables of all categories, with the category in each headline.

        Args:
            curves: Released curves by category.
        """
        tables = []
        for name, curve in curves.items():
            category = curves.format_category(name)
            for table in ResultView.tables(self, curve):
                tables.append(table._replace(headline=f"{category}: {table.headline}"))
        return tables


class IncidenceView(ResultView):
    """View of competing risks: incidences of all causes with bands, and numbers at risk."""

    MAX_ROWS = 60
    HIDDEN = ("hazard", "at_risk_lower", "at_risk_upper")


class GroupedIncidenceView(IncidenceView):
    """View of the competing risks of several categories, below Gray's test of each cause."""

    def tables(self, groups: Any) -> list[ViewTable]:
        """Return the table of each category, with the category in its headline.

        Args:
            groups: Released incidences by category.
        """
        lines = describe_gray_tests(groups, self.settings)  # once, above the first category
        tables = []
        for name, risks in groups.items():
            category = f"{lines}{groups.format_category(name)}"
            lines = ""
            for table in ResultView.tables(self, risks):
                tables.append(table._replace(headline=f"{category}: {table.headline}"))
        return tables


def describe_gray_tests(groups: ByCategory[CompetingRisks], settings: IntervalSettings) -> str:
    """Return Gray's test of each cause as lines; empty unless one column has groups, and intervals are for the
    population.

    Args:
        groups: Released incidences by category.
        settings: Settings of the intervals, with the scopes that were asked for.
    """
    if len(groups.columns) != 1 or len(groups) < 2 or not covers_population(groups, settings):
        return ""
    from .incidence_tests import gray_test

    lines = list[str]()
    for cause in next(iter(groups.values())).causes:
        with suppress_curve_warnings():
            test = gray_test(groups, cause)
        statistic = "not known" if isnan(test.statistic) else f"{test.statistic:.3g}"
        lines += [f"Gray's test of {cause}: chi-squared {statistic}, {describe_p_value(test.p_value)}", *test.notes]
    return "".join(f"{line}\n" for line in lines)


class SurvivalModelView(ResultView):
    """View of a survival model: area, Brier score and C-index with intervals, and observed shares by group."""

    def tables(self, model: SurvivalModel) -> list[ViewTable]:
        """Return one table with a row for each group of similar scores; area, Brier score and C-index are lines above
        it.

        Args:
            model: The released result.
        """
        from dpcurves.display import format_interval, format_number

        lines = []
        for number in (model.auc, model.brier, model.concordance):
            for name, population in self.select_scopes(model.privacy).items():
                ends = format_interval(*number.interval(self.settings.level, population=population))
                lines.append(
                    f"{number.name} {format_number(number.value)}, {self.settings.level:.0%} interval {name}: {ends}"
                )
        (table,) = super().tables(model)
        return [table._replace(headline="\n".join([*lines, table.headline]))]


class GroupedSurvivalModelView(SurvivalModelView):
    """View of a survival model in several categories: statistics and groups of scores of each."""

    def tables(self, models: Any) -> list[ViewTable]:
        """Return the table of each category below its statistics, with the category in its headline.

        Args:
            models: The released results by category, a `ByCategory` of `SurvivalModel`.
        """
        tables = []
        for name, model in models.items():
            (table,) = SurvivalModelView.tables(self, model)
            tables.append(table._replace(headline=f"{models.format_category(name)}: {table.headline}"))
        return tables


VIEWS = [ResultView, GroupedView]
"""What the commands of survival curves can print: one curve, and curves by group."""
COMMANDS = (
    make_question_command(
        "survival", survival_question,
        [EventColumns, options.AutoCells, options.SplitOptions, options.WeightOptions, SurvivalReadingOptions],
        [SurvivalView, GroupedSurvivalView],
        title="The time until an event, with censored records.",
        example="patients.parquet --time months --event died --grid 0:60:60",
        more="Numbers at times, cumulative hazards and a figure for papers are read from the same release: --show says "
        "which. Where no horizon is known, a part of the loss looks for it: --grid auto.",
    ),
    make_question_command(
        "incidence", "CompetingRisksQuestion",
        [CauseColumns, options.CellOptions, options.SplitOptions, CompetingRisksReadingOptions],
        [IncidenceView, GroupedIncidenceView],
        title="Competing risks: the time until the first of several kinds of event, with censored records.",
        example="patients.csv --time months --event outcome --causes relapse,death --grid 0:60:60",
        more="Cumulative incidence (Aalen and Johansen) and cumulative hazard of each cause, numbers at risk, and "
        "Gray's test of groups. Shares with an event at "
        "times, time lost to each cause, and of two groups differences and hazard ratios are read for nothing more: "
        "--show numbers.",
    ),
    make_question_command(
        "delayed-entry", "DelayedEntryQuestion",
        [EntryColumns, options.CellOptions, options.SplitOptions, SurvivalReadingOptions],
        [SurvivalView, GroupedSurvivalView],
        title="The time until an event, of records that come under observation later (left truncation).",
        example="patients.parquet --entry age_in --time age_out --event died --grid 60:90:30",
        more="The grid begins where enough have entered; the curve is of those that have had no event by then. --show "
        "reads it as dpcurves survival does.",
    ),
    make_question_command(
        "interval-censored", "IntervalCensoredQuestion",
        [ExaminationColumns, options.CellOptions, options.SplitOptions], VIEWS,
        title="The time until an event that is only known to lie between two examinations (interval censoring).",
        example="patients.csv --last seen_without --first seen_with --grid 0:24:12",
        more="Turnbull's estimate, from counts of pairs of cells.",
    ),
    make_question_command(
        "survival-model", "SurvivalModelQuestion", [ScoreColumns, options.SplitOptions],
        [SurvivalModelView, GroupedSurvivalModelView],
        title="A model of survival at a horizon: calibration, time-dependent area, Brier score, Harrell's C-index.",
        example="scored.parquet --score risk --time months --event died --times 0:24:12",
        more="Records that are censored before the horizon are made up for by inverse censoring weights.",
    ),
)  # fmt: skip
"""Commands of the questions about survival that this package adds, with their options and what they can show."""
QUESTIONS = FieldQuestions("contingency", COMMANDS)
"""These commands for `dpcurves`, which lists them after `contingency`."""
