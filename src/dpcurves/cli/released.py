"""Commands about released results: shown, published, compared with a public table or with each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast

from ..arguments import InvalidArgument
from .ask_file import deliver, render_page, run_all_parts, write_files
from .options import Argument, Command, Option, parse_numbers, parse_probability
from .output import InputFile, Output, ResultView, ViewTable, parse_json_object, read_text
from .terminal import Misuse, make_console, print_to_console, print_to_stderr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import CDF, Drift, QuantileQuantile
    from ..curves.result import ReleasedResult

SHOWN = "0.01,0.05,0.1,0.25,0.5,0.75,0.9,0.95,0.99"


def compare(
    *,
    curve: Annotated[str, Argument(metavar="CURVE", help="A released curve, as --json wrote it.")],
    public: Annotated[str, Argument(metavar="PUBLIC", help="Public records: a CSV or Parquet file.")],
    question: Annotated[
        str, Option(help="The question that the curve answers: a JSON object as in a study.", metavar="FILE")
    ],
    plot: Annotated[
        str | None, Option(help="Draw both: a file that ends in .svg, .png or .pdf.", metavar="FILE")
    ] = None,
) -> None:
    """Compare a released curve with the same curve of a public table.

    The public table is counted without noise; nothing is asked of the confidential one, so there is no privacy loss.

    Example: dpcurves compare delay.json synthetic.csv --question question.json --plot both.svg
    """
    from ..display import headless_axes
    from ..shortcuts import compare as compared

    output = Output(plot=plot)
    _require_distinct_files(output, curve, public, question)
    released = _read_comparable(curve)
    found = compared(released, _read_question(question), public)
    print_to_console(make_console(), found.verdict)
    _print_written_files(output, output.write_plot(lambda: found.plot(ax=headless_axes(type(found.private).SIZE))))


def _read_comparable(file: str) -> Any:
    from ..curves.comparison import MEASURES

    text = read_text("curve", file)
    try:
        kind = parse_json_object("curve", text).get("kind")
        (found,) = (each for each in MEASURES if kind == each.KIND)
    except ValueError:
        kinds = ", ".join(each.KIND for each in MEASURES)
        raise Misuse("curve", f"a file of one of these is needed: {kinds}") from None
    return found.from_json(text)


def _read_question(file: str) -> Any:
    from ..curves.question_json import question_from_json

    try:
        return question_from_json(parse_json_object("question", read_text("question", file)))
    except InvalidArgument as error:
        raise Misuse("question", str(error)) from None


def _read_cdf(argument: str, file: str) -> CDF:
    from ..curves import CDF

    text = read_text(argument, file)
    try:
        if parse_json_object(argument, text).get("kind") == CDF.KIND:
            return CDF.from_json(text)
    except ValueError:
        pass
    raise Misuse(argument, f"a released distribution function is needed, as `dpcurves cdf --json` writes it: {file!r}")


class QuantileQuantileView(ResultView):
    """View of the quantiles of both curves: a table of simultaneous intervals for each whom they speak of."""

    def tables(self, curve: QuantileQuantile) -> list[ViewTable]:
        from ..display import describe_interval

        found = []
        for who, population in curve.scopes.items():
            if self.settings.population or not population:
                first, second = curve.intervals(self.settings.level, population=population)
                columns = {
                    "p": curve.p, "first": curve._mask_unknown("first", curve.x), "first, from and to": first,
                    "second": curve._mask_unknown("second", curve.y), "second, from and to": second,
                }  # fmt: skip
                found.append(ViewTable(describe_interval(self.settings.level, curve._interval_name(), who), columns))
        return [
            found[0]._replace(headline=found[0].headline + self.describe_missing_population(curve.privacy)),
            *found[1:],
        ]


def qq(
    *,
    first: Annotated[str, Argument(metavar="FIRST", help="A distribution function, as --json wrote it: along x.")],
    second: Annotated[str, Argument(metavar="SECOND", help="Another one: along y.")],
    p: Annotated[str, Option(help="Shares of records, between 0 and 1.", metavar="P,P,...")] = SHOWN,
    output: Output,
) -> None:
    """Quantiles of a released distribution against those of another one.

    Both are read from files, and no data are opened, so there is no privacy loss. On the diagonal they are equal.

    Example: dpcurves qq before.json after.json --plot qq.svg
    """
    _require_distinct_files(output, first, second)
    view, one, other = QuantileQuantileView.from_output(output), _read_cdf("first", first), _read_cdf("second", second)
    try:
        found = one.quantile_quantile(other, parse_numbers("p", p))
    except InvalidArgument as error:
        raise Misuse("p", error.rule) from None
    _deliver_result(f"quantiles of {second} against {first}", found, view, output)


class DriftView(ResultView):
    """View of the statistics of each window beside their thresholds."""

    def tables(self, curve: Drift) -> list[ViewTable]:
        words = f"a threshold is passed in {curve.alarms:.3%} of unchanged windows, noise and sampling included"
        return [ViewTable(words, curve._columns(), len(curve.shifts))]


def drift(
    *,
    reference: Annotated[str, Argument(metavar="REFERENCE", help="A released cdf or histogram, as --json wrote it.")],
    windows: Annotated[list[str], Argument(metavar="WINDOW...", help="Later ones on the same cells, in their order.")],
    alarms: Annotated[str, Option(help="The chance of a false alarm of each window and statistic.")] = "0.05",
    output: Output,
) -> None:
    """Drift of a column since a reference: stability index, KS, Wasserstein and area, with alarms.

    Released curves are read from files, and no data are opened, so there is no privacy loss.

    Example: dpcurves drift january.json may.json june.json --plot drift.svg
    """
    from ..curves import drift as drifted
    from ..curves.result import result_from_json

    _require_distinct_files(output, reference, *windows)
    first, *later = (result_from_json(read_text("reference", name)) for name in (reference, *windows))
    named = dict(zip(_name_windows(windows), later, strict=True))
    found = drifted(first, named, alarms=parse_probability("alarms", alarms))  # type: ignore[arg-type]
    _deliver_result(f"drift since {reference}", found, DriftView.from_output(output), output)


MOST_POINTS = 20
"""Rows of a curve that are shown, evenly chosen: those between look alike."""
MOST_LABELLED = 400
"""Rows of a table with labels that are shown: none of them stands for another."""


def _name_windows(files: Sequence[str]) -> list[str]:
    """The name of each window: that of its file without its ending, or the whole path where two are called alike."""
    stems = [Path(file).stem for file in files]
    names = [
        file if stems.count(stem) > 1 or stem == "reference" else stem for file, stem in zip(files, stems, strict=True)
    ]
    if len(set(names)) < len(names):
        raise Misuse("windows", "each file is named once")
    return names


class SavedResultView(ResultView):
    """View of a kept result of any kind: its columns with the ends of its intervals, as in its CSV, and its picture."""

    SUPPRESSES = True

    def tables(self, curve: ReleasedResult) -> list[ViewTable]:
        import numpy as np

        from ..display import SUPPRESSED, format_numbers, suppress_rows

        columns = curve.columns_with_intervals(**self.settings.plot_arguments)
        texts = {name for name, column in columns.items() if column.dtype.kind in "OU"}
        most = MOST_LABELLED if texts - set(curve._axis_labels()) else MOST_POINTS
        if self.settings.suppress is None:
            return [ViewTable(repr(curve), columns, most)]
        marked = {
            name: [each == SUPPRESSED for each in column.tolist()]
            for name, column in curve.columns_with_intervals(**self.settings._asdict()).items()
        }
        for name, rows in marked.items():
            if any(rows):
                columns |= suppress_rows({name: format_numbers(columns[name])}, [name], np.array(rows))
        return [ViewTable(repr(curve), columns, most)]

    def draw(self, curve: ReleasedResult) -> Axes:
        """Plot of the result with its band or its intervals."""
        return curve.plot_headless(**self.settings.plot_arguments)


def _read_results(files: Sequence[str]) -> dict[str, ReleasedResult]:
    from ..curves.result import result_from_json
    from ..publication import assign_file_names

    found = []
    for file in files:
        text = read_text("results", file)
        try:
            found.append((Path(file).stem, result_from_json(text)))
        except InvalidArgument as error:
            raise Misuse("results", f"{file!r} holds no released result, as --json writes it ({error})") from None
    return dict(assign_file_names(found))


def show(
    *,
    results: Annotated[list[str], Argument(metavar="RESULT...", help="Released results, as --json wrote them.")],
    over: Annotated[
        str | None, Option(help="Add up over the categories of these columns: a margin.", metavar="NAME,NAME")
    ] = None,
    rank: Annotated[bool, Option("--rank", help="Rank categories, with the ranks that each may have.")] = False,
    output: Output,
) -> None:
    """Show, draw and convert released results that were kept.

    They are read from files, and no data are opened, so there is no privacy loss. Several of one kind stand on one
    picture and in one table. --over and --rank read margins and rankings of results by category.

    Example: dpcurves show january.json february.json --plot both.svg --xlsx both.xlsx
    """
    _require_distinct_files(output, *results)
    view, kept = SavedResultView.from_output(output), _read_results(results)
    if over is not None:
        kept = {name: _compute_margin(each, over.split(",")) for name, each in kept.items()}
    if rank:
        kept = {name: _rank_categories(each) for name, each in kept.items()}
    if output.suppress is not None and not all(each._suppressible_columns() for each in kept.values()):
        output.suppression_width(shows_counts=False)
    if len(kept) == 1:
        (found,) = kept.values()
        _deliver_result(results[0], found, view, output, found.notes)
    else:
        _print_written_files(output, _show_several(kept, view, output))


def _compute_margin(result: ReleasedResult, columns: list[str]) -> Any:
    over = getattr(result, "sum_over", None)
    if over is None:
        raise Misuse("over", "a result by category, or a two-way table, is needed")
    try:
        return over(*columns)
    except InvalidArgument as error:
        raise Misuse("over", error.rule) from None


def _rank_categories(result: ReleasedResult) -> ReleasedResult:
    from ..curves import SummaryByCategory, ranking

    if not isinstance(result, SummaryByCategory):
        raise Misuse("rank", "counts, sums or summaries by category are needed")
    return ranking(result)


def consistent(
    *,
    results: Annotated[list[str], Argument(metavar="RESULT...", help="Counts, sums, histograms: JSON files.")],
    sums: Annotated[bool, Option("--sums", help="Make sums agree, and not counts.")] = False,
    tree: Annotated[
        str | None,
        Option("--tree", metavar="FILE", help='JSON of columns within each other: {"levels": [...], "nested": {...}}.'),
    ] = None,
    output: Output,
) -> None:
    """Make counts, sums or histograms of several releases add up: parts and their totals.

    One of the files has the categories of all columns; the others are totals of it. They are read from files, and no
    data are opened, so there is no privacy loss.

    Example: dpcurves consistent state-year.json year.json all.json --csv totals.csv
    """
    from ..curves import consistent as made

    _require_distinct_files(output, *results)
    view, kept, within = (
        SavedResultView.from_output(output),
        _read_results(results),
        {} if tree is None else _read_tree(tree),
    )
    found = made(kept, "sum" if sums else "count", **within)  # type: ignore[arg-type]
    _deliver_result("totals that add up", found, view, output, found.notes)


def _read_tree(path: str) -> dict[str, Any]:
    """The levels of a tree and its nested labels, from a file."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise Misuse("tree", f"{path!r} is no file of JSON that can be read") from None
    if not isinstance(stored, dict) or set(stored) != {"levels", "nested"}:
        raise Misuse(
            "tree", 'a file with {"levels": ["region", "district"], "nested": {"north": ["a", "b"]}} is needed'
        )
    return stored


def _show_several(kept: Mapping[str, ReleasedResult], view: SavedResultView, output: Output) -> list[str]:
    from ..display import build_workbook, csv_text, curve_table, footer, use_style
    from ..publication import describe_results_privacy, plot_results_together, stack_columns

    if output.json is not None:
        raise Misuse("json", "one result is written at a time, and each file here is JSON already; leave it out")
    sure, written = view.settings._asdict(), list[str]()
    with use_style(output.style, None):
        pictured = (
            plot_results_together(kept, **view.settings.plot_arguments)
            if {"plot", "xlsx"} & set(output.files)
            else None
        )
    columns = stack_columns(kept, **sure) if {"csv", "xlsx"} & set(output.files) else {}
    facts = [fact for name, each in kept.items() for fact in ((name, repr(each)), *((name, n) for n in each.notes))]
    with run_all_parts() as part:
        for name, each in kept.items():
            with part():
                (table,) = view.tables(each)
                shown = curve_table(table.columns, most=table.max_rows)
                print_to_console(output.make_console(), f"{name}: {table.headline}", shown, footer(each.privacy))
            for note in each.notes:
                print_to_stderr(f"{name}: {note}")
        with part():
            written += output.write_plot(lambda: cast("Axes", pictured))
        written += write_files(part, output, {
            "csv": lambda: csv_text(columns, raw=output.csv_raw).encode(),
            "xlsx": lambda: build_workbook(columns, [*facts, ("privacy", describe_results_privacy(kept))], cast("Axes", pictured)),
            "html": lambda: render_page({name: (c, view.draw(c)) for name, c in kept.items()}, view.settings.suppress).encode(),
        })  # fmt: skip
    return written


def publish(
    *,
    results: Annotated[list[str], Argument(metavar="RESULT...", help="Released results, as --json wrote them.")],
    out: Annotated[str, Option("--out", help="A new or empty folder.", metavar="DIR")],
    title: Annotated[str, Option(help="The title of the page.")] = "Released results",
    level: Annotated[str, Option(help="The confidence level of bands and intervals.", metavar="P")] = "0.95",
    population: Annotated[bool, Option(help="Show intervals for the population, too.")] = True,
    suppress: Annotated[
        str | None, Option(help="Write counts and sums with intervals wider than this share as ...", metavar="SHARE")
    ] = None,
) -> None:
    """Publish released results in a folder: a page, numbers, pictures, words on privacy, hashes.

    They are read from files, and no data are opened, so there is no privacy loss. The same results give the same bytes.

    Example: dpcurves publish delay.json roc.json --out published --title "Delays in January"
    """
    from ..publication import publish as published

    kept = _read_results(results)
    sure = Output(level=level, population=population, suppress=suppress).interval_settings(suppressing=True)
    try:
        files = published(kept, out, title=title, **sure._asdict())
    except OSError as error:
        raise Misuse("out", f"{out!r} cannot be written ({error.strerror})") from None
    print_to_console(make_console(), f"written: {len(files)} files in {out!r}")


def _require_distinct_files(output: Output, *read: str) -> None:
    output.require_distinct_files(*(InputFile("what is read", Path(name)) for name in read))
    output.require_writable()


def _deliver_result(title: str, found: Any, view: Any, output: Output, notes: Sequence[str] = ()) -> None:
    with run_all_parts() as part:
        written = deliver(part, title, found, view, output)
    for note in notes:
        print_to_stderr(note)
    _print_written_files(output, written)


def _print_written_files(output: Output, files: Sequence[str]) -> None:
    for name in files:
        print_to_console(output.make_console(), f"written: {name}")


RELEASED_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({
    "show": show, "consistent": consistent, "publish": publish, "compare": compare, "qq": qq, "drift": drift,
})  # fmt: skip
