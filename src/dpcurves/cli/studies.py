"""Plan questions without asking them, and ask the questions of a study.

A study is a file with many questions that share one budget (`ask_study`). A plan command prints the rounds, losses,
errors and mechanisms of a question from public facts, and spends nothing.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..drafts import write_whole
from . import options
from .ask_file import (
    UNRECORDED_NOTE,
    UNTYPED_CSV_NOTE,
    Terms,
    apply_stored_view,
    is_untyped,
    open_session,
    print_plan_notes,
    read_stored_views,
    report_failures_after_charge,
    suppress_curve_warnings,
)
from .columns import ALPHA
from .options import Argument, Option
from .output import Output, add_title, check_language, plot_headless, read_text
from .terminal import (
    Misuse,
    OutputError,
    make_console,
    print_to_console,
    print_to_stderr,
    show_late_progress_bar,
    show_progress_bar,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from rich.table import Table

    from ..conversation import Plans
    from ..curves import Question
    from ..forecasts import Forecast
    from ..privacy import Adjacency, AdjacencyWithoutBound, PrivacyLoss
    from ..session import Session
    from ..study import Study, StudyQuestion
    from .output import View


ADAPTIVE_NOTE = (
    "\nLater rounds depend on the noisy answers of earlier ones: the plan assumes that records are spread evenly, or, "
    "if their number is private, that all cells are counted. A curve is estimated from all rounds together."
)
"""Line below the table of a plan whose later rounds depend on noisy answers of earlier ones, so that their errors are
only expected."""
FORECAST_HINT = "\nFor half widths of bands and intervals: --forecast N; --plot FILE draws them."
"""Hint below the table of a plan without a forecast."""
PLOT_HINT = "\n--plot FILE draws what the answer would look like."
"""Hint below the table of a plan with a forecast."""
FILTER_HINT = "noise is the same for any filter; --share-of-rows 0.1 shows errors for rows of which a tenth passes"
"""Note of a plan whose question has a filter (--where) without --share-of-rows."""
EXAMPLE_LINE = re.compile(r"(Example: dpcurves) (\S+) \S+[.](?:csv|parquet)")
"""Finds the example in a question's help, which names a file; the help of ``dpcurves plan`` shows it without the file
and with ``plan`` before the command."""
ALPHA_RISK = 0.05
"""Probability, 5 %, that the error of an answer exceeds the alpha that `dpcurves plan` prints: the usual complement of
a 95 % interval. A smaller one prints a larger alpha."""


@dataclass(frozen=True)
class ForecastOptions:
    """Options for a forecast of the error of a result and of the width of its interval."""

    forecast: str | None = options.optional(
        "N",
        "Forecast the error of the result and the half width of the printed 95% interval, by simulating N records of "
        "several distributions (smooth, tied, one third zeros and others).",
    )
    like: str | None = options.optional(
        "FILE",
        "Forecast for records distributed as in a released curve, as --json wrote it, at no further loss: as many "
        "records as the curve has, or --forecast N.",
    )
    share_of_rows: str | None = options.optional(
        "SHARE",
        "Your guess of the share of rows that pass --where, e.g. 0.1. Errors are relative to these; nothing is read.",
    )
    plot: str | None = options.optional(
        "FILE",
        "Plot the forecast for the least favourable distribution, with its band, to a .svg, .png or .pdf file. "
        "Without --forecast or --like, for the number of records in --units.",
    )
    language: str = options.option("CODE", "Language of the plot: en, de, fr or es.", "en")

    @property
    def is_asked(self) -> bool:
        """True if at least one option of forecasts has a value."""
        return any(value is not None for value in (self.forecast, self.like, self.plot))

    def parse_row_share(self) -> float | None:
        """Return the share of rows that pass the filter; None if it was not typed. Raises `Misuse` for other texts."""
        return None if self.share_of_rows is None else options.parse_row_share("share_of_rows", self.share_of_rows)

    def require_writable(self, units: options.UnitCountOptions) -> None:
        """Refuse a plot file that cannot be written, and a plot without a number of records.

        Args:
            units: Options with the public number of units.

        Raises:
            Misuse: the file cannot be written, or no number of records is known.
        """
        Output(plot=self.plot, language=self.language).require_writable()
        if self.plot is not None and self._record_count(units) is None and self.like is None:
            raise Misuse("plot", "give the number of records, as --forecast N")

    def _record_count(self, units: options.UnitCountOptions) -> int | None:
        """Return the number of records to simulate: typed, or the public number for a plot; None: of a released curve,
        or no forecast.

        Args:
            units: Options with the public number of units.
        """
        if self.forecast is not None:
            return options.parse_integer("forecast", self.forecast)
        if self.like is not None or self.plot is None or units.units is None:
            return None
        return options.parse_integer("units", units.units)

    def compute(
        self,
        question: Question[Any],
        loss: PrivacyLoss,
        guarantee: options.GuaranteeOptions,
        units: options.UnitCountOptions,
    ) -> Forecast | None:
        """Return the forecast that was asked for, else a short one for the public number of records, if it is known and
        the question can be forecast.

        Args:
            question: The question.
            loss: Its privacy loss.
            guarantee: Options of the guarantee, with the adjacency.
            units: Options with the public number of units.
        """
        records = self._record_count(units)
        if records is None and self.like is None:
            return _compute_short_forecast(question, loss, guarantee, units, self.parse_row_share())
        from ..curves.result import result_from_json
        from ..forecasts import forecast
        from ..forecasts.expected_errors import require_picture

        if self.plot is not None:
            require_picture(question)
        like = None if self.like is None else result_from_json(read_text("like", self.like))
        with show_late_progress_bar("forecast", 2.0) as progress:  # seconds before the bar appears
            return forecast(
                question, loss, guarantee.neighbours(), records=records, like=like,
                share_of_rows=self.parse_row_share(), progress=progress,
            )  # fmt: skip

    def show(self, errors: Forecast) -> None:
        """Print and plot expected errors and half widths for each distribution of records.

        Args:
            errors: The forecast.
        """
        from ..display import headless_axes

        print_to_console(make_console(), _forecast_table(errors))
        for note in errors.notes:
            print_to_console(make_console(), f"note: {note}")
        output = Output(plot=self.plot, language=self.language)
        for name in output.write_plot(lambda: errors.plot(ax=headless_axes())):
            print_to_console(make_console(), f"written: {name}")


@dataclass(frozen=True)
class DryRunTerms:
    """Terms of a question that is planned and not asked."""

    loss_options: options.LossAndDeltaOptions
    guarantee: options.GuaranteeOptions
    units: options.UnitCountOptions
    forecast_options: ForecastOptions
    stored_view: options.StoredViewOptions

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Print the privacy loss and the expected errors of the question's result.

        Args:
            question: The question.
            view: Ignored, because nothing is drawn.
            output: Ignored, because nothing is written.
        """
        loss = self.loss_options.loss()
        self.stored_view.require_view()
        question = apply_stored_view(question, self.stored_view)
        options.require_matching_delta(question, loss)
        self.forecast_options.require_writable(self.units)
        errors = self.forecast_options.compute(question, loss, self.guarantee, self.units)
        if errors is not None:
            print_to_console(make_console(), *wrap(errors.describe(), make_console().width))
        hint = FORECAST_HINT if errors is None else PLOT_HINT
        footer = "" if self.forecast_options.is_asked else hint
        share = self.forecast_options.parse_row_share()
        plans = print_question_plan(question, loss, self.guarantee, self.units, footer, share=share)
        if getattr(question, "where", None) and share is None:
            print_to_console(make_console(), f"note: {FILTER_HINT}")
        for alpha in {plan.distribution.alpha(ALPHA_RISK) for plan in plans}:
            if not isnan(alpha):
                print_to_console(make_console(), f"{ALPHA}: {alpha:.4g}")
        if errors is not None and self.forecast_options.is_asked:
            self.forecast_options.show(errors)


def _compute_short_forecast(
    question: Question[Any],
    loss: PrivacyLoss,
    guarantee: options.GuaranteeOptions,
    units: options.UnitCountOptions,
    share: float | None,
) -> Forecast | None:
    """Return a forecast of two releases for each distribution of records; None if the number of records is not public,
    or the question has no forecast.

    Args:
        question: The question.
        loss: Its privacy loss.
        guarantee: Options of the guarantee, with the adjacency.
        units: Options with the public number of units.
        share: Share of the rows that pass the filter; None: it was not typed.
    """
    neighbours = guarantee.neighbours()
    number = units.unit_count(neighbours)
    if number is None or guarantee.unit is not None:
        return None
    from ..arguments import InvalidArgument, WrongArgumentType
    from ..forecasts import forecast

    # Nobody asked for this forecast, so a question that has none is planned without it: a question by category, of a
    # model instead of a column, or with a filter and no --share-of-rows. An argument that is wrong in itself is refused
    # by the plan, which follows.
    try:
        with show_late_progress_bar("forecast", 2.0) as progress:  # seconds before the bar appears
            return forecast(
                question, loss, neighbours, records=number, share_of_rows=share, rehearsals=2, progress=progress
            )
    except (InvalidArgument, WrongArgumentType):
        return None


def _forecast_table(expectations: Forecast) -> Table:
    """Return a table of expected errors and half widths with a row for each distribution of records.

    Args:
        expectations: The forecast.
    """
    from rich.table import Table

    from ..display import format_number

    rehearsals = f"{expectations.rehearsals} rehearsals of each distribution"
    size = expectations.record_words
    table = Table(
        title=f"forecast for {size}: {expectations.error_label}", title_justify="left", caption_justify="left",
        caption=f"{rehearsals}; half widths of {expectations.interval_label}."
        if expectations.interval_label else f"{rehearsals}.",
    )  # fmt: skip
    columns = {"records": [expected.distribution for expected in expectations.expected_errors]}
    columns["error, by noise"] = [
        f"{format_number(expected.error, expected.standard_error)} ± {expected.standard_error:.1g}"
        for expected in expectations.expected_errors
    ]
    widths = {
        "half width of the 95% interval": [expected.half_width for expected in expectations.expected_errors],
        "half width for the population": [expected.population_half_width for expected in expectations.expected_errors],
    }
    for name, values in widths.items():
        if not all(isnan(value) for value in values):
            columns[name] = ["not known" if isnan(value) else f"± {format_number(value)}" for value in values]
    for name in columns:
        table.add_column(name, justify="left" if name == "records" else "right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table


def make_plan_commands(questions: Mapping[str, options.Command]) -> dict[str, options.Command]:
    """Return the plan command of each question to one table. It takes the question's options and prints the errors.

    Args:
        questions: Commands that ask a question about one table, by name.
    """
    return {
        name: _make_plan_command(command)
        for name, command in questions.items()
        if options.groups_of(command).get("terms") is Terms
    }


def _make_plan_command(command: options.Command) -> options.Command:
    """Return the command that plans the question of `command` and does not ask it.

    Args:
        command: Command that asks the question.
    """
    option_groups = {name: group for name, group in options.groups_of(command).items() if group not in (Terms, Output)}

    def run_command(terms: DryRunTerms, **groups: Any) -> None:
        """Print the plan of the question that the options describe.

        Args:
            terms: Options of the plan: loss, guarantee and number of units.
            groups: Values of the option groups of the question, by name.
        """
        command(**groups, terms=terms, output=Output())

    help_text = command.__doc__ or ""
    unit_count = " --units 100000" if "replace-one" in help_text else ""
    run_command.__name__ = command.__name__
    run_command.__doc__ = EXAMPLE_LINE.sub(r"\1 plan \2" + unit_count, help_text)
    run_command.__annotations__ = {**option_groups, "terms": DryRunTerms}
    run_command.needs_grid = getattr(command, "needs_grid", False)  # type: ignore[attr-defined]
    return run_command


def print_question_plan(
    question: Question[Any],
    loss: PrivacyLoss,
    guarantee: options.GuaranteeOptions,
    units: options.UnitCountOptions,
    footer: str = "",
    *,
    share: float | None = None,
) -> Plans:
    """Print the plan of a question: its rounds, privacy losses, errors and mechanisms. The plan is returned as well; no
    data are opened.

    Args:
        question: The question.
        loss: Its privacy loss.
        guarantee: Options of adjacency and privacy unit.
        units: Option of the public number of units.
        footer: Text below the legend.
        share: Typed share of the rows that pass the filter, from 0 to 1; None: all rows.
    """
    from ..privacy import EACH_RECORD
    from ..session import plan_question

    neighbours = guarantee.neighbours()
    adjacency = neighbours.to_question_adjacency(
        guarantee.privacy_unit(bound_required=False), units.unit_count(neighbours)
    )
    plans = plan_question(question, loss, adjacency)
    show_plans(question, loss, adjacency, plans, footer, share=share)
    records = getattr(adjacency, "units", None)
    # To look for notes imports the forecasts: only for groups, which another grid may compare better.
    is_known = records is not None and adjacency.unit == EACH_RECORD and getattr(question, "by", None) is not None
    if is_known:
        from ..forecasts.reference_distributions import PLAN_NOTES, find_entry

        describe = find_entry(type(question), PLAN_NOTES)
        for line in () if describe is None else describe(question, loss, neighbours, records):
            print_to_console(make_console(), f"note: {line}")
    return plans


def show_plans(
    question: Question[Any],
    loss: PrivacyLoss,
    adjacency: Adjacency | AdjacencyWithoutBound,
    plans: Plans,
    footer: str = "",
    *,
    share: float | None = None,
) -> None:
    """Print plans: their rounds, privacy losses, errors and mechanisms, with `footer` below the legend.

    Errors are also printed as shares of all units, or, with the typed `share` of rows that pass the filter, of those.

    Args:
        question: The question.
        loss: Its privacy loss.
        adjacency: Adjacency with the public number of units, if there is one.
        plans: Plans of its rounds.
        footer: Text below the legend.
        share: Typed share of the rows that pass the filter, from 0 to 1; None: all rows.
    """
    from rich.table import Table

    from ..display.text import LEGEND, plan_lines

    units = getattr(adjacency, "units", None)
    is_adaptive = len(plans) > 1 and {type(plan.query).__name__ for plan in plans} == {"PartitionQuery"}
    table = Table(caption=LEGEND + (ADAPTIVE_NOTE if is_adaptive else "") + footer, caption_justify="left")
    relative = "share of units" if share is None else f"share of {share:.3g} of units"
    for name in ("round", "released", "price", "error", relative, "mechanism"):
        table.add_column(name, justify="right" if name in ("round", "error", relative) else "left")
    for line in plan_lines(plans, units if units is None or share is None else units * share):
        table.add_row(*line)
    print_to_console(make_console(), f"{question}: {loss}, {adjacency}, protects {adjacency.unit}", table)
    for note in plans.notes:
        print_to_console(make_console(), f"note: {note}")


def ask_study(
    *,
    study: Annotated[str, Argument(metavar="STUDY", help="TOML or JSON file with epsilon or rho, and questions.")],
    source: options.FormattedSourceOptions,
    guarantee: options.GuaranteeOptions,
    units: options.UnitCountOptions,
    ledger: Annotated[
        str | None, Option(help="Ledger that is charged. With a ledger, a second run is free.", metavar="URL")
    ] = None,
    dataset: Annotated[str | None, Option(help=options.ACCOUNT_HELP, metavar="NAME")] = None,
    out: Annotated[str, Option(help="Folder for the curves, the plots and the page.", metavar="DIR")] = "study",
    title: Annotated[str | None, Option(help="Title of the page, instead of the title in STUDY.")] = None,
    model_card: Annotated[
        bool, Option("--model-card", help="Write a model card, with curves and gaps computed from the scores.")
    ] = False,
    language: Annotated[
        str, Option(help="Language of the page and the plots: en, de, fr or es.", metavar="CODE")
    ] = "en",
    dry_run: Annotated[bool, Option("--dry-run", help="Print losses and errors; open no data, spend nothing.")] = False,
) -> None:
    """Many questions under one budget, from a file.

    Each curve is written as JSON and as a plot, and all of them to one page. With a ledger, a second run is free.

    Example: dpcurves study questions.toml flights.parquet --ledger sqlite:///budget.db --out answers
    """
    from ..study import DEFAULT_TITLE, Study
    from ..translation import translate, use_language

    check_language(language)
    try:
        text = Path(study).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise Misuse("study", f"{study!r} cannot be read ({reason}); give the path of a study in TOML") from None
    payer = options.PayingAccountOptions(ledger, dataset, None)
    parsed_study = Study.from_text(text, {} if ledger is None else read_stored_views(payer))
    references = {
        question.name: _read_reference(question) for question in parsed_study.questions if question.since is not None
    }
    if dry_run:
        for question in parsed_study.questions:
            print_to_console(make_console(), f"{question.name}:")
            print_question_plan(question.question, parsed_study.question_loss(question), guarantee, units)
        print_to_console(make_console(), f"total: {parsed_study.loss}")
        return
    delta = str(parsed_study.loss.delta) if parsed_study.loss.delta else None
    if parsed_study.loss.epsilon is None:
        loss_options = options.LossAndDeltaOptions(rho=str(parsed_study.loss.rho), delta=delta)
    else:
        loss_options = options.LossAndDeltaOptions(epsilon=str(parsed_study.loss.epsilon), delta=delta)
    terms = Terms(source, loss_options, guarantee, units, payer)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse(
            "out", f"the folder {str(folder)!r} cannot be made ({error.strerror}); name a folder where you may write"
        ) from None
    # All files are checked before the session is opened: a curve that cannot be written would still have been paid for.
    outputs = [
        Output(str(folder / f"{question.name}.json"), str(folder / f"{question.name}.svg"), language=language)
        for question in parsed_study.questions
    ]
    drift_outputs = {
        name: Output(str(folder / f"{name}.drift.json"), str(folder / f"{name}.drift.svg"), language=language)
        for name in references
    }
    for output in (*outputs, *drift_outputs.values()):
        output.require_writable()
    drifts = {name: (references[name], drift_outputs[name]) for name in references}
    with (
        open_session(terms, parsed_study.loss) as session,
        report_failures_after_charge(terms.paying_account),
        _postpone_output_errors() as print_lines,
    ):
        for question in parsed_study.questions:
            print_plan_notes(
                session, question.question, parsed_study.question_loss(question), name=f"{question.name}: "
            )
        if any(is_untyped(question.question, source) for question in parsed_study.questions):
            print_to_stderr(UNTYPED_CSV_NOTE)
        page_sections = _answer_questions(parsed_study, session, outputs, drifts, print_lines, model_card=model_card)
        with use_language(language):
            default_title = translate("Model card" if model_card else DEFAULT_TITLE)
            shown_title = title or (default_title if parsed_study.title == DEFAULT_TITLE else parsed_study.title)
            _write_page(folder, page_sections, session, shown_title, parsed_study.text)
    print_to_console(make_console(), f"written: curve and plot of each question, and index.html, in {out!r}")
    if ledger is None:
        print_to_stderr(UNRECORDED_NOTE)


# The name of the command. The parameter `study` is its argument STUDY, under which errors refer to it.
ask_study.__name__ = "study"


def _read_reference(question: StudyQuestion) -> Any:
    """Return the released curve that a column's drift is measured from. It is read before any budget is spent.

    Args:
        question: Question of a study with a file in ``since``.
    """
    from ..curves.column_drift import require_false_alarm_rate, require_window
    from ..curves.result import result_from_json

    reference: Any = result_from_json(read_text("since", str(question.since)))
    require_window(reference, question.question)
    require_false_alarm_rate(reference, question.false_alarm_rate)
    return reference


class PageSections(NamedTuple):
    """The sections of a study's page.

    Attributes:
        summaries: The results as HTML, in order.
        names: Words of the user in them, which are not translated.
    """

    summaries: list[str]
    names: set[str]


def _answer_questions(
    study: Study,
    session: Session,
    outputs: Sequence[Output],
    drifts: Mapping[str, tuple[Any, Output]],
    print_lines: Callable[..., None],
    *,
    model_card: bool,
) -> PageSections:
    """Ask all questions of a study, write and print each curve and its drift; return the sections of the page.

    Args:
        study: The questions.
        session: Session that is charged and answers.
        outputs: Where each curve goes, in the order of the questions.
        drifts: By name of a question: its reference curve, and where the drift goes.
        print_lines: Function that prints lines of text.
        model_card: Whether all curves and gaps of scores are shown.

    Returns:
        HTML of each section of the page, and the words of the user in them.
    """
    from ..curves import drift
    from ..translation import use_language

    page_sections = PageSections([], set())
    with show_progress_bar("questions", len(outputs)) as fill, suppress_curve_warnings():
        for output, (question, curve) in zip(outputs, study.ask(session), strict=True):
            output.write_json(curve.to_json)
            output.write_plot(partial(_draw_with_title, curve))
            print_lines(f"{question.name}: {curve!r}", *(f"  note: {note}" for note in curve.notes))
            results = [*(curve._model_card_results() if model_card else (curve,))]
            if question.name in drifts:
                reference, drift_output = drifts[question.name]
                drifts_found = drift(reference, {question.name: curve}, false_alarm_rate=question.false_alarm_rate)
                drift_output.write_json(drifts_found.to_json)
                drift_output.write_plot(partial(_draw_with_title, drifts_found))
                alarms = [word for (_, word), shift in drifts_found.statistics.items() if shift.alarm]
                print_lines(f"  since {question.since}: alarms {', '.join(alarms) or 'none'}")
                results.append(drifts_found)
            with use_language(output.language):
                for result in results:
                    page_sections.summaries.append(_render_section(question, result, first=result is results[0]))
                    page_sections.names.update(result._user_words())
            fill(outputs.index(output) + 1)
    return page_sections


@contextmanager
def _postpone_output_errors() -> Iterator[Callable[..., None]]:
    """Context manager that gives a function to print lines. If standard output fails, as behind ``head``, the error is
    raised only when the block ends: a study writes all its files even if its printed lines are cut off.

    Raises:
        OutputError: standard output failed in the block.
    """
    errors = list[Exception]()

    def print_lines(*lines: str) -> None:
        """Print lines; if standard output fails, store the error, which is raised when the block ends.

        Args:
            lines: Lines of text.
        """
        try:
            print_to_console(make_console(), *lines)
        except OutputError as error:
            errors.append(error)

    yield print_lines
    if errors:
        raise errors[0]


def _draw_with_title(result: Any) -> Axes:
    """Plot a result on new axes with its title above them, as files of pictures need, and return the axes.

    Args:
        result: The released result.
    """
    return add_title(plot_headless(result), result)


def _render_section(question: StudyQuestion, result: Any, *, first: bool) -> str:
    """Return the section of the page for one result. The first section of a question has its title and text.

    Args:
        question: Question of the study.
        result: Its result.
        first: If True, it is the first result of the question.

    Returns:
        HTML of the section.
    """
    from ..display import svg_text

    heading = {"title": question.title, "text": question.text} if first else {}
    summary: str = result.render_html(svg_text(plot_headless(result)), **heading)
    return summary


def _write_page(out: Path, sections: PageSections, session: Session, title: str, text: str = "") -> None:
    """Write the page of a study, ``index.html``, into its folder.

    Args:
        out: The folder.
        sections: Sections of the page.
        session: Session whose remaining budget is shown.
        title: Title of the page.
        text: Text of the study before the results; empty: none.

    Raises:
        Misuse: the file cannot be written.
    """
    from .. import display
    from ..translation import keep_names, translate

    balance = display.BalanceReport.from_statement(session.statement)
    with keep_names(sections.names):
        introduction = "\n\n".join(filter(None, [text, translate(display.INTRODUCTION)]))
        page = display.render_report(title, introduction, sections.summaries, [balance])
    try:
        write_whole(out / "index.html", page)
    except OSError as error:
        raise Misuse(
            "out", f"index.html cannot be written ({error.strerror}); name a folder where you may write"
        ) from None
