"""Ask one question of one table from the command line.

A command built by `make_question_command` checks its options, plans the question, charges its loss, and delivers every
output: tables on the terminal, JSON, CSV, workbooks, pages and plots. `Terms` holds the options that every question
has: data source, privacy loss, guarantee, and the account that pays.

If an output fails after the charge, the other outputs are still delivered, and the error names the request id under
which the stored answer is returned at no cost.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options
from .accounts import account_of, files_of, open_ledger, require_same_guarantee
from .output import InputFile, IntervalSettings, Output, View, add_title
from .terminal import (
    ChargedFailure,
    Misuse,
    UncertainChargeFailure,
    print_to_console,
    print_to_stderr,
    show_pass_progress,
    show_spinner,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import CDF, ByCategory, Question
    from ..curves import View as CurveView
    from ..ledger import Account, Ledger
    from ..privacy import PrivacyLoss
    from ..session import Session

UNRECORDED_NOTE = (
    "no --ledger was given, so this privacy loss is not recorded and not added to the loss of other"
    " calls; give --ledger URL to record it"
)
"""Note on standard error after a question that was asked without a ledger."""
NEEDS_LEDGER = "only questions that a ledger pays for take this option; name the ledger with --ledger URL"
"""Rule in the error for --view, --dataset or --request-id without --ledger."""
UNTYPED_CSV_NOTE = (
    "a CSV file declares no types: each line is a record, dates such as 2020-01-31 are days since 1970 (--measured-in "
    "date shows them as dates), and other text, such as $5, is missing"
)
"""Note on standard error before a question whose range is found privately reads a CSV file, if no unit of the column is
stated."""

# Delivery of a curve to files and the terminal: a failure of one output does not prevent the others.


Part = Callable[[], AbstractContextManager[None]]


@contextmanager
def run_all_parts() -> Iterator[Part]:
    """Context manager that gives a function ``part``: all ``with part():`` blocks inside are run, even if one of them
    fails.

    Raises:
        Exception: the first failure, after all outputs were tried.
    """
    failures: list[Exception] = []

    @contextmanager
    def run_part() -> Iterator[None]:
        """Context manager for one output of a command: its exception is stored, and `run_all_parts` raises it at the
        end.
        """
        try:
            yield
        except Exception as failure:
            failures.append(failure)

    yield run_part
    if failures:
        raise failures[0]


def format_mechanism_line(curve: Any) -> str:
    """Return the line that names the mechanism of a result.

    Args:
        curve: The released result.
    """
    from ..display import describe_mechanism

    return f"mechanism: {describe_mechanism(curve.privacy.mechanism)}"


def deliver(part: Part, question: object, curve: Any, view: View[Any], output: Output) -> list[str]:
    """Write and print a result by the options of `output`, under the text of its question; return the names of the
    files written.

    Args:
        part: Function that makes a context in which one output is written; its error does not prevent the others.
        question: The question, for its text.
        curve: The result.
        view: How the result is printed and drawn.
        output: Options of files and intervals.
    """
    written: list[str] = []
    with part():
        written += output.write_json(curve.to_json)
    with part():
        if output.json is None:
            _print_result(question, curve, view, output)
    with part(), show_spinner("drawing"):
        written += output.write_plot(lambda: add_title(view.draw(curve), _select_result(view, curve)))
    suppress = getattr(getattr(view, "settings", None), "suppress", None)
    covering = {"level": output.confidence_level(), "population": output.population, "suppress": suppress}
    return written + write_files(part, output, {
        "csv": lambda: _select_result(view, curve).to_csv_text(**covering, raw=output.csv_raw).encode(),
        "xlsx": lambda: _select_result(view, curve).to_workbook(view.draw(curve), **covering),
        "html": lambda: _render_result(curve, view, suppress).encode(),
    })  # fmt: skip


def deliver_with_notes(
    question: object, curve: Any, view: View[Any], output: Output, describe_files: Callable[[list[str]], Iterable[str]]
) -> None:
    """Print and write a result, then the lines on the files written and the notes of the result.

    Args:
        question: The question, or its title.
        curve: The result.
        view: How the result is shown.
        output: Options of the output files.
        describe_files: Function of the lines on written files that returns the lines to print.
    """
    with run_all_parts() as part:
        written = [f"written: {name}" for name in deliver(part, question, curve, view, output)]
        with part():
            print_to_console(output.make_console(), *describe_files(written))
        for note in curve.notes:
            print_to_stderr(note)


def write_files(part: Part, output: Output, encoders: Mapping[str, Callable[[], bytes]]) -> list[str]:
    """Encode and write files. Return the names of the files that were written.

    Args:
        part: Context for one file: an error of a file is reported at the end, and the others are still written.
        output: The output options of the command.
        encoders: Functions that return the bytes of a file, by the name of its option without dashes, such as ``csv``.
    """
    written: list[str] = []
    for argument, encode in encoders.items():
        with part():
            written += output.write(argument, encode)
    return written


def _describe_large_size(name: str) -> str:
    """Return the size of a written file as text in parentheses, if it is above 10 MB; else an empty text.

    Args:
        name: Path of the file; standard output has no size.
    """
    octets = Path(name).stat().st_size if Path(name).is_file() else 0
    # 10**7: bytes above which the size of a written file is printed
    return f" ({octets / 10**6:,.0f} MB)" if octets > 10**7 else ""


def _select_result(view: View[Any], curve: Any) -> Any:
    """Return the result whose numbers are written to CSV: the metric that the view computes from it, or else the result
    itself.

    Args:
        view: How the result is shown; it may compute a metric from the result.
        curve: The released result.
    """
    reading = view.compute_reading(curve) if hasattr(view, "compute_reading") else curve
    return reading if hasattr(reading, "to_csv_text") else curve


def _render_result(curve: Any, view: View[Any], suppress: float | None) -> str:
    """Return the HTML page of one result, arranged by the view if the view shows a result of the same class.

    Args:
        curve: The result.
        view: How the command line shows it.
        suppress: Fraction of a number whose interval may not be wider; None: nothing is suppressed.

    Returns:
        HTML of the page.
    """
    selected = _select_result(view, curve)
    shown = selected if type(selected) is type(curve) else curve
    return render_page([(shown, view.draw(curve))], suppress)


def render_page(results: Sequence[tuple[Any, Axes]], suppress: float | None = None) -> str:
    """Return a self-contained page of results and their plots, under the title of the first result.

    Args:
        results: Results, each with the axes of its plot.
        suppress: Fraction of a number whose interval may not be wider; None: nothing is suppressed.

    Returns:
        HTML of the page.
    """
    from ..display import INTRODUCTION, render_report, svg_text
    from ..translation import translate

    summaries = [curve.render_html(svg_text(picture), suppress=suppress) for curve, picture in results]
    return render_report(results[0][0]._translate_title(), translate(INTRODUCTION), summaries, ())


def _print_result(question: object, curve: Any, view: View[Any], output: Output) -> None:
    """Print a result: its question, the tables of the view, and the line on its privacy.

    Args:
        question: The question, or its title.
        curve: The result.
        view: How the result is shown.
        output: Options of the output.
    """
    from ..display import footer

    with show_spinner("simulating the noise"):
        tables = view.tables(curve)
    console = output.make_console()
    print_to_console(console, str(question))
    for table in tables:
        headline = filter(None, table.headline.split("\n"))
        print_to_console(console, *headline, table.format_rows())
    print_to_console(console, *footer(curve.privacy).split("\n"))


def print_plan_notes(
    session: Session, question: Question[Any], loss: PrivacyLoss, rows: int | None = None, name: str = ""
) -> None:
    """Print to stderr, before anything is charged, the notes on the plan of a question that searches for a range,
    groups or a bound; other questions print nothing.

    Args:
        session: The session.
        question: The question.
        loss: Its privacy loss.
        rows: Contribution bound (rows per unit); None: the session's bound, or found privately.
        name: Text before each note.
    """
    bounded = session.unit.is_bounded or rows is not None
    if getattr(question, "is_plan_shown_first", False) or loss.delta or not bounded:
        plans = session.plan(question, loss, rows_per_unit=rows)
        session.check_plans(plans)
        for note in plans.notes:
            print_to_stderr(f"{name}{note}")


def is_untyped(question: object, source: options.FormattedSourceOptions) -> bool:
    """Return True if a question with automatic range reads a file without column types and names no unit.

    Args:
        question: The question.
        source: Options of the table, which say whether its columns have types.
    """
    is_range_automatic = (
        getattr(question, "is_plan_shown_first", False) and getattr(question, "measured_in", None) == ""
    )
    return is_range_automatic and not source.has_types


@dataclass(frozen=True)
class Terms:
    """Terms of a question to a table: data source, privacy loss, guarantee, and the account that is charged."""

    source: options.FormattedSourceOptions
    loss_options: options.LossAndDeltaOptions
    guarantee: options.GuaranteeOptions
    units: options.UnitCountOptions
    paying_account: options.PayingAccountOptions

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask `question`, write the outputs and print the cost.

        Args:
            view: How the result is printed and drawn.
            output: Options of files and intervals.

        Raises:
            Misuse, ValueError, BudgetExceeded, UnsupportedQuery: no budget was spent.
            ChargedFailure: a step after the charge failed. The same request id returns the result at no cost.
        """
        source_files = [InputFile("DATA itself", path) for path in self.source.files]
        ledger_files = [InputFile("a file of the ledger", path) for path in files_of(self.paying_account.ledger or "")]
        output.require_distinct_files(*source_files, *ledger_files)
        output.require_writable()
        loss = self.loss_options.loss()
        request = self.paying_account.request_id or secrets.token_hex(8)
        question = apply_stored_view(question, self.paying_account)
        options.require_matching_delta(question, loss)
        if loss.epsilon is not None and loss.epsilon > 10_000:  # above this epsilon the noise is almost always 0
            from ..privacy import format_loss

            print_to_stderr(
                f"epsilon {format_loss(loss.epsilon)} hardly protects any unit: the noise is almost always 0"
            )
        with open_session(self, loss) as session, report_failures_after_charge(self.paying_account):
            from ..ledger.verification import Receipt, attach_receipt

            rows = None if session.unit.is_bounded else self.guarantee.max_rows_per_unit()
            print_plan_notes(session, question, loss, rows)
            if is_untyped(question, self.source):
                print_to_stderr(UNTYPED_CSV_NOTE)
            with show_pass_progress("counting"), suppress_curve_warnings():
                curve = session.ask(question, loss, request, rows_per_unit=rows)
            with attach_receipt(Receipt(request)), run_all_parts() as part:
                written = deliver(part, question, curve, view, output)
                with part():
                    lines = (f"written: {name}{_describe_large_size(name)}" for name in written)
                    print_to_console(output.make_console(), format_mechanism_line(curve), *lines)
                for note in curve.notes:
                    print_to_stderr(note)
                with part():
                    self._print_balance(output, session, question, request)

    def _print_balance(self, output: Output, session: Session, question: Question[Any], request: str) -> None:
        """Print the request id under which the question is free, and the remaining budget.

        Args:
            output: Options of the output.
            session: Session that was charged.
            question: The question.
            request: Id of the request.
        """
        if self.paying_account.ledger is None:
            print_to_stderr(UNRECORDED_NOTE)
            return
        from ..curves.question import find_charged_query
        from .table_digest import find_change

        free = "the same question" if find_charged_query(question) is None else "any values along this grid"
        balance = session.balance
        account = balance.account
        change = find_change(self.source.files, self.paying_account.ledger, account.dataset)
        if change is not None:
            print_to_stderr(change)
        print_to_console(
            output.make_console(),
            f"request: {request} ({free} under this --request-id is free)",
            f"left: {balance.remaining} of {account.limit.digits} in {account.dataset!r}",
        )


def apply_stored_view(
    question: Question[Any], payer: options.PayingAccountOptions | options.StoredViewOptions
) -> Question[Any]:
    """Return the question on the stored view that --view names; the question itself without that option.

    Args:
        question: The question.
        payer: Options of ledger, account and view.

    Raises:
        Misuse: no ledger is named.
        InvalidArgument: the account has no view of this name.
    """
    if payer.view is None:
        return question
    from ..curves.view import find_view

    applied: Question[Any] = find_view(payer.view, read_stored_views(payer)).apply(question)
    return applied


def read_stored_views(payer: options.PayingAccountOptions | options.StoredViewOptions) -> dict[str, CurveView]:
    """Return the views that are stored with the account, by name.

    Args:
        payer: Options of ledger and account.

    Raises:
        Misuse: no ledger is named.
    """
    from ..curves.view import parse_view_definitions

    if payer.ledger is None:
        raise Misuse("view", NEEDS_LEDGER)
    ledger = open_ledger(payer.ledger)
    return parse_view_definitions(ledger.view_definitions(account_of(ledger, payer.dataset).dataset))


def open_session(terms: Terms, loss: PrivacyLoss) -> Session:
    """Open a session on the table. With a ledger its account pays, and `loss` is not used; without one the budget is
    `loss`, in memory, and nothing is recorded.

    Args:
        terms: Options of table, guarantee and ledger.

    Raises:
        ValueError: an option needs a ledger, or the guarantee differs from the account's guarantee.
    """
    from ..session import Session

    ledger: Ledger | str
    if terms.paying_account.ledger is None:
        ledger = "sqlite://"
        account = _make_temporary_account(terms, loss)
    else:
        ledger = open_ledger(terms.paying_account.ledger)
        account = account_of(ledger, terms.paying_account.dataset)
        require_same_guarantee(terms.guarantee, account)
    unit = account.unit
    return Session(
        terms.source.records(), budget=account.cap, adjacency=account.neighbours, unit=unit.column or None,
        rows_per_unit=unit.records if unit.column and unit.is_bounded else None,
        units=terms.units.unit_count(account.neighbours), delimiter=terms.source.delimiter, ledger=ledger,
        dataset=account.dataset, source=getattr(terms.source, "source", None),
    )  # fmt: skip


def _make_temporary_account(terms: Terms, loss: PrivacyLoss) -> Account:
    """Return an account in memory whose budget is exactly this loss.

    Args:
        terms: Options of the question.
        loss: Its privacy loss.

    Raises:
        Misuse: an option was typed that needs a ledger.
    """
    from ..ledger import Account, Currency

    for option, value in (("dataset", terms.paying_account.dataset), ("request-id", terms.paying_account.request_id)):
        if value is not None:
            raise Misuse(option, NEEDS_LEDGER)
    budget = Currency.from_loss(loss).smallest_cap(loss)
    return Account("data", terms.guarantee.neighbours(), terms.guarantee.privacy_unit(bound_required=False), budget)


@contextmanager
def report_failures_after_charge(payer: options.PayingAccountOptions) -> Iterator[None]:
    """Context manager: an error inside the ``with`` block that came after a charge is replaced by one that names the
    request id, under which the question can be repeated at no cost.

    Args:
        payer: Options of ledger and account; errors pass unchanged without a ledger.

    Raises:
        ChargedFailure: the charge was made.
        UncertainChargeFailure: the charge may have been made.
    """
    from ..ledger.verification import OpenReceipt, receipt_of

    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        receipt = receipt_of(error)
        if receipt is None or payer.ledger is None:
            raise
        failure_class = UncertainChargeFailure if isinstance(receipt, OpenReceipt) else ChargedFailure
        raise failure_class(error, receipt.request) from None


@contextmanager
def suppress_curve_warnings() -> Iterator[None]:
    """Context manager: no `CurveWarning` is shown inside the ``with`` block, because the texts are printed as notes
    below the curve.
    """
    import warnings

    from ..curves.result import CurveWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CurveWarning)
        yield


# Declared commands: the class of the question, its option groups, and the views of its result.


def build_question(kind: str | Callable[..., Any], *groups: options.QuestionOptions) -> Any:
    """Return the question that the typed options describe.

    Args:
        kind: Class name of the question, or a function that makes it.
        groups: Groups of options, each of which sets some arguments of the question.
    """
    from .. import curves

    make_question = getattr(curves, kind) if isinstance(kind, str) else kind
    defaults: dict[str, Any] = {}
    if is_dataclass(make_question):
        defaults = {question_field.name: question_field.default for question_field in fields(make_question)}
    question_fields: dict[str, Any] = {}
    for group in groups:
        question_fields |= group.question_fields(defaults)
    return make_question(**question_fields)


def make_question_command(
    word: str,
    kind: str | Callable[..., Any],
    groups: Sequence[options.Group],
    views: Sequence[Any],
    *,
    title: str,
    example: str,
    more: str = "",
    epsilon: str = "1",
    adjacency: str = "replace-one",
    complete_question: Callable[[Any, Any], Any] | None = None,
) -> options.Command:
    """Return the function of a command that asks one question; its annotations name the option groups, its docstring is
    the help.

    Args:
        word: Name of the command.
        kind: Class of the question, or a function that makes one.
        groups: Option groups, which set fields of the question by `QuestionOptions.question_fields`.
        views: View classes: the last of them for a question with `by`, the first for all others.
        title: First sentence of the help.
        example: File and options of the question in the example of the help.
        more: Further sentences of the help.
        epsilon: Privacy loss in the example.
        adjacency: Adjacency in the example.
        complete_question: Function that adapts the question to the view; None: the question stays.
    """

    def run_command(
        terms: Terms, output: Output, row_filter: options.FilterOptions, **option_groups: options.QuestionOptions
    ) -> None:
        """Build the question and its view from the typed options, and ask it at the privacy loss and account that
        `terms` state.
        """
        question = row_filter.apply(build_question(kind, *option_groups.values()))
        view = views[-1 if getattr(question, "by", None) else 0].from_output(output)
        for group in option_groups.values():
            view = group.adapt_view(view, question)
        terms.answer(question if complete_question is None else complete_question(question, view), view, output)

    example_line = f"Example: dpcurves {word} {example} --epsilon {epsilon} --adjacency {adjacency}"
    run_command.__name__ = word
    run_command.__doc__ = "\n\n    ".join(filter(None, (title, more, example_line)))
    run_command.needs_grid = options.CellOptions in groups or options.AutoCells in groups  # type: ignore[attr-defined]
    run_command.__annotations__ = {
        **{group.__name__: group for group in groups}, "row_filter": options.FilterOptions, "terms": Terms,
        "output": Output,
    }  # fmt: skip
    return run_command


@dataclass(frozen=True)
class FieldQuestions:
    """Questions of another package, which the core finds by the entry points of `QUESTION_ENTRY_POINTS`.

    Attributes:
        after: Command of the core after which they are listed.
        commands: Commands, made by `make_question_command` or with the same parameters.
    """

    after: str
    commands: tuple[options.Command, ...]


QUESTION_ENTRY_POINTS = "dpcurves.questions"
"""Group of entry points by which other packages add questions: each entry loads a `FieldQuestions`, whose commands the
command line then offers."""

# Two-sample tests, printed as lines above the table of both groups.


def describe_two_sample_tests(curves: ByCategory[CDF], settings: IntervalSettings) -> str:
    """Return the Kolmogorov-Smirnov and rank-sum tests of two distributions as lines of text.

    Empty unless there are two groups, intervals for the population are asked for, and each unit has one record.

    Args:
        curves: Distribution functions by category.
        settings: Settings of the intervals.
    """
    if len(curves) != 2 or not covers_population(curves, settings):
        return ""
    from ..curves import ks_test, rank_sum_test

    names, (first, second) = " and ".join(map(curves.format_category, curves)), curves.values()
    ks = ks_test(first, second)
    rank_sum = rank_sum_test(first, second)
    return (
        f"Kolmogorov-Smirnov, {names}: {ks.statistic:.3g}, {describe_p_value(ks.p_value)}\n"
        f"rank sum, {names}: probability that the first is smaller {rank_sum.statistic:.3g}, "
        f"{describe_p_value(rank_sum.p_value)}\n"
    )


def covers_population(curves: ByCategory[Any], settings: IntervalSettings) -> bool:
    """Return True if intervals for the population are asked for and each unit has one record.

    Args:
        curves: Results by category, with their privacy unit.
        settings: Settings of the intervals, which may ask for the population.
    """
    return settings.population and curves.privacy.rows_per_unit == 1


def describe_p_value(p_value: float) -> str:
    """Return a p-value as text, with the words that it accounts for sampling.

    Args:
        p_value: The p-value, from 0 to 1.
    """
    if isnan(p_value):
        return "p-value not known"
    return f"p-value {p_value:.2g} for the population, noise included"
