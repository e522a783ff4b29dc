"""Commands about released results: shown, published, compared with a public table or with each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast

from ..arguments import Refused
from .ask_file import deliver, delivering, files_written, page_of
from .options import Argument, Command, Option, chance, numbers
from .output import InputFile, Output, ResultView, Shown, object_of, text_of
from .terminal import Misuse, say, tell, terminal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import CDF, Drift, QuantileQuantile
    from ..curves.result import Released

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
    _require_free(output, curve, public, question)
    released = _comparable(curve)
    found = compared(released, _question(question), public)
    say(terminal(), found.verdict)
    _say_written(output, output.write_plot(lambda: found.plot(ax=headless_axes(type(found.private).SIZE))))


def _comparable(file: str) -> Any:
    from ..curves.comparison import MEASURES

    text = text_of("curve", file)
    try:
        kind = object_of("curve", text).get("kind")
        (found,) = (each for each in MEASURES if kind == each.KIND)
    except ValueError:
        kinds = ", ".join(each.KIND for each in MEASURES)
        raise Misuse("curve", f"a file of one of these is needed: {kinds}") from None
    return found.from_json(text)


def _question(file: str) -> Any:
    from ..curves.question_json import question_from_json

    try:
        return question_from_json(object_of("question", text_of("question", file)))
    except Refused as error:
        raise Misuse("question", str(error)) from None


def _distribution(argument: str, file: str) -> CDF:
    from ..curves import CDF

    text = text_of(argument, file)
    try:
        if object_of(argument, text).get("kind") == CDF.KIND:
            return CDF.from_json(text)
    except ValueError:
        pass
    raise Misuse(argument, f"a released distribution function is needed, as `dpcurves cdf --json` writes it: {file!r}")


class QuantileQuantileView(ResultView):
    """View of the quantiles of both curves: a table of simultaneous intervals for each whom they speak of."""

    def tables(self, curve: QuantileQuantile) -> list[Shown]:
        from ..display import covering

        found = []
        for who, population in curve.scopes.items():
            if self.sure.population or not population:
                first, second = curve.intervals(self.sure.level, population=population)
                columns = {
                    "p": curve.p, "first": curve._where_known("first", curve.x), "first, from and to": first,
                    "second": curve._where_known("second", curve.y), "second, from and to": second,
                }  # fmt: skip
                found.append(Shown(covering(self.sure.level, curve._covers(), who), columns))
        return [found[0]._replace(headline=found[0].headline + self.left_out(curve.privacy)), *found[1:]]


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
    _require_free(output, first, second)
    view, one, other = QuantileQuantileView.of(output), _distribution("first", first), _distribution("second", second)
    try:
        found = one.quantile_quantile(other, numbers("p", p))
    except Refused as error:
        raise Misuse("p", error.rule) from None
    _deliver(f"quantiles of {second} against {first}", found, view, output)


class DriftView(ResultView):
    """View of the statistics of each window beside their thresholds."""

    def tables(self, curve: Drift) -> list[Shown]:
        words = f"a threshold is passed in {curve.alarms:.3%} of unchanged windows, noise and sampling included"
        return [Shown(words, curve._columns(), len(curve.shifts))]


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
    from ..curves.result import curve_from_json

    _require_free(output, reference, *windows)
    first, *later = (curve_from_json(text_of("reference", name)) for name in (reference, *windows))
    named = dict(zip(_name_windows(windows), later, strict=True))
    found = drifted(first, named, alarms=chance("alarms", alarms))  # type: ignore[arg-type]
    _deliver(f"drift since {reference}", found, DriftView.of(output), output)


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


class KeptView(ResultView):
    """View of a kept result of any kind: its columns with the ends of its intervals, as in its CSV, and its picture."""

    SUPPRESSES = True

    def tables(self, curve: Released) -> list[Shown]:
        import numpy as np

        from ..display import SUPPRESSED, hidden, numerals

        columns = curve.columns_with_ends(**self.sure.of_pictures)
        texts = {name for name, column in columns.items() if column.dtype.kind in "OU"}
        most = MOST_LABELLED if texts - set(curve._axes()) else MOST_POINTS
        if self.sure.suppress is None:
            return [Shown(repr(curve), columns, most)]
        marked = {
            name: [each == SUPPRESSED for each in column.tolist()]
            for name, column in curve.columns_with_ends(**self.sure._asdict()).items()
        }
        for name, rows in marked.items():
            if any(rows):
                columns |= hidden({name: numerals(columns[name])}, [name], np.array(rows))
        return [Shown(repr(curve), columns, most)]

    def draw(self, curve: Released) -> Axes:
        """Plot of the result with its band or its intervals."""
        return curve.picture(**self.sure.of_pictures)


def _kept(files: Sequence[str]) -> dict[str, Released]:
    from ..curves.result import curve_from_json
    from ..publication import distinct

    found = []
    for file in files:
        text = text_of("results", file)
        try:
            found.append((Path(file).stem, curve_from_json(text)))
        except Refused as error:
            raise Misuse("results", f"{file!r} holds no released result, as --json writes it ({error})") from None
    return dict(distinct(found))


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
    _require_free(output, *results)
    view, kept = KeptView.of(output), _kept(results)
    if over is not None:
        kept = {name: _margin(each, over.split(",")) for name, each in kept.items()}
    if rank:
        kept = {name: _ranked(each) for name, each in kept.items()}
    if output.suppress is not None and not all(each._hideable() for each in kept.values()):
        output.suppressed(possible=False)
    if len(kept) == 1:
        (found,) = kept.values()
        _deliver(results[0], found, view, output, found.notes)
    else:
        _say_written(output, _show_several(kept, view, output))


def _margin(result: Released, columns: list[str]) -> Any:
    over = getattr(result, "over", None)
    if over is None:
        raise Misuse("over", "a result by category, or a two-way table, is needed")
    try:
        return over(*columns)
    except Refused as error:
        raise Misuse("over", error.rule) from None


def _ranked(result: Released) -> Released:
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

    _require_free(output, *results)
    view, kept, within = KeptView.of(output), _kept(results), {} if tree is None else _tree_of(tree)
    found = made(kept, "sum" if sums else "count", **within)  # type: ignore[arg-type]
    _deliver("totals that add up", found, view, output, found.notes)


def _tree_of(path: str) -> dict[str, Any]:
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


def _show_several(kept: Mapping[str, Released], view: KeptView, output: Output) -> list[str]:
    from ..display import csv_text, curve_table, footer, styled, workbook
    from ..publication import plain_words, stack_columns, together

    if output.json is not None:
        raise Misuse("json", "one result is written at a time, and each file here is JSON already; leave it out")
    sure, written = view.sure._asdict(), list[str]()
    with styled(output.style, None):
        pictured = together(kept, **view.sure.of_pictures) if {"plot", "xlsx"} & set(output.files) else None
    columns = stack_columns(kept, **sure) if {"csv", "xlsx"} & set(output.files) else {}
    facts = [fact for name, each in kept.items() for fact in ((name, repr(each)), *((name, n) for n in each.notes))]
    with delivering() as part:
        for name, each in kept.items():
            with part():
                (table,) = view.tables(each)
                shown = curve_table(table.columns, most=table.most)
                say(output.terminal(), f"{name}: {table.headline}", shown, footer(each.privacy))
            for note in each.notes:
                tell(f"{name}: {note}")
        with part():
            written += output.write_plot(lambda: cast("Axes", pictured))
        written += files_written(part, output, {
            "csv": lambda: csv_text(columns, raw=output.csv_raw).encode(),
            "xlsx": lambda: workbook(columns, [*facts, ("privacy", plain_words(kept))], cast("Axes", pictured)),
            "html": lambda: page_of({name: (c, view.draw(c)) for name, c in kept.items()}, view.sure.suppress).encode(),
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

    kept = _kept(results)
    sure = Output(level=level, population=population, suppress=suppress).covering(suppressing=True)
    try:
        files = published(kept, out, title=title, **sure._asdict())
    except OSError as error:
        raise Misuse("out", f"{out!r} cannot be written ({error.strerror})") from None
    say(terminal(), f"written: {len(files)} files in {out!r}")


def _require_free(output: Output, *read: str) -> None:
    output.require_apart(*(InputFile("what is read", Path(name)) for name in read))
    output.require_writable()


def _deliver(title: str, found: Any, view: Any, output: Output, notes: Sequence[str] = ()) -> None:
    with delivering() as part:
        written = deliver(part, title, found, view, output)
    for note in notes:
        tell(note)
    _say_written(output, written)


def _say_written(output: Output, files: Sequence[str]) -> None:
    for name in files:
        say(output.terminal(), f"written: {name}")


RELEASED_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({
    "show": show, "consistent": consistent, "publish": publish, "compare": compare, "qq": qq, "drift": drift,
})  # fmt: skip
