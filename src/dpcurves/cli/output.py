"""Views of curves, and their outputs: JSON, a plot, the terminal."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from .options import NOTHING, Option, option, optional, parse_choice, parse_positive_number, parse_probability
from .terminal import Misuse, OutputError, make_console, print_to_stdout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from rich.console import Console

    from ..conversation import PrivacyStatement
    from ..curves import ROC, BinnedResiduals, HosmerLemeshow
    from ..curves.result import IntervalLimits


# Files that a command reads as JSON: released curves, and questions. What cannot be read is `Misuse` of the option.


def read_text(option: str, file: str) -> str:
    """Text of a file, decoded as UTF-8."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is nothing to be read in {file!r}") from None


def parse_json_object(option: str, text: str) -> dict[str, Any]:
    """Parse a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Misuse(option, "a JSON object is needed")
    return found


ENDINGS = (".svg", ".png", ".pdf")
ENDINGS_OF = MappingProxyType({"plot": ENDINGS, "xlsx": (".xlsx",), "html": (".html", ".htm")})
OTHERS = MappingProxyType({
    ".csv": "csv", ".xlsx": "xlsx", ".html": "html", ".htm": "html", **dict.fromkeys(ENDINGS, "plot"),
})  # fmt: skip
"""Endings of files that other options write."""
STANDARD_OUTPUT = "-"
LOOKS = "paper", "slides", "dark"
"""Styles of pictures, without an import of matplotlib: those of `display.styles`."""


class IntervalSettings(NamedTuple):
    """Confidence level of bands and intervals, whether those for the population are shown, and what is suppressed."""

    level: float
    population: bool
    suppress: float | None = None

    @property
    def plot_arguments(self) -> dict[str, Any]:
        """Arguments of pictures, which show intervals and so suppress nothing."""
        return {"level": self.level, "population": self.population}


class InputFile(NamedTuple):
    """File that a command reads, with its name in messages."""

    description: str
    path: Path


@dataclass(frozen=True)
class Output:
    """Options for output files and for the confidence level. All are checked before any privacy loss is spent.

    What cannot be written is `Misuse` before a loss is spent, and `OutputError` after.
    """

    json: str | None = optional(
        "FILE", "Write the curve as JSON to this file; - writes JSON, and nothing else, to standard output."
    )
    plot: str | None = optional("FILE", "Draw the curve: a file that ends in .svg, .png or .pdf.")
    csv: str | None = optional("FILE", "Write the numbers, with the ends of their intervals, as CSV to this file.")
    csv_raw: Annotated[
        bool,
        Option("--csv-raw", help="Write names and labels that begin with = + - @ into CSV without an apostrophe."),
    ] = False
    xlsx: str | None = optional(
        "FILE", "Write a workbook of Excel: numbers, the statement, notes and the picture; it ends in .xlsx."
    )
    html: str | None = optional(
        "FILE", "Write a page with the picture that needs nothing but itself; it ends in .html."
    )
    style: str | None = optional("NAME", "How pictures look: paper, slides or dark; left out: plain.")
    level: str = option("P", "The confidence level of bands and intervals.", "0.95")
    population: Annotated[bool, Option(help="Show intervals for the population the records were drawn from, too.")] = (
        True
    )

    suppress: str | None = optional(
        "SHARE",
        "Print counts and sums as .. where the 95% interval (or that at --level) is wider than this share of the "
        "number; files of JSON keep them.",
    )

    def confidence_level(self) -> float:
        """Confidence level of bands and intervals."""
        return parse_probability("level", self.level)

    def suppression_width(self, *, shows_counts: bool) -> float | None:
        """The width of intervals, as a share of the number, beyond which counts and sums are left out.

        Refused where the command shows no counts or sums.
        """
        if self.suppress is None:
            return None
        if not shows_counts:
            raise Misuse("suppress", "this command shows no counts or sums that could be left out")
        return parse_positive_number("suppress", self.suppress)

    def simulated_level(self) -> float:
        """Confidence level of bands and intervals from simulated noise. Refused if it is too high for the draws."""
        from ..inference.simulation import DRAWS

        level, highest = self.confidence_level(), (DRAWS - 1) / (DRAWS + 1)
        if level > highest:
            raise Misuse("level", f"noise is simulated {DRAWS} times, enough for up to {highest:.3f}, got {self.level}")
        return level

    def interval_settings(self, *, suppressing: bool = False) -> IntervalSettings:
        """Level and scope of bands and intervals from simulated noise. Refused if it is too high for the draws."""
        from ..inference.simulation import DRAWS

        level, highest = self.simulated_level(), (DRAWS - 3) / (DRAWS + 1)
        if self.population and level > highest:
            raise Misuse(
                "level",
                f"noise is simulated {DRAWS} times, enough for up to {highest:.3f} beside the population, got "
                f"{self.level}; --no-population leaves it out",
            )
        return IntervalSettings(level, self.population, self.suppression_width(shows_counts=suppressing))

    @property
    def files(self) -> dict[str, str]:
        """The files that are written, by their options."""
        named = {"json": self.json if self.json != STANDARD_OUTPUT else None, "plot": self.plot}
        named |= {"csv": self.csv, "xlsx": self.xlsx, "html": self.html}
        return {argument: name for argument, name in named.items() if name is not None}

    def require_writable(self) -> None:
        """Refuse files that could not be written: without a folder, without an ending of a picture, and others."""
        self.confidence_level()
        if self.csv_raw and self.csv is None:
            raise Misuse("csv-raw", "it is about the file of --csv; name one, or leave it out")
        if self.style is not None:
            parse_choice("style", self.style, dict.fromkeys(LOOKS))
        for argument, name in self.files.items():
            _require_ending(argument, name)
        for argument, name in self.files.items():
            _require_writable_path(argument, Path(name))

    def require_distinct_files(self, *kept: InputFile) -> None:
        """Refuse to overwrite an input file or the other output, even under another name (links are followed)."""
        taken = list(kept)
        for argument, name in self.files.items():
            _require_name(argument, Path(name))
            for what, path in taken:
                if _is_same(Path(name), path):
                    raise Misuse(argument, f"{name!r} is {what}, which would be lost; name another file")
            taken.append(InputFile(f"the file of --{argument}", Path(name)))

    def make_console(self) -> Console:
        """Console for text: standard output, or standard error if JSON goes to standard output."""
        return make_console(stderr=self.json == STANDARD_OUTPUT)

    def write_json(self, encode: Callable[[], str]) -> tuple[str, ...]:
        """Write the curve as JSON, atomically; it is computed only if asked for. Returns the file, if there is one."""
        if self.json is None:
            return ()
        if self.json == STANDARD_OUTPUT:
            print_to_stdout(encode())
            return ()
        return self.write("json", lambda: "".join((encode(), "\n")).encode())

    def write(self, argument: str, encode: Callable[[], bytes]) -> tuple[str, ...]:
        """Write the file of this option, atomically; it is made only if asked for. Returns it, if there is one."""
        name = self.files.get(argument)
        if name is None:
            return ()
        _write_atomically(argument, Path(name), lambda draft: draft.write_bytes(encode()))
        return (name,)

    def write_plot(self, draw: Callable[[], Axes]) -> tuple[str, ...]:
        """Draw the plot and write it, atomically. Returns the file, if there is one."""
        if self.plot is None:
            return ()
        from ..display import save_figure, use_style

        with use_style(self.style, None):
            axes = draw()
        _write_atomically("plot", Path(self.plot), lambda draft: save_figure(axes, draft))
        return (self.plot,)


def _is_same(one: Path, other: Path) -> bool:
    """Compare two paths as files: links are followed; a file that is not there yet counts by its resolved path."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _require_ending(argument: str, name: str) -> None:
    """Refuse a picture, a workbook or a page of another ending, and those that no installed library writes."""
    if argument == "json" and Path(name).suffix.lower() in OTHERS:
        other = OTHERS[Path(name).suffix.lower()]
        raise Misuse(
            argument, f"a file called {Path(name).name!r} would not be taken for JSON; --{other} writes such files"
        )
    endings = ENDINGS_OF.get(argument)
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
        from ..arguments import MissingPackage
        from ..display import require_workbooks

        try:
            require_workbooks()
        except MissingPackage as error:
            raise Misuse(argument, error.rule) from None


def _require_name(argument: str, path: Path) -> None:
    """Refuse a name that no file can have. It is not printed: it may be endless."""
    try:
        path.exists()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no name of a file"
        raise Misuse(argument, f"a file of this name cannot be written ({reason})") from None


def _require_writable_path(argument: str, path: Path) -> None:
    _require_name(argument, path)
    if path.is_dir():
        raise Misuse(argument, f"{str(path)!r} is a folder; a file is needed")
    if not path.parent.is_dir():
        raise Misuse(argument, f"the folder of {str(path)!r} is not there")
    try:
        if _is_device(path):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # without waiting for a reader
        else:
            tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise Misuse(argument, f"{str(path)!r} cannot be written ({error.strerror})") from None


def _write_atomically(argument: str, path: Path, fill: Callable[[Path], object]) -> None:
    """Write a file atomically: a draft in the same folder is renamed to `path`. A device is written directly."""
    try:
        if _is_device(path):
            fill(path)
            return
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
            draft = Path(folder) / path.name
            fill(draft)
            os.replace(draft, path)
    except OSError as error:
        raise OutputError(argument, f"{str(path)!r} could not be written ({error.strerror})") from None


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


# Views of curves on the terminal and on pictures: tables with intervals, and plots. Names are those of the JSON.


MOST_BANDED = 2**16 + 1  # simulations of more take long
MOST_RATES = 12
TOGETHER = "simultaneous intervals"
Curve = TypeVar("Curve", contravariant=True)


class ViewTable(NamedTuple):
    """Table with its caption, its columns, and the most rows that are shown."""

    headline: str
    columns: Mapping[str, ArrayLike]
    max_rows: int = 20


class View(Protocol[Curve]):
    """Interface of views, which show a kind of curve as tables and as a plot."""

    def tables(self, curve: Curve) -> list[ViewTable]:
        """Tables for the terminal."""
        ...

    def draw(self, curve: Curve) -> Axes:
        """Plot of the curve without a window."""
        ...


def plot_headless(curve: Any, size: tuple[float, float] | None = None, **level: Any) -> Axes:
    """Plot of a curve without a window; its size is that in the curve's HTML summary, unless one is given."""
    from ..display import LANDSCAPE, headless_axes

    own: tuple[float, float] = getattr(curve, "SIZE", LANDSCAPE)
    axes: Axes = curve.plot(ax=headless_axes(size or own), **level)
    return axes


class PlainView:
    """Base of views of results without intervals."""

    @classmethod
    def from_output(cls, output: Output) -> Self:
        output.suppression_width(shows_counts=False)
        return cls()

    def draw(self, curve: Any) -> Axes:
        """Plot of the result."""
        return plot_headless(curve)


def columns_with_dates(curve: Any) -> dict[str, Any]:
    """Columns of a result, with dates in the places of days or seconds where its axis has such."""
    from ..display import format_number
    from ..display.numerals import format_date, is_date_axis

    columns: dict[str, Any] = curve._known_columns()
    label = getattr(curve, "label", "")
    if not is_date_axis(label) or "x" not in columns:
        return columns
    return {**columns, "x": [format_date(x, label) or format_number(x) for x in columns["x"].tolist()]}


@dataclass(frozen=True)
class ResultView:
    """Default view of a result with a band or intervals, by the result's own columns and plot.

    Attributes:
        settings: The level, and whether intervals for the population are shown.
        max_points: Points up to which a band is shown: more would take long to simulate.
    """

    settings: IntervalSettings
    max_points: int = MOST_BANDED

    SUPPRESSES: ClassVar[bool] = False

    @classmethod
    def from_output(cls, output: Output) -> Self:
        return cls(output.interval_settings(suppressing=cls.SUPPRESSES))

    def tables(self, curve: Any) -> list[ViewTable]:
        """Columns of the result, with lower and upper ends."""
        what = curve._interval_name()
        if curve._count_points() > self.max_points:
            return [ViewTable(f"no {what} is shown of more than {self.max_points:,} points", columns_with_dates(curve))]
        return [self.make_table(curve, columns_with_dates(curve), curve._interval_limits, what)]

    def draw(self, curve: Any) -> Axes:
        """Plot of the result with its band or its intervals."""
        return plot_headless(curve, level=self.settings.level, population=self.settings.population)

    def select_scopes(self, privacy: PrivacyStatement) -> Mapping[str, bool]:
        """Whom intervals speak of: these records, and the population if it is asked for and units are records."""
        from ..curves.result import interval_scopes

        return interval_scopes(privacy, population=self.settings.population)

    def describe_intervals(self, privacy: PrivacyStatement, what: str) -> str:
        """Caption of columns of intervals: their kind and level, and the records or the population they cover."""
        from ..display import describe_interval

        told = (
            f"{name.split()[-1]}: {describe_interval(self.settings.level, what, name)}"
            for name in self.select_scopes(privacy)
        )
        return "; ".join(told) + self.describe_missing_population(privacy)

    def describe_missing_population(self, privacy: PrivacyStatement) -> str:
        """Note that intervals for the population are asked for but left out, as a unit may have several records."""
        from ..curves.result import SEVERAL

        return f"\n{SEVERAL}" if self.settings.population and privacy.rows_per_unit != 1 else ""

    def make_table(
        self,
        curve: Any,
        columns: Mapping[str, Any],
        ends: IntervalLimits | None = None,
        what: str = TOGETHER,
        *,
        head: str = "",
        after: Mapping[str, Any] = NOTHING,
        max_rows: int = 20,
    ) -> ViewTable:
        """Table of columns, of intervals that are called `what`, and of columns `after` them.

        Without `ends`, the intervals are the curve's own.
        """
        import numpy as np

        from ..curves.result import limits_from_intervals

        level, whom, ends = (
            self.settings.level,
            self.select_scopes(curve.privacy),
            ends or limits_from_intervals(curve.intervals),
        )
        found = {name.split()[-1]: np.stack(tuple(ends(level, population=whom[name])), axis=-1) for name in whom}
        table = {**columns, **found, **after}
        if self.settings.suppress is not None:
            table = self.suppress_wide_intervals(table, curve, tuple(found), tuple(after))
        return ViewTable(head + self.describe_intervals(curve.privacy, what), table, max_rows)

    def suppress_wide_intervals(
        self, table: Mapping[str, Any], curve: Any, ends: Sequence[str], after: Sequence[str]
    ) -> dict[str, Any]:
        """The columns with .. where intervals of the first column of `ends` are wider than is shown."""
        import numpy as np

        from ..display import find_wide_intervals, format_numbers, suppress_rows

        value = curve._suppressible_columns()[0]
        numbers = [float(str(each).replace(",", "")) if str(each) != "not known" else np.nan for each in table[value]]
        lower, upper = np.asarray(table[ends[0]], dtype=np.float64).T
        texts = {name: format_numbers(np.asarray(table[name])) for name in (value, *ends, *after)}
        rows = find_wide_intervals(numbers, lower, upper, self.settings.suppress or 0.0)
        return suppress_rows({**table, **texts}, list(texts), rows)


class RocView(ResultView):
    """View of a ROC curve: rates by threshold with simultaneous bands, and the AUC with its intervals."""

    def tables(self, curve: ROC) -> list[ViewTable]:
        import numpy as np

        from ..display import area_rows, describe_interval

        level, whom = self.settings.level, self.select_scopes(curve.privacy)
        (_, area), *intervals = area_rows(curve.auc, curve.area_intervals(whom, level))
        said = "; ".join([f"AUC {area}", *(f"{name}: {ends}" for name, ends in intervals)])
        said += self.describe_missing_population(curve.privacy)
        columns = curve._known_columns()
        if len(curve.fpr) > MOST_BANDED:
            return [ViewTable(f"{said}\nno band is shown of more than {MOST_BANDED:,} thresholds", columns)]
        found = []
        for name, population in whom.items():
            ends = np.stack(curve.band(level, population=population), axis=-1)
            bands = {f"fpr, {name.split()[-1]}": ends[:, :2], f"tpr, {name.split()[-1]}": ends[:, 2:]}
            found.append(
                ViewTable(describe_interval(level, "simultaneous band", name), {**columns, **bands}, MOST_RATES)
            )
        return [found[0]._replace(headline=f"{said}\n{found[0].headline}"), *found[1:]]


class HosmerLemeshowView(ResultView):
    """View of a Hosmer-Lemeshow test and its groups."""

    def tables(self, curve: HosmerLemeshow) -> list[ViewTable]:
        from ..curves.result import EACH
        from ..display import format_number

        columns = {
            "lower": curve.edges[:-1], "upper": curve.edges[1:], "count": curve.count,
            "positives": curve.observed, "expected": curve.expected,
        }  # fmt: skip
        chance_of_it = (
            format_number(curve.p_value) if isnan(curve.p_value) else f"{curve.p_value:.2g} for the population"
        )
        test = f"statistic {format_number(curve.statistic)}, p-value {chance_of_it}\n"
        return [self.make_table(curve, columns, what=EACH, head=test)]


@dataclass(frozen=True)
class BinnedResidualsView:
    """View of mean residuals of bins of similar scores."""

    level: float

    @classmethod
    def from_output(cls, output: Output) -> Self:
        output.suppression_width(shows_counts=False)
        return cls(output.simulated_level())

    def tables(self, curve: BinnedResiduals) -> list[ViewTable]:
        from ..display import format_number

        within = curve.envelope_at(self.level)
        columns = {
            "prob_pred": curve.prob_pred, "residual": curve.residual, "count": curve.count, "envelope": within
        }  # fmt: skip
        outside = curve.share_outside(within)
        share = format_number(outside) if isnan(outside) else f"{outside:.0%}"
        left = f"{share} of the residuals leave the envelope"
        words = f"{left}; for a model that is right for the population {100 * (1 - self.level):.6g}% do"
        return [ViewTable(words, columns)]

    def draw(self, curve: BinnedResiduals) -> Axes:
        """Plot of the bins with their envelope."""
        return plot_headless(curve, level=self.level)
