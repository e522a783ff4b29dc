"""Plan commands, and studies: the questions of a file under one budget."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from . import options as of
from .ask_file import (
    FORGETFUL,
    UNTYPED,
    Terms,
    is_untyped,
    open_session,
    print_plan_notes,
    report_failures_after_charge,
    suppress_curve_warnings,
)
from .columns import ALPHA
from .options import Argument, Option
from .output import Output, plot_headless, read_text
from .terminal import Misuse, make_console, print_to_console, print_to_stderr, show_late_progress_bar, show_progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from ..conversation import Plans
    from ..curves import Question
    from ..forecasts import Forecast
    from ..privacy import Adjacency, AdjacencyWithoutBound, PrivacyLoss
    from ..session import Session
    from ..study import Study, StudyQuestion
    from .output import View


EVEN = (
    "\nLater turns depend on the noisy answers before them: the plan supposes that records are spread evenly, or, "
    "where their number is private, that all cells are counted. A curve is computed from all turns together."
)
BANDS = "\nFor half widths of bands and intervals: --forecast N; --plot FILE draws them."
ASKED_OF = re.compile(r"(Example: dpcurves) (\S+) \S+[.](?:csv|parquet)")
CHANCE = 0.05
BAR_AFTER = 2.0
"""Seconds after which a forecast shows how far it is."""
STANDING = MappingProxyType({"NAME": "", "U": "1", "P": "0.95", "public|disjoint|private": "public"})
"""Defaults in a plan of options that a question needs but its plan does not depend on, by metavar."""


@dataclass(frozen=True)
class ForecastOptions:
    """Options for a forecast of the error of the answer and of the width of its interval."""

    forecast: str | None = of.optional(
        "N",
        "Forecast the error of the answer, and the half width of the 95% interval that will be printed, by "
        "simulating this many records of several kinds (smooth, tied, a third zero and others).",
    )
    like: str | None = of.optional(
        "FILE",
        "Forecast for records like those of a released curve, as --json wrote it, at no further loss: as many "
        "as it has, or as --forecast says.",
    )
    plot: str | None = of.optional(
        "FILE",
        "Draw the forecast, of the least favourable kind of records, in its band: a file that ends in .svg, .png or "
        ".pdf. Without --forecast or --like, for as many records as --units says.",
    )

    @property
    def is_asked(self) -> bool:
        """Tell whether there is something to forecast."""
        return any(each is not None for each in (self.forecast, self.like, self.plot))

    def require_writable(self, units: of.UnitCountOptions) -> None:
        """Refuse a picture that could not be written, or of nobody knows how many records."""
        Output(plot=self.plot).require_writable()
        if self.plot is not None and self._record_count(units) is None and self.like is None:
            raise Misuse("plot", "say of how many records: --forecast N")

    def _record_count(self, units: of.UnitCountOptions) -> int | None:
        """Number of records that are made up; None: as many as a released curve has, or nobody said."""
        if self.forecast is not None:
            return of.parse_integer("forecast", self.forecast)
        if self.like is not None or self.plot is None or units.units is None:
            return None
        return of.parse_integer("units", units.units)

    def show(
        self, question: Question[Any], loss: PrivacyLoss, promise: of.GuaranteeOptions, units: of.UnitCountOptions
    ) -> None:
        """Print and draw forecast errors and half widths for each kind of records, if a forecast was asked for."""
        records = self._record_count(units)
        if records is None and self.like is None:
            return
        from ..curves.result import result_from_json
        from ..display import headless_axes
        from ..forecasts import forecast
        from ..forecasts.expected_errors import require_picture

        if self.plot is not None:
            require_picture(question)
        like = None if self.like is None else result_from_json(read_text("like", self.like))
        with show_late_progress_bar("forecast", BAR_AFTER) as progress:
            found = forecast(question, loss, promise.neighbours(), records=records, like=like, progress=progress)
        print_to_console(make_console(), _forecast_table(found))
        for note in found.notes:
            print_to_console(make_console(), f"note: {note}")
        for name in Output(plot=self.plot).write_plot(lambda: found.plot(ax=headless_axes())):
            print_to_console(make_console(), f"written: {name}")


@dataclass(frozen=True)
class DryRunTerms:
    """Terms of a question that is planned, but not asked."""

    loss_options: of.LossAndDeltaOptions
    guarantee: of.GuaranteeOptions
    units: of.UnitCountOptions
    forecast_options: ForecastOptions

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Print the privacy loss and the expected errors of the answer."""
        loss = self.loss_options.loss()
        of.require_matching_delta(question, loss)
        self.forecast_options.require_writable(self.units)
        plans = print_question_plan(
            question, loss, self.guarantee, self.units, "" if self.forecast_options.is_asked else BANDS
        )
        for alpha in {plan.law.alpha(CHANCE) for plan in plans}:
            if not isnan(alpha):
                print_to_console(make_console(), f"{ALPHA}: {alpha:.4g}")
        self.forecast_options.show(question, loss, self.guarantee, self.units)


def _forecast_table(found: Forecast) -> Table:
    from rich.table import Table

    from ..display import format_number

    times, size = f"{found.rehearsals} rehearsals of each kind of records", f"{found.size:,} records"
    table = Table(
        title=f"forecast for {size}: {found.error_label}", title_justify="left", caption_justify="left",
        caption=f"{times}; half widths are those of {found.interval_label}." if found.interval_label else f"{times}.",
    )  # fmt: skip
    columns = {"records": [each.distribution for each in found.expected_errors]}
    columns["error, by noise"] = [
        f"{format_number(each.error, each.standard_error)} ± {each.standard_error:.1g}"
        for each in found.expected_errors
    ]
    widths = {
        "half width of the 95% interval": [each.half_width for each in found.expected_errors],
        "half width for the population": [each.population_half_width for each in found.expected_errors],
    }
    for name, values in widths.items():
        if not all(isnan(value) for value in values):
            columns[name] = ["not known" if isnan(value) else f"± {format_number(value)}" for value in values]
    for name in columns:
        table.add_column(name, justify="left" if name == "records" else "right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table


def make_plan_commands(questions: Mapping[str, of.Command]) -> dict[str, of.Command]:
    """Plan commands of all questions to one table: each takes the options of the question, and shows the errors."""
    return {
        name: _make_plan_command(command)
        for name, command in questions.items()
        if of.groups_of(command).get("terms") is Terms
    }


def _make_plan_command(command: of.Command) -> of.Command:
    asked = {name: group for name, group in of.groups_of(command).items() if group not in (Terms, Output)}

    def run_command(rehearsal: DryRunTerms, **groups: Any) -> None:
        command(**groups, terms=rehearsal, output=Output())

    told = command.__doc__ or ""
    units = " --units 100000" if "replace-one" in told else ""
    run_command.__name__, run_command.__doc__ = command.__name__, ASKED_OF.sub(r"\1 plan \2" + units, told)
    run_command.__annotations__ = {**asked, "rehearsal": DryRunTerms}
    run_command.needs_grid = getattr(command, "needs_grid", False)  # type: ignore[attr-defined]
    return run_command


def print_question_plan(
    question: Question[Any],
    loss: PrivacyLoss,
    promise: of.GuaranteeOptions,
    units: of.UnitCountOptions,
    below: str = "",
) -> Plans:
    """Print the plan of a question: its turns, privacy losses, errors and mechanisms."""
    from ..session import plan_question

    neighbours = promise.neighbours()
    adjacency = neighbours.to_question_adjacency(
        promise.privacy_unit(bound_required=False), units.unit_count(neighbours)
    )
    plans = plan_question(question, loss, adjacency)
    show_plans(question, loss, adjacency, plans, below)
    return plans


def show_plans(
    question: Question[Any],
    loss: PrivacyLoss,
    adjacency: Adjacency | AdjacencyWithoutBound,
    plans: Plans,
    below: str = "",
) -> None:
    """Print plans: their turns, privacy losses, errors and mechanisms; and words `below` them."""
    from rich.table import Table

    from ..display.text import LEGEND, plan_lines

    number = getattr(adjacency, "units", None)
    adapted = len(plans) > 1 and {type(plan.query).__name__ for plan in plans} == {"PartitionQuery"}
    table = Table(caption=LEGEND + (EVEN if adapted else "") + below, caption_justify="left")
    for name in ("turn", "released", "price", "error", "of the units", "mechanism"):
        table.add_column(name, justify="right" if name in ("turn", "error", "of the units") else "left")
    for line in plan_lines(plans, number):
        table.add_row(*line)
    print_to_console(make_console(), f"{question}: {loss}, {adjacency}, protects {adjacency.unit}", table)
    for note in plans.notes:
        print_to_console(make_console(), f"note: {note}")


def study(
    *,
    study: Annotated[str, Argument(metavar="STUDY", help="A TOML or JSON file: epsilon or rho, and questions.")],
    source: of.FormattedSourceOptions,
    promise: of.GuaranteeOptions,
    units: of.UnitCountOptions,
    ledger: Annotated[
        str | None, Option(help="The ledger that is charged; with one, a second run is free.", metavar="URL")
    ] = None,
    dataset: Annotated[str | None, Option(help=of.ACCOUNT, metavar="NAME")] = None,
    out: Annotated[str, Option(help="The folder for curves, pictures and the page of all of them.", metavar="DIR")] = (
        "study"
    ),
    title: Annotated[str | None, Option(help="The title of the page, in the place of that in STUDY.")] = None,
    model_card: Annotated[
        bool, Option("--model-card", help="Write a model card: with curves and gaps that are read from scores.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show prices and errors; open no data, spend nothing.")] = False,
) -> None:
    """Many questions under one budget, from a file.

    Each curve is written as JSON and as a picture, and all of them as one page. Run again, it is free.

    Example: dpcurves study questions.toml flights.parquet --ledger sqlite:///budget.db --out answers
    """
    from ..study import TITLE, Study

    try:
        text = Path(study).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise Misuse("study", f"{study!r} cannot be read ({reason})") from None
    asked = Study.from_text(text)
    earlier = {each.name: _read_reference(each) for each in asked.questions if each.since is not None}
    if dry_run:
        for each in asked.questions:
            print_to_console(make_console(), f"{each.name}:")
            print_question_plan(each.question, asked.question_loss(each), promise, units)
        print_to_console(make_console(), f"together: {asked.loss}")
        return
    delta = str(asked.loss.delta) if asked.loss.delta else None
    if asked.loss.epsilon is None:
        price = of.LossAndDeltaOptions(rho=str(asked.loss.rho), delta=delta)
    else:
        price = of.LossAndDeltaOptions(epsilon=str(asked.loss.epsilon), delta=delta)
    terms = Terms(source, price, promise, units, of.PayingAccountOptions(ledger, dataset, None))
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse("out", f"{str(folder)!r} cannot be made ({error.strerror})") from None
    outputs = [Output(str(folder / f"{each.name}.json"), str(folder / f"{each.name}.svg")) for each in asked.questions]
    moved = {name: Output(str(folder / f"{name}.drift.json"), str(folder / f"{name}.drift.svg")) for name in earlier}
    for output in (*outputs, *moved.values()):
        output.require_writable()
    drifts = {name: (earlier[name], moved[name]) for name in earlier}
    with open_session(terms, asked.loss) as session, report_failures_after_charge(terms.paying_account):
        for each in asked.questions:
            print_plan_notes(session, each.question, asked.question_loss(each), name=f"{each.name}: ")
        if any(is_untyped(each.question, source) for each in asked.questions):
            print_to_stderr(UNTYPED)
        summaries = _answer_questions(asked, session, outputs, drifts, model_card=model_card)
        kind = "Model card" if model_card and asked.title == TITLE else asked.title
        _write_page(folder, summaries, session, title or kind, asked.text)
    print_to_console(make_console(), f"written: curve and picture of each question, and index.html, in {out!r}")
    if ledger is None:
        print_to_stderr(FORGETFUL)


def _read_reference(asked: StudyQuestion) -> Any:
    """The released curve since which a column may have moved, read before anything is asked."""
    from ..curves.column_drift import drift, require_window
    from ..curves.result import result_from_json

    found: Any = result_from_json(read_text("since", str(asked.since)))
    require_window(found, asked.question)
    _ = drift(found, found, alarms=asked.alarms).shifts  # alarms too rare to be simulated are refused here
    return found


def _answer_questions(
    asked: Study,
    session: Session,
    outputs: Sequence[Output],
    drifts: Mapping[str, tuple[Any, Output]],
    *,
    model_card: bool,
) -> list[str]:
    from ..curves import drift

    summaries: list[str] = []
    with show_progress_bar("questions", len(outputs)) as fill, suppress_curve_warnings():
        for output, (each, curve) in zip(outputs, asked.ask(session), strict=True):
            output.write_json(curve.to_json)
            output.write_plot(partial(plot_headless, curve))
            print_to_console(make_console(), f"{each.name}: {curve!r}", *(f"  note: {note}" for note in curve.notes))
            read_off = curve._model_card_results() if model_card else (curve,)
            summaries += [_render_section(each, read, first=number == 0) for number, read in enumerate(read_off)]
            if each.name in drifts:
                reference, beside = drifts[each.name]
                found = drift(reference, {each.name: curve}, alarms=each.alarms)
                beside.write_json(found.to_json)
                beside.write_plot(partial(plot_headless, found))
                alarms = [word for (_, word), shift in found.shifts.items() if shift.alarm]
                print_to_console(make_console(), f"  since {each.since}: alarms {', '.join(alarms) or 'none'}")
                summaries.append(found._repr_html_())
            fill(outputs.index(output) + 1)
    return summaries


def _render_section(asked: StudyQuestion, result: Any, *, first: bool) -> str:
    """The part of the report on one result; title and text of its question stand above the first that is read of it."""
    from ..display import svg_text

    told = {"title": asked.title, "text": asked.text} if first else {}
    summary: str = result.render_html(svg_text(plot_headless(result)), **told)
    return summary


def _write_page(out: Path, summaries: Sequence[str], session: Session, title: str, text: str = "") -> None:
    from .. import display

    balance = display.BalanceReport.from_statement(session.statement)
    introduction = "Every curve below was read from noisy counts; no number of a single record is shown."
    page = display.render_report(title, "\n\n".join(filter(None, [text, introduction])), summaries, [balance])
    try:
        (out / "index.html").write_text(page, encoding="utf-8")
    except OSError as error:
        raise Misuse("out", f"index.html cannot be written ({error.strerror})") from None
