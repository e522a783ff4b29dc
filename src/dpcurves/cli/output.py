"""Output of results: files, and the views that print results in the terminal.

`Output` holds the options for JSON, CSV, workbooks, pages and plots. A `View` turns a result into tables and a plot;
`ResultView` serves every result with a band or intervals, and the other views serve results that need more.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from ..arguments import InvalidArgument, MissingPackage
from ..drafts import hold_draft, sweep_drafts
from ..translation import require_language, use_language
from .options import NOTHING, Option, option, optional, parse_choice, parse_positive_number, parse_probability
from .terminal import Misuse, OutputError, make_console, print_to_stdout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from rich.console import Console, Group

    from ..conversation import PrivacyStatement
    from ..curves import ROC, BinnedResiduals, HosmerLemeshow
    from ..curves.result import IntervalLimits
    from ..display import ResultTable


# Input files. A file that cannot be read raises `Misuse` of the option that names it.


def read_text(option: str, file: str) -> str:
    """Return the text of a UTF-8 file.

    Args:
        option: Name of the option, for the message.
        file: Path of the file.

    Raises:
        Misuse: the file cannot be read.
    """
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"{file!r} cannot be read; give the path of an existing file of UTF-8 text") from None


def parse_json_object(option: str, text: str) -> dict[str, Any]:
    """Return the JSON object that the user typed for an option.

    Args:
        option: Name of the option, for the message.
        text: The typed text.

    Raises:
        Misuse: the text is no JSON object.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise Misuse(option, 'a JSON object is needed, in braces, as in \'{"name": "value"}\'')
    return parsed


PLOT_SUFFIXES = (".svg", ".png", ".pdf", ".json")
"""File endings that --plot accepts: three picture formats, and a description of the picture in JSON."""
SUFFIXES_BY_OPTION = MappingProxyType({"plot": PLOT_SUFFIXES, "xlsx": (".xlsx",), "html": (".html", ".htm")})
"""File endings that an option requires; a file with another ending is refused."""
OPTIONS_BY_SUFFIX = MappingProxyType({
    ".csv": "csv", ".xlsx": "xlsx", ".html": "html", ".htm": "html", **dict.fromkeys(PLOT_SUFFIXES[:-1], "plot"),
})  # fmt: skip
"""For a file ending that --json refuses: the option that writes such files, named in the error message."""
STANDARD_OUTPUT = "-"
"""Value of --json with which the document goes to standard output, and tables to standard error."""
PLOT_STYLES = "paper", "slides", "dark"
"""Words of --style, which are the keys of `display.styles.STYLES`, repeated here to avoid the import of matplotlib."""


class IntervalSettings(NamedTuple):
    """Confidence level, whether intervals for the population are shown, and the suppression threshold."""

    level: float
    population: bool
    suppress: float | None = None

    @property
    def plot_arguments(self) -> dict[str, Any]:
        """Keyword arguments of plots. Plots show intervals, so they suppress no values."""
        return {"level": self.level, "population": self.population}


class InputFile(NamedTuple):
    """Input file of a command, with its description in messages."""

    description: str
    path: Path


@dataclass(frozen=True)
class Output:
    """Options for output files and the confidence level.

    All are checked before the charge, with `Misuse`. A failure to write after the charge is an `OutputError`.
    """

    json: str | None = optional(
        "FILE", "Write the result as JSON to this file; - writes JSON alone to standard output."
    )
    plot: str | None = optional(
        "FILE",
        "Plot the result to a .svg, .png or .pdf file; .json: the drawn numbers.",
    )
    csv: str | None = optional("FILE", "Write the numbers and their interval bounds as CSV to this file.")
    csv_raw: Annotated[
        bool,
        Option("--csv-raw", help="Write names and labels that begin with = + - @ into CSV without an apostrophe."),
    ] = False
    xlsx: str | None = optional(
        "FILE", "Write an Excel workbook (.xlsx) with numbers, privacy statement, notes and plot."
    )
    html: str | None = optional("FILE", "Write a self-contained page (.html) with the plot.")
    style: str | None = optional("NAME", "Style of plots: paper, slides or dark. Default: plain.")
    language: str = option("CODE", "Language of plots, pages and workbooks: en, de, fr or es.", "en")
    level: str = option("P", "Confidence level of bands and intervals.", "0.95")
    population: Annotated[bool, Option(help="Also show intervals for the population the records are a sample of.")] = (
        True
    )

    suppress: str | None = optional(
        "SHARE",
        "Print counts and sums as .. if the interval (95 %, or --level) is wider than this fraction of the number. "
        "JSON files keep them.",
    )

    def confidence_level(self) -> float:
        """Return the confidence level of bands and intervals, as typed with ``--level``."""
        return parse_probability("level", self.level)

    def suppression_width(self, *, shows_counts: bool) -> float | None:
        """Return the interval width, relative to the number, above which counts and sums are suppressed.

        Refuses the option if the command shows no counts or sums.

        Args:
            shows_counts: Whether the command shows counts or sums with intervals.
        """
        if self.suppress is None:
            return None
        if not shows_counts:
            raise Misuse("suppress", "this command shows no counts or sums to suppress; leave --suppress out")
        return parse_positive_number("suppress", self.suppress)

    def simulated_level(self) -> float:
        """Return the confidence level of ``--level``; refuse one too high for the number of simulated noise draws."""
        from ..inference.simulation import USUAL_DRAWS

        level = self.confidence_level()
        highest = (USUAL_DRAWS - 1) / (USUAL_DRAWS + 1)
        if level > highest:
            raise Misuse(
                "level",
                f"must be at most {highest:.3f}, because noise is simulated {USUAL_DRAWS} times; write 0.95, got "
                f"{self.level}",
            )
        return level

    def interval_settings(self, *, suppressing: bool = False) -> IntervalSettings:
        """Return the settings of intervals. Refuses a level too high for the number of simulated noise draws.

        Args:
            suppressing: Whether the command shows counts or sums, to which ``--suppress`` applies.
        """
        from ..inference.simulation import USUAL_DRAWS

        level = self.simulated_level()
        highest = (USUAL_DRAWS - 3) / (USUAL_DRAWS + 1)
        if self.population and level > highest:
            raise Misuse(
                "level",
                f"must be at most {highest:.3f} with intervals for the population (noise is simulated {USUAL_DRAWS} "
                f"times), got {self.level}; or leave them out with --no-population",
            )
        return IntervalSettings(level, self.population, self.suppression_width(shows_counts=suppressing))

    @property
    def files(self) -> dict[str, str]:
        """Return the names of the output files that were asked for, by option."""
        names_by_option = {"json": self.json if self.json != STANDARD_OUTPUT else None, "plot": self.plot}
        names_by_option |= {"csv": self.csv, "xlsx": self.xlsx, "html": self.html}
        return {argument: name for argument, name in names_by_option.items() if name is not None}

    def require_writable(self) -> None:
        """Refuse output files that cannot be written: the folder is missing, permission is missing, or the ending is
        wrong."""
        self.confidence_level()
        if self.csv_raw and self.csv is None:
            raise Misuse("csv-raw", "--csv-raw needs --csv: name a file, or leave --csv-raw out")
        if self.style is not None:
            parse_choice("style", self.style, dict.fromkeys(PLOT_STYLES))
        check_language(self.language)
        for argument, name in self.files.items():
            _require_ending(argument, name)
        for argument, name in self.files.items():
            _require_writable_path(argument, Path(name))

    def require_distinct_files(self, *input_files: InputFile) -> None:
        """Refuse to overwrite an input file or another output file, also by a link to it.

        Args:
            input_files: Files that the command reads, each with its description for messages.
        """
        other_files = list(input_files)
        for argument, name in self.files.items():
            _require_name(argument, Path(name))
            for description, path in other_files:
                if _is_same(Path(name), path):
                    raise Misuse(argument, f"{name!r} is {description}, which would be lost; write to another file")
            other_files.append(InputFile(f"the file of --{argument}", Path(name)))

    def make_console(self) -> Console:
        """Return the console for text: standard output, or standard error if JSON goes to standard output."""
        return make_console(stderr=self.json == STANDARD_OUTPUT)

    def write_json(self, encode: Callable[[], str]) -> tuple[str, ...]:
        """Write the result as JSON, atomically, if asked for.

        Args:
            encode: Function that returns the JSON text; it is called only if needed.

        Returns:
            ``(file name,)`` if a file was written, else ``()``.
        """
        if self.json is None:
            return ()
        if self.json == STANDARD_OUTPUT:
            print_to_stdout(encode())
            return ()
        return self.write("json", lambda: "".join((encode(), "\n")).encode())

    def write(self, argument: str, encode: Callable[[], bytes]) -> tuple[str, ...]:
        """Write the bytes of `encode` atomically to the file that the option `argument` names.

        Args:
            argument: Name of the option, such as ``json``.
            encode: Function that returns the content; it is called only if needed.

        Returns:
            ``(file name,)``, or ``()`` without the option.
        """
        name = self.files.get(argument)
        if name is None:
            return ()
        with use_language(self.language):
            content = encode()
        _write_atomically(argument, Path(name), lambda draft: draft.write_bytes(content))
        return (name,)

    def write_plot(self, draw: Callable[[], Axes]) -> tuple[str, ...]:
        """Draw the plot and write it to the file of --plot, atomically; do nothing without that option.

        Args:
            draw: Function that draws the plot, in the chosen style and language.

        Returns:
            The file name, or () if nothing was written.
        """
        if self.plot is None:
            return ()
        from ..display import save_picture, use_style

        with use_style(self.style, None), use_language(self.language):
            axes = draw()
            _write_atomically("plot", Path(self.plot), lambda draft: save_picture(axes, draft))
        return (self.plot,)


def _is_same(one: Path, other: Path) -> bool:
    """Return True if both paths are the same file. Links are followed; a missing file counts by its resolved path.

    Args:
        one: A path.
        other: Another path.
    """
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _require_ending(argument: str, name: str) -> None:
    """Raise `Misuse` if the ending of the file `name` does not suit the option, or the format's library is missing.

    Args:
        argument: Name of the option, without dashes.
    """
    if argument == "json" and Path(name).suffix.lower() in OPTIONS_BY_SUFFIX:
        other = OPTIONS_BY_SUFFIX[Path(name).suffix.lower()]
        raise Misuse(
            argument, f"{Path(name).name!r} does not look like JSON; write .json, or use --{other} for such files"
        )
    endings = SUFFIXES_BY_OPTION.get(argument)
    if endings is None:
        return
    if Path(name).suffix.lower() not in endings:
        raise Misuse(argument, f"a file that ends in {', '.join(endings)} is needed, got {Path(name).name!r}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        from ..display.styles import NO_MATPLOTLIB

        raise Misuse(argument, NO_MATPLOTLIB) from None
    if argument == "xlsx":
        from ..display import require_workbooks

        try:
            require_workbooks()
        except MissingPackage as error:
            raise Misuse(argument, error.rule) from None


def _require_name(argument: str, path: Path) -> None:
    """Refuse a file name that the system does not accept.

    Args:
        argument: Name of the option.
        path: Path that it names.

    Raises:
        Misuse: the name is invalid; the message omits the name, which may be very long.
    """
    try:
        path.exists()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a valid file name"
        raise Misuse(argument, f"a file of this name cannot be written ({reason}); choose another name") from None


def _require_writable_path(argument: str, path: Path) -> None:
    """Raise `Misuse` for a path that cannot be written: it is a folder, its folder is missing, or permission is
    missing.

    Args:
        argument: Name of the option, for the message.
        path: Path that the option names.
    """
    _require_name(argument, path)
    if path.is_dir():
        raise Misuse(argument, f"{str(path)!r} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise Misuse(argument, f"the folder of {str(path)!r} is not there; make it first, or name another")
    try:
        if _is_device(path):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # without waiting for a reader
        else:
            tempfile.TemporaryFile(dir=path.parent).close()
            sweep_drafts(path.parent)
    except OSError as error:
        raise Misuse(
            argument, f"{str(path)!r} cannot be written ({error.strerror}); name a file in a folder where you may write"
        ) from None


def _write_atomically(argument: str, path: Path, fill: Callable[[Path], object]) -> None:
    """Call `fill` with the path of a draft in the same folder, then rename the draft to `path`. A device or pipe is
    written directly.

    Raises:
        OutputError: the file cannot be written; the message names `argument`.
    """
    try:
        if _is_device(path):
            fill(path)
            return
        with hold_draft(path) as draft:
            fill(draft)
            os.replace(draft, path)
    except OSError as error:
        raise OutputError(
            argument, f"{str(path)!r} could not be written ({error.strerror}); make room, or name a file elsewhere"
        ) from None


def _is_device(path: Path) -> bool:
    """Return True if the path exists and is no regular file, such as a device or a pipe.

    Args:
        path: Path of an output file.
    """
    return path.exists() and not path.is_file()


def check_language(language: str) -> str:
    """Return the code of a language of pages and plots unchanged if it is supported.

    Args:
        language: Code of the language, such as ``de``.

    Raises:
        Misuse: the language has no catalogue, or Babel is not installed.
    """
    try:
        return require_language(language)
    except (InvalidArgument, MissingPackage) as error:
        raise Misuse("language", error.rule) from None


# Views print a result as tables with intervals and plot it. Tables use the column names of the JSON.


MOST_BANDED = 2**16 + 1
"""Points of a curve up to which a band is computed. Longer results are shown without a band, because simulating their
noise takes long."""
SIMULTANEOUS_LABEL = "simultaneous intervals"
"""Words for intervals that hold all at once, in tables and plots."""
Curve = TypeVar("Curve", contravariant=True)


class ViewTable(NamedTuple):
    """Table with its caption, its columns, the maximum number of printed rows, and the rows of the whole table if
    `columns` has a choice of them."""

    headline: str
    columns: Mapping[str, ArrayLike]
    max_rows: int = 40
    all_rows: int = 0

    def format_rows(self) -> Group:
        """Return the table for a terminal, with all rows up to `max_rows`, or up to two if that is fewer."""
        from ..display import curve_table

        return curve_table(self.columns, most=max(self.max_rows, 2), rows=self.all_rows)

    @classmethod
    def from_table(
        cls, headline: str, table: ResultTable, max_rows: int = 40, *, without: Sequence[str] = ()
    ) -> ViewTable:
        """Return a printable table of a result, with the rows at round steps of its axis if there are more than
        `max_rows`.

        Args:
            headline: Text above the table.
            table: Table of a result.
            max_rows: Most rows to show.
            without: Short names of columns to leave out.
        """
        shown = table.leave_out(without).select_rows(max_rows)
        return cls(headline, shown.text_columns(), shown.rows, table.rows)


def interleave_groups(curves: Any, tables: Sequence[ViewTable]) -> ViewTable:
    """Return one table in which the rows of all categories are interleaved, so that they are compared line by line.

    Args:
        curves: Results by category.
        tables: One table for each category, with equal rows.
    """
    import numpy as np

    from ..display import join_columns

    first = {name: np.asarray(column) for name, column in tables[0].columns.items()}

    # Rows of all curves alternate: the first row of each curve, then the second of each.
    columns = {}
    for name, column in first.items():
        columns_of_curves = [np.asarray(table.columns[name]) for table in tables]
        columns[name] = np.stack(columns_of_curves, axis=1).reshape(-1, *column.shape[1:])
    row_name = next(iter(columns))
    labels = [(column, texts * len(first[row_name])) for column, texts in curves.label_columns()]
    rest = {name: column for name, column in columns.items() if name != row_name}
    ordered = {row_name: columns[row_name], **join_columns(labels, rest, reserved=[row_name])}
    return tables[0]._replace(columns=ordered, max_rows=len(columns[row_name]))


class View(Protocol[Curve]):
    """Interface of views, which print a result as tables and plot it."""

    def tables(self, curve: Curve) -> list[ViewTable]:
        """Return the tables that the terminal shows of a result, in order.

        Args:
            curve: The released result to show.
        """
        ...

    def draw(self, curve: Curve) -> Axes:
        """Return the axes of the result's plot, drawn without opening a window.

        Args:
            curve: The released result to show.
        """
        ...


def plot_headless(curve: Any, size: tuple[float, float] | None = None, **level: Any) -> Axes:
    """Plot a result without opening a window, by default in the size of its HTML summary.

    Args:
        curve: The released result.
        size: Width and height in inches; None: the size in an HTML summary.
        level: Arguments of the plot, such as the confidence level.
    """
    from ..display import LANDSCAPE, headless_axes

    default_size: tuple[float, float] = getattr(curve, "SIZE", LANDSCAPE)
    axes: Axes = curve.plot(ax=headless_axes(size or default_size), **level)
    return axes


def add_title(axes: Axes, result: object) -> Axes:
    """Give a plot that stands alone in a file the title of its result, unless it has one; return the axes.

    Args:
        axes: Axes of the plot.
        result: The result that is drawn.
    """
    add: Callable[[Axes], Axes] | None = getattr(result, "_add_title", None)
    return axes if add is None else add(axes)


class PlainView:
    """Base of views of results without intervals."""

    @classmethod
    def from_output(cls, output: Output) -> Self:
        """Return the view for these output options; --suppress is refused, because the view shows no counts with
        intervals.

        Args:
            output: Options of the output, as typed.
        """
        output.suppression_width(shows_counts=False)
        return cls()

    def draw(self, curve: Any) -> Axes:
        """Return the axes of the result's plot, drawn without opening a window.

        Args:
            curve: The released result to show.
        """
        return plot_headless(curve)


def columns_with_dates(curve: Any) -> dict[str, Any]:
    """Return the columns of a result. Days or seconds on a date axis are formatted as dates.

    Args:
        curve: The result.

    Returns:
        Columns by name.
    """
    from ..display import format_number
    from ..display.numerals import format_date, is_date_axis

    columns: dict[str, Any] = curve._known_columns()
    label = getattr(curve, "label", "")
    if not is_date_axis(label) or "x" not in columns:
        return columns
    return {**columns, "x": [format_date(x, label) or format_number(x) for x in columns["x"].tolist()]}


@dataclass(frozen=True)
class ResultView:
    """Default view of a result with a band or intervals: its own columns and plot.

    Attributes:
        settings: Confidence level, and whether intervals for the population are shown.
        max_points: Number of points up to which a band is shown. Simulating more takes long.
        HIDDEN: Short names of columns that are left out, so that tables fit a terminal.
        MAX_ROWS: Rows up to which a table is printed whole; longer ones have rows at round steps.
    """

    settings: IntervalSettings
    max_points: int = MOST_BANDED

    SUPPRESSES: ClassVar[bool] = False
    HIDDEN: ClassVar[tuple[str, ...]] = ()
    MAX_ROWS: ClassVar[int] = 40

    @classmethod
    def from_output(cls, output: Output) -> Self:
        """Return the view with the level, the population and the suppression that the options state.

        Args:
            output: Options of the output, as typed.
        """
        return cls(output.interval_settings(suppressing=cls.SUPPRESSES))

    def tables(self, curve: Any) -> list[ViewTable]:
        """Return the columns of the result with interval bounds.

        Args:
            curve: The released result to show.
        """
        what = curve._interval_name()
        if curve._count_points() > self.max_points:
            return [ViewTable(f"no {what} shown for more than {self.max_points:,} points", columns_with_dates(curve))]
        table = curve.describe_table(**self.settings._asdict())
        headline = self.describe_missing_population(curve.privacy).strip()
        return [ViewTable.from_table(headline, table, self.MAX_ROWS, without=self.HIDDEN)]

    def draw(self, curve: Any) -> Axes:
        """Return the axes of the result's plot with its band or intervals, drawn without opening a window.

        Args:
            curve: The released result to show.
        """
        return plot_headless(curve, level=self.settings.level, population=self.settings.population)

    def select_scopes(self, privacy: PrivacyStatement) -> Mapping[str, bool]:
        """Return the scopes of intervals with their values of `population`: these records, and the population if
        requested and each unit has one record.

        Args:
            privacy: Privacy statement of the result, which has the number of records of a unit.
        """
        from ..curves.result import interval_scopes

        return interval_scopes(privacy, population=self.settings.population)

    def describe_intervals(self, privacy: PrivacyStatement, what: str) -> str:
        """Return the caption of the interval columns: for records and for the population, their level and `what`.

        `what` is the kind of interval, such as "individual interval". A note follows if intervals for the population
        were requested and cannot be given.

        Args:
            privacy: Privacy statement of the result, which has the number of records of a unit.
        """
        from ..display import describe_interval

        descriptions = (
            f"{name.split()[-1]}: {describe_interval(self.settings.level, what, name)}"
            for name in self.select_scopes(privacy)
        )
        return "; ".join(descriptions) + self.describe_missing_population(privacy)

    def describe_missing_population(self, privacy: PrivacyStatement) -> str:
        """Return the note that intervals for the population are left out because a unit may have several records.

        Args:
            privacy: Privacy statement of the result, which has the number of records of a unit.
        """
        from ..curves.result import RECORDS_ONLY_NOTE

        return f"\n{RECORDS_ONLY_NOTE}" if self.settings.population and privacy.rows_per_unit != 1 else ""

    def make_table(
        self,
        curve: Any,
        columns: Mapping[str, Any],
        ends: IntervalLimits | None = None,
        what: str = SIMULTANEOUS_LABEL,
        *,
        head: str = "",
        after: Mapping[str, Any] = NOTHING,
        max_rows: int = 40,
    ) -> ViewTable:
        """Return a table to print: columns, intervals and further columns.

        Args:
            curve: The result.
            columns: Columns before the intervals.
            ends: Function of a confidence level that returns interval bounds; None: the result's own.
            what: Name of the intervals in the caption.
            head: First line of the caption.
            after: Columns after the intervals.
            max_rows: Maximum number of printed rows.
        """
        import numpy as np

        from ..curves.result import limits_from_intervals

        level = self.settings.level
        scopes = self.select_scopes(curve.privacy)
        ends = ends or limits_from_intervals(curve.intervals)
        intervals = {
            name.split()[-1]: np.stack(tuple(ends(level, population=scopes[name])), axis=-1) for name in scopes
        }
        table = {**columns, **intervals, **after}
        if self.settings.suppress is not None:
            table = self.suppress_wide_intervals(table, curve, tuple(intervals), tuple(after))
        return ViewTable(head + self.describe_intervals(curve.privacy, what), table, max_rows)

    def suppress_wide_intervals(
        self, table: Mapping[str, Any], curve: Any, ends: Sequence[str], after: Sequence[str]
    ) -> dict[str, Any]:
        """Return the columns with .. in rows whose interval, the first of `ends`, is wider than the threshold.

        Args:
            table: Columns by name.
            curve: The result, which names the column of numbers.
            ends: Columns of intervals, (rows, 2) each.
            after: Further columns that are suppressed as well.

        Returns:
            Columns by name; those that may be suppressed are texts.
        """
        import numpy as np

        from ..display import find_wide_intervals, format_numbers, suppress_rows

        value = curve._suppressible_columns()[0]
        numbers = [float(str(text).replace(",", "")) if str(text) != "not known" else np.nan for text in table[value]]
        lower, upper = np.asarray(table[ends[0]], dtype=np.float64).T
        texts = {name: format_numbers(np.asarray(table[name])) for name in (value, *ends, *after)}
        rows = find_wide_intervals(numbers, lower, upper, self.settings.suppress or 0.0)
        return suppress_rows({**table, **texts}, list(texts), rows)


class RocView(ResultView):
    """View of a ROC curve: rates by threshold with simultaneous bands, and the AUC with its intervals."""

    def tables(self, curve: ROC) -> list[ViewTable]:
        """Return tables of the rates by threshold with simultaneous bands, under the AUC and its intervals.

        Args:
            curve: The released result to show.
        """
        from ..display import area_rows, describe_interval

        scopes = self.select_scopes(curve.privacy)
        (_, area), *intervals = area_rows(curve.auc, curve._area_intervals(scopes, self.settings.level))
        headline = "; ".join([f"AUC {area}", *(f"{name}: {ends}" for name, ends in intervals)])
        if len(curve.fpr) > self.max_points:
            (unbanded,) = super().tables(curve)
            return [unbanded._replace(headline=f"{headline}\n{unbanded.headline}")]
        table = curve.describe_table(**self.settings._asdict())
        titles = {name: describe_interval(self.settings.level, curve._interval_name(), name) for name in scopes}
        tables = [
            ViewTable.from_table(titles[name], _select_scope(table, titles[name], is_population=is_population))
            for name, is_population in scopes.items()
        ]
        headline += self.describe_missing_population(curve.privacy)
        return [tables[0]._replace(headline=f"{headline}\n{tables[0].headline}"), *tables[1:]]


def _select_scope(table: ResultTable, title: str, *, is_population: bool) -> ResultTable:
    """Return a table with the intervals for the population, or for these records alone; both are wider than a terminal.

    Their columns are called intervals, as the headline has their `title`.

    Args:
        table: Table with both kinds of intervals.
        is_population: True: intervals for the population stay; False: intervals for these records.
    """
    from ..display import Bound

    others = [
        column.name
        for column in table.columns
        if column.bound is not Bound.NONE and column.name.endswith("_population") is not is_population
    ]
    shown = table.leave_out(others)
    return replace(
        shown, columns=tuple(replace(column, title=column.title.replace(title, "interval")) for column in shown.columns)
    )


class HosmerLemeshowView(ResultView):
    """View of a Hosmer-Lemeshow test and its groups."""

    def tables(self, curve: HosmerLemeshow) -> list[ViewTable]:
        """Return a table with a row for each group, under the statistic and the p-value.

        Args:
            curve: The released result to show.
        """
        from ..display import format_number

        p_value = format_number(curve.p_value) if isnan(curve.p_value) else f"{curve.p_value:.2g} for the population"
        test = f"statistic {format_number(curve.statistic)}, p-value {p_value}"
        caption = test + self.describe_missing_population(curve.privacy)
        return [ViewTable.from_table(caption, curve.describe_table(**self.settings._asdict()))]


@dataclass(frozen=True)
class BinnedResidualsView:
    """View of mean residuals in bins of similar scores."""

    level: float

    @classmethod
    def from_output(cls, output: Output) -> Self:
        """Return the view at the level that the options state; refuse --suppress, because it shows no counts with
        intervals.

        Args:
            output: Options of the output, as typed.
        """
        output.suppression_width(shows_counts=False)
        return cls(output.simulated_level())

    def tables(self, curve: BinnedResiduals) -> list[ViewTable]:
        """Return a table with a row for each bin, under the share of residuals outside the envelope.

        Args:
            curve: The released result to show.
        """
        from ..display import format_number

        envelope = curve.envelope_at(self.level)
        outside = curve.share_outside(envelope)
        share = format_number(outside) if isnan(outside) else f"{outside:.0%}"
        statement = f"{share} of the residuals are outside the envelope"
        caption = f"{statement}; for a model that is right for the population {100 * (1 - self.level):.6g}% are"
        return [ViewTable.from_table(caption, curve.describe_table(level=self.level))]

    def draw(self, curve: BinnedResiduals) -> Axes:
        """Return the axes of a plot of the bins with their envelope.

        Args:
            curve: The released result to show.
        """
        return plot_headless(curve, level=self.level)
