"""Commands about results that were released before: show, publish, review, and compare.

Results are read from JSON files. They are compared with the same curve of a public table or with each other, and made
consistent with each other. All of this is post-processing: no command here opens confidential records or spends budget.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast

from ..arguments import InvalidArgument
from .ask_file import deliver, render_page, run_all_parts, write_files
from .options import Argument, Command, Option, parse_numbers, parse_probability
from .output import InputFile, Output, ResultView, ViewTable, check_language, parse_json_object, read_text
from .terminal import Misuse, make_console, print_to_console, print_to_stderr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import CDF, Drift, QuantileQuantile
    from ..curves.result import ReleasedResult

DEFAULT_QQ_PROBABILITIES = "0.01,0.05,0.1,0.25,0.5,0.75,0.9,0.95,0.99"
"""Default of --p of ``dpcurves qq``: at these probabilities the quantiles of both samples are compared."""


def compare(
    *,
    curve: Annotated[str, Argument(metavar="CURVE", help="Released curve, as --json wrote it.")],
    public: Annotated[str, Argument(metavar="PUBLIC", help="Public records: a CSV or Parquet file.")],
    question: Annotated[
        str, Option(help="Question that the curve answers: a JSON object as in a study.", metavar="FILE")
    ],
    plot: Annotated[
        str | None, Option(help="Plot both curves to a file that ends in .svg, .png or .pdf.", metavar="FILE")
    ] = None,
    language: Annotated[str, Option(help="Language of the plot: en, de, fr or es.", metavar="CODE")] = "en",
) -> None:
    """Compare a released curve with the same curve of a public table.

    The public table is counted without noise. The confidential table is not used, so the comparison costs no privacy.

    Example: dpcurves compare delay.json synthetic.csv --question question.json --plot both.svg
    """
    from ..display import headless_axes
    from ..shortcuts import compare as compared

    output = Output(plot=plot, language=check_language(language))
    _require_distinct_files(output, curve, public, question)
    released = _read_comparable(curve)
    comparison = compared(released, _read_question(question), public)
    print_to_console(make_console(), comparison.verdict)
    _print_written_files(
        output, output.write_plot(lambda: comparison.plot(ax=headless_axes(type(comparison.private).SIZE)))
    )


def _read_comparable(file: str) -> Any:
    """Return the released curve of a file, for a comparison of two curves.

    Args:
        file: Path of the JSON file.

    Raises:
        Misuse: the file cannot be read, or is of a kind that cannot be compared.
    """
    from ..curves.comparison import MEASURES

    text = read_text("curve", file)
    try:
        kind = parse_json_object("curve", text).get("kind")
        (result_class,) = (measured_class for measured_class in MEASURES if kind == measured_class.KIND)
    except ValueError:
        kinds = ", ".join(measured_class.KIND for measured_class in MEASURES)
        raise Misuse("curve", f"must be the file of a released {kinds}; give one that --json wrote") from None
    return result_class.from_json(text)


def _read_question(file: str) -> Any:
    """Return the question that a JSON file describes.

    Args:
        file: Path of the JSON file.

    Raises:
        Misuse: the file cannot be read, or holds no question.
    """
    from ..curves.question_json import question_from_json

    try:
        return question_from_json(parse_json_object("question", read_text("question", file)))
    except InvalidArgument as error:
        raise Misuse("question", str(error)) from None


def _read_cdf(argument: str, file: str) -> CDF:
    """Return the released distribution function of a file.

    Args:
        argument: Name of the option, for the message.
        file: Path of the file.

    Raises:
        Misuse: the file holds none.
    """
    from ..curves import CDF

    text = read_text(argument, file)
    try:
        if parse_json_object(argument, text).get("kind") == CDF.KIND:
            return CDF.from_json(text)
    except ValueError:
        pass
    raise Misuse(
        argument, f"{file!r} is not a released distribution function; give a file that `dpcurves cdf --json` wrote"
    )


class QuantileQuantileView(ResultView):
    """View of the quantiles of two curves: a table of simultaneous intervals for the records or the population."""

    def tables(self, curve: QuantileQuantile) -> list[ViewTable]:
        """Return a table for each kind of interval: a row for each pair of quantiles with both intervals.

        Args:
            curve: The released result to show.
        """
        from ..display import describe_interval

        tables = []
        for scope, population in curve.scopes.items():
            if self.settings.population or not population:
                first, second = curve.intervals(self.settings.level, population=population)
                columns = {
                    "p": curve.p, "first": curve._mask_unknown("first", curve.x), "first, from and to": first,
                    "second": curve._mask_unknown("second", curve.y), "second, from and to": second,
                }  # fmt: skip
                tables.append(ViewTable(describe_interval(self.settings.level, curve._interval_name(), scope), columns))
        return [
            tables[0]._replace(headline=tables[0].headline + self.describe_missing_population(curve.privacy)),
            *tables[1:],
        ]


def qq(
    *,
    first: Annotated[str, Argument(metavar="FIRST", help="Distribution function along x, as --json wrote it.")],
    second: Annotated[str, Argument(metavar="SECOND", help="Distribution function along y.")],
    p: Annotated[
        str, Option(help="Probabilities of the quantiles, between 0 and 1.", metavar="P,P,...")
    ] = DEFAULT_QQ_PROBABILITIES,
    output: Output,
) -> None:
    """Quantile-quantile plot of two released distributions.

    Both are read from files and no data are opened, so it costs no privacy. On the diagonal they are equal.

    Example: dpcurves qq before.json after.json --plot qq.svg
    """
    _require_distinct_files(output, first, second)
    view = QuantileQuantileView.from_output(output)
    first_cdf = _read_cdf("first", first)
    second_cdf = _read_cdf("second", second)
    try:
        result = first_cdf.quantile_quantile(second_cdf, parse_numbers("p", p))
    except InvalidArgument as error:
        raise Misuse("p", error.rule) from None
    _deliver_result(f"quantiles of {second} against {first}", result, view, output)


class DriftView(ResultView):
    """View of the statistics of each window beside their thresholds."""

    def tables(self, curve: Drift) -> list[ViewTable]:
        """Return a table with a row for each window and statistic, with its threshold.

        Args:
            curve: The released result to show.
        """
        caption = (
            f"a threshold is exceeded in {curve.false_alarm_rate:.3%} of unchanged windows, noise and sampling included"
        )
        return [ViewTable(caption, curve._columns(), len(curve.statistics))]


def drift(
    *,
    reference: Annotated[
        str, Argument(metavar="REFERENCE", help="Released cdf, histogram or bars, as --json wrote it.")
    ],
    windows: Annotated[
        list[str], Argument(metavar="WINDOW...", help="Later results on the same cells, in time order.")
    ],
    false_alarm_rate: Annotated[str, Option(help="False-alarm probability of each window and statistic.")] = "0.05",
    output: Output,
) -> None:
    """Drift of a column since a reference: stability index, KS, Wasserstein, area, missing share, with alarms.

    For bar charts: stability index, chi-squared, total variation, and the share of unlisted values.

    Released curves are read from files and no data are opened, so it costs no privacy.

    Example: dpcurves drift january.json may.json june.json --plot drift.svg
    """
    from ..curves import drift as drifted
    from ..curves.result import result_from_json

    _require_distinct_files(output, reference, *windows)
    first, *later = (result_from_json(read_text("reference", name)) for name in (reference, *windows))
    later_by_name = dict(zip(_name_windows(windows), later, strict=True))
    result = drifted(first, later_by_name, false_alarm_rate=parse_probability("false_alarm_rate", false_alarm_rate))  # type: ignore[arg-type]
    _deliver_result(f"drift since {reference}", result, DriftView.from_output(output), output)


def _name_windows(files: Sequence[str]) -> list[str]:
    """Return a name for each file of a drift's windows: the file name without ending, or the whole path if two are
    equal.

    Args:
        files: Paths of the released windows, in time order.

    Raises:
        Misuse: a file is named twice.
    """
    stems = [Path(file).stem for file in files]
    names = [
        file if stems.count(stem) > 1 or stem == "reference" else stem for file, stem in zip(files, stems, strict=True)
    ]
    if len(set(names)) < len(names):
        raise Misuse("windows", "a file is named twice; give each once")
    return names


class SavedResultView(ResultView):
    """View of a stored result of any kind: columns with interval bounds as in its CSV, and its plot."""

    SUPPRESSES = True

    def tables(self, curve: ReleasedResult) -> list[ViewTable]:
        """Return the columns of the result with interval bounds; .. where an interval is wider than the suppression
        threshold.

        Args:
            curve: The released result to show.
        """
        settings = self.settings._asdict()
        table = curve.describe_table(**settings)
        # printed rows of a list, in which each row matters, while rows of a curve look alike
        tables = [ViewTable.from_table(repr(curve), table, 400 if table.has_labels else 40)]
        main = [table for table in curve.report_tables(**settings) if not table.is_detail and table.title]
        return [*(ViewTable.from_table(table.title, table, 400) for table in main), *tables]

    def draw(self, curve: ReleasedResult) -> Axes:
        """Return the axes of the result's plot with its band or intervals.

        Args:
            curve: The released result to show.
        """
        return curve.plot_headless(**self.settings.plot_arguments)


def _read_results(files: Sequence[str]) -> dict[str, ReleasedResult]:
    """Return the released results of files, by names that can be file names.

    Args:
        files: Paths of JSON files.

    Raises:
        Misuse: a file cannot be read, or holds no result.
    """
    from ..curves.result import result_from_json
    from ..publication import assign_file_names

    results = []
    for file in files:
        text = read_text("results", file)
        try:
            results.append((Path(file).stem, result_from_json(text)))
        except InvalidArgument as error:
            raise Misuse(
                "results", f"{file!r} holds no released result ({error}); give a file that --json wrote"
            ) from None
    return dict(assign_file_names(results))


def show(
    *,
    results: Annotated[list[str], Argument(metavar="RESULT...", help="Released results, as --json wrote them.")],
    over: Annotated[
        str | None, Option(help="Sum over the categories of these columns (a margin).", metavar="NAME,NAME")
    ] = None,
    rank: Annotated[bool, Option("--rank", help="Rank the categories, with an interval for each rank.")] = False,
    output: Output,
) -> None:
    """Show, plot and convert stored results.

    Results are read from files and no data are opened, so it costs no privacy. Several results of one kind share a
    plot and a table. --over and --rank compute margins and rankings of results by category.

    Example: dpcurves show january.json february.json --plot both.svg --xlsx both.xlsx
    """
    _require_distinct_files(output, *results)
    view = SavedResultView.from_output(output)
    saved = _read_results(results)
    if over is not None:
        saved = {name: _compute_margin(result, over.split(",")) for name, result in saved.items()}
    if rank:
        saved = {name: _rank_categories(result) for name, result in saved.items()}
    if output.suppress is not None and not all(result._suppressible_columns() for result in saved.values()):
        output.suppression_width(shows_counts=False)
    if len(saved) == 1:
        (result,) = saved.values()
        _deliver_result(results[0], result, view, output, result.notes)
    else:
        _print_written_files(output, _show_several(saved, view, output))


def _compute_margin(result: ReleasedResult, columns: list[str]) -> Any:
    """Return the result summed over some of its columns of categories.

    Args:
        result: Result by categories of several columns.
        columns: Names of the columns to sum over.

    Raises:
        Misuse: the result has no categories, or not these columns.
    """
    sum_over = getattr(result, "sum_over", None)
    if sum_over is None:
        raise Misuse(
            "over", "--over needs a result by category or a two-way table; give the file of one, or leave --over out"
        )
    try:
        return sum_over(*columns)
    except InvalidArgument as error:
        raise Misuse("over", error.rule) from None


def _rank_categories(result: ReleasedResult) -> ReleasedResult:
    """Return the ranking of a result by category, with confidence sets of ranks.

    Args:
        result: Result with one number for each category.

    Raises:
        Misuse: the result has no numbers by category.
    """
    from ..curves import SummaryByCategory, ranking

    if not isinstance(result, SummaryByCategory):
        raise Misuse(
            "rank",
            "--rank needs counts, sums or summaries by category; give the file of such a result, or leave --rank out",
        )
    return ranking(result)


def make_consistent(
    *,
    results: Annotated[list[str], Argument(metavar="RESULT...", help="JSON files of counts, sums or histograms.")],
    sums: Annotated[bool, Option("--sums", help="Make the sums add up instead of the counts.")] = False,
    tree: Annotated[
        str | None,
        Option("--tree", metavar="FILE", help='JSON of nested columns: {"levels": [...], "nested": {...}}.'),
    ] = None,
    output: Output,
) -> None:
    """Make counts, sums or histograms of several releases add up: parts and their totals.

    One of the files has the categories of all columns; the others are its totals. Results are read from files and no
    data are opened, so it costs no privacy.

    Example: dpcurves make-consistent state-year.json year.json all.json --csv totals.csv
    """
    from ..curves import make_consistent as make_totals_consistent

    _require_distinct_files(output, *results)
    view = SavedResultView.from_output(output)
    saved = _read_results(results)
    tree_arguments = {} if tree is None else _read_tree(tree)
    result = make_totals_consistent(saved, "sum" if sums else "count", **tree_arguments)  # type: ignore[arg-type]
    _deliver_result("totals that add up", result, view, output, result.notes)


def _read_tree(path: str) -> dict[str, Any]:
    """Return a hierarchy of categories from a JSON file.

    Args:
        path: Path of the file.

    Returns:
        Object with ``levels`` and ``nested``.

    Raises:
        Misuse: the file cannot be read, or is no hierarchy.
    """
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise Misuse(
            "tree", f'{path!r} cannot be read as JSON; give a file with {{"levels": ..., "nested": ...}}'
        ) from None
    if not isinstance(stored, dict) or set(stored) != {"levels", "nested"}:
        raise Misuse(
            "tree",
            'this is no hierarchy; write it as {"levels": ["region", "district"], "nested": {"north": ["a", "b"]}}',
        )
    return stored


def _show_several(results: Mapping[str, ReleasedResult], view: SavedResultView, output: Output) -> list[str]:
    """Print and write several results together; return the names of the files written.

    Args:
        results: Results by name.
        view: How results are printed and drawn.
        output: Options of files and intervals.

    Raises:
        Misuse: --json was typed, which writes one result.
    """
    from ..display import csv_text, footer, use_style
    from ..publication import plot_results_together, stack_columns

    if output.json is not None:
        raise Misuse("json", "--json writes one result, and these files are JSON already; leave --json out")
    settings = view.settings._asdict()
    written = list[str]()
    with use_style(output.style, None):
        axes = None
        if {"plot", "xlsx"} & set(output.files):
            axes = plot_results_together(results, **view.settings.plot_arguments)
    columns = stack_columns(results, **settings) if {"csv", "xlsx"} & set(output.files) else {}
    with run_all_parts() as part:
        for name, result in results.items():
            with part():
                for table in view.tables(result):
                    printed = table.format_rows()
                    print_to_console(output.make_console(), *f"{name}: {table.headline}".split("\n"), printed)
                print_to_console(output.make_console(), *footer(result.privacy).split("\n"))
            for note in result.notes:
                print_to_stderr(f"{name}: {note}")
        with part():
            written += output.write_plot(lambda: cast("Axes", axes))
        written += write_files(part, output, {
            "csv": lambda: csv_text(columns, raw=output.csv_raw).encode(),
            "xlsx": lambda: _build_workbook_of_several(results, columns, cast("Axes", axes), settings),
            "html": lambda: render_page(
                [(result, view.draw(result)) for result in results.values()], view.settings.suppress
            ).encode(),
        })  # fmt: skip
    return written


def _build_workbook_of_several(
    results: Mapping[str, ReleasedResult], columns: Mapping[str, Any], axes: Axes, settings: Mapping[str, Any]
) -> bytes:
    """Return a workbook of several results: a page with their common plot and main numbers, and all numbers below each
    other.

    Args:
        results: Results by name.
        columns: All numbers, below each other, by column.
        axes: Their common plot.
        settings: Level and scope of the intervals, and the fraction `suppress`.

    Returns:
        Content of the file.
    """
    from ..display import SheetPage, build_workbook
    from ..publication import describe_results_privacy

    first = next(iter(results.values()))
    tables = []
    facts = []
    for name, result in results.items():
        shown = [table for table in result.report_tables(**settings) if not table.is_detail]
        tables += [replace(table, title=f"{name}: {table.title}".removesuffix(": ")) for table in shown]
        rows = result._facts_beside(shown, settings["suppress"])
        facts += [(name, repr(result)), *((f"{name}, {fact}", text) for fact, text in rows)]
        facts += [(name, note) for note in result.notes]
    statement = [("privacy", describe_results_privacy(results))]
    page = SheetPage(", ".join(results), axes, tables, facts, statement)
    return build_workbook([page], {"numbers": first._build_table(columns, settings["level"])})


def publish(
    *,
    results: Annotated[
        list[str] | None, Argument(metavar="RESULT...", help="Released results, as --json wrote them.")
    ] = None,
    out: Annotated[str | None, Option("--out", help="New or empty folder.", metavar="DIR")] = None,
    title: Annotated[str, Option(help="Title of the page.")] = "Released results",
    level: Annotated[str, Option(help="Confidence level of bands and intervals.", metavar="P")] = "0.95",
    population: Annotated[bool, Option(help="Also show intervals for the population.")] = True,
    suppress: Annotated[
        str | None,
        Option(help="Write counts and sums as .. if their interval is wider than this fraction.", metavar="SHARE"),
    ] = None,
    about: Annotated[
        str | None,
        Option(help="TOML file for the entry registry.yaml: curators, region, intended use.", metavar="FILE"),
    ] = None,
    about_template: Annotated[
        str | None, Option(help="Write a file for --about with comments, and nothing else.", metavar="FILE")
    ] = None,
    date: Annotated[str | None, Option(help="Date on the page. Default: today, in UTC.", metavar="DATE")] = None,
    language: Annotated[
        str, Option(help="Language of page, plots and texts: en, de, fr or es.", metavar="CODE")
    ] = "en",
) -> None:
    """Publish released results in a folder: a page, numbers, plots, a privacy statement, a registry entry, hashes.

    Results are read from files and no data are opened, so it costs no privacy. Equal results and dates give
    equal bytes.

    Example: dpcurves publish delay.json roc.json --out published --title "Delays in January"
    """
    from ..publication import INDEX_FILE, REGISTRY_FILE
    from ..publication import publish as published

    if about_template is not None:
        _write_about_template(about_template)
        return
    if not results:
        raise Misuse("results", "name the files of released results, as --json wrote them")
    if out is None:
        raise Misuse("out", "name a new or empty folder, as in --out published")
    saved = _read_results(results)
    settings = Output(level=level, population=population, suppress=suppress).interval_settings(suppressing=True)
    try:
        replaced = ", in place of what was published there before" if (Path(out) / INDEX_FILE).exists() else ""
        files = published(
            saved, out, title=title, about=about, date=date, language=check_language(language), **settings._asdict()
        )
    except OSError as error:
        raise Misuse(
            "out", f"{out!r} cannot be written ({error.strerror}); name a file in a folder where you may write"
        ) from None
    print_to_console(make_console(), f"written: {len(files)} files in {out!r}{replaced}")
    missing = [
        line
        for line in (Path(out) / REGISTRY_FILE).read_text(encoding="utf-8").splitlines()
        if MISSING_FIELD_MARK in line
    ]
    if missing:
        print_to_console(make_console(), f"{REGISTRY_FILE} lacks {len(missing)} required facts: {ABOUT_HINT}")


MISSING_FIELD_MARK = "# Missing (required)"
"""Marks, in the registry entry of a publication, a required field that nobody filled in; ``dpcurves publish`` counts
these lines."""
ABOUT_HINT = "fill in the file of dpcurves publish --about-template FILE, and give it as --about FILE"
"""End of the message on required facts that a registry entry lacks: how to state them."""


def _write_about_template(file: str) -> None:
    """Write the template of a file for ``--about`` and print its name.

    Args:
        file: Path of the new TOML file.

    Raises:
        Misuse: the file exists, or cannot be written.
    """
    from ..registry import TEMPLATE

    try:
        with Path(file).open("x", encoding="utf-8") as template:
            template.write(TEMPLATE)
    except FileExistsError:
        raise Misuse("about_template", f"{file!r} exists; name a new file, or fill in that one") from None
    except OSError as error:
        raise Misuse("about_template", f"{file!r} cannot be written ({error.strerror}); name another file") from None
    print_to_console(make_console(), f"written: {file}")


def review(
    *,
    url: Annotated[
        str, Argument(metavar="LEDGER", help="sqlite:///budget.db, or postgresql+psycopg://user@host/database.")
    ],
    results: Annotated[
        list[str] | None, Argument(metavar="[RESULT...]", help="Released results, for mechanism and trust model.")
    ] = None,
    out: Annotated[str, Option("--out", help="Folder of its own, which is not published.", metavar="DIR")],
    dataset: Annotated[str | None, Option(help="Review this account only.", metavar="NAME")] = None,
    about: Annotated[
        str | None, Option(help="TOML file with what no ledger knows; see publish --about-template.", metavar="FILE")
    ] = None,
    language: Annotated[str, Option(help="Language of the sheet: en, de, fr or es.", metavar="CODE")] = "en",
) -> None:
    """Write REVIEW.md: who asked for what at what loss, and the questions of reviewers with their answers.

    The ledger is verified and read, no data are opened, so it costs no privacy. The sheet names people, requests and
    purposes: it is refused in a published folder. The questions follow NIST SP 800-226 and the W3C draft note on
    reviewing differential privacy systems.

    Example: dpcurves review sqlite:///budget.db --out review
    """
    from ..registry import NO_DETAILS, read_about
    from ..review import write_review
    from ..translation import use_language
    from .accounts import account_of, open_ledger

    check_language(language)
    ledger = open_ledger(url)
    datasets = () if dataset is None else (account_of(ledger, dataset).dataset,)
    facts = NO_DETAILS if about is None else read_about(about)
    saved = _read_results(results or ())
    with use_language(language):
        sheet = write_review(ledger, out, datasets=datasets, about=facts, results=saved)
    print_to_console(make_console(), f"written: {sheet}")


def _require_distinct_files(output: Output, *input_files: str) -> None:
    """Refuse output files that cannot be written, or are one of the input files.

    Args:
        output: Options of the output files.
        input_files: Names of the input files.

    Raises:
        Misuse: names the option of the file.
    """
    output.require_distinct_files(*(InputFile("an input file", Path(name)) for name in input_files))
    output.require_writable()


def _deliver_result(title: str, result: Any, view: Any, output: Output, notes: Sequence[str] = ()) -> None:
    """Print and write a result with its notes, and print the names of the files written.

    Args:
        title: Title of the result.
        result: The result.
        view: How it is shown.
        output: Options of the output files.
        notes: Lines for standard error.
    """
    with run_all_parts() as part:
        written = deliver(part, title, result, view, output)
    for note in notes:
        print_to_stderr(note)
    _print_written_files(output, written)


def _print_written_files(output: Output, files: Sequence[str]) -> None:
    """Print a line for each file written.

    Args:
        output: Options of the output, which decide where lines are printed.
        files: Names of the written files.
    """
    for name in files:
        print_to_console(output.make_console(), f"written: {name}")


RELEASED_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({
    "show": show, "make-consistent": make_consistent, "publish": publish, "review": review,
    "compare": compare, "qq": qq, "drift": drift,
})  # fmt: skip
"""Commands on stored results by name. They read released numbers only and spend no budget."""
