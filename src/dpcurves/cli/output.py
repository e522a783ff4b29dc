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

from .options import NOTHING, Option, chance, chosen, option, perhaps, size
from .terminal import Misuse, Undelivered, say_plainly, terminal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from rich.console import Console

    from ..conversation import PrivacyStatement
    from ..curves import ROC, BinnedResiduals, HosmerLemeshow
    from ..curves.result import Ends


# Files that a command reads as JSON: released curves, and questions. What cannot be read is `Misuse` of the option.


def text_of(option: str, file: str) -> str:
    """Text of a file, decoded as UTF-8."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is nothing to be read in {file!r}") from None


def object_of(option: str, text: str) -> dict[str, Any]:
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


class Covering(NamedTuple):
    """Confidence level of bands and intervals, whether those for the population are shown, and what is suppressed."""

    level: float
    population: bool
    suppress: float | None = None

    @property
    def of_pictures(self) -> dict[str, Any]:
        """Arguments of pictures, which show intervals and so suppress nothing."""
        return {"level": self.level, "population": self.population}


class InputFile(NamedTuple):
    """File that a command reads, with its name in messages."""

    what: str
    path: Path


@dataclass(frozen=True)
class Output:
    """Options for output files and for the confidence level. All are checked before any privacy loss is spent.

    What cannot be written is `Misuse` before a loss is spent, and `Undelivered` after.
    """

    json: str | None = perhaps(
        "FILE", "Write the curve as JSON to this file; - writes JSON, and nothing else, to standard output."
    )
    plot: str | None = perhaps("FILE", "Draw the curve: a file that ends in .svg, .png or .pdf.")
    csv: str | None = perhaps("FILE", "Write the numbers, with the ends of their intervals, as CSV to this file.")
    csv_raw: Annotated[
        bool,
        Option("--csv-raw", help="Write names and labels that begin with = + - @ into CSV without an apostrophe."),
    ] = False
    xlsx: str | None = perhaps(
        "FILE", "Write a workbook of Excel: numbers, the statement, notes and the picture; it ends in .xlsx."
    )
    html: str | None = perhaps("FILE", "Write a page with the picture that needs nothing but itself; it ends in .html.")
    style: str | None = perhaps("NAME", "How pictures look: paper, slides or dark; left out: plain.")
    level: str = option("P", "The confidence level of bands and intervals.", "0.95")
    population: Annotated[bool, Option(help="Show intervals for the population the records were drawn from, too.")] = (
        True
    )

    suppress: str | None = perhaps(
        "SHARE",
        "Print counts and sums as .. where the 95% interval (or that at --level) is wider than this share of the "
        "number; files of JSON keep them.",
    )

    def certainty(self) -> float:
        """Confidence level of bands and intervals."""
        return chance("level", self.level)

    def suppressed(self, *, possible: bool) -> float | None:
        """The width of intervals, as a share of the number, beyond which counts and sums are left out.

        Refused where the command shows no counts or sums.
        """
        if self.suppress is None:
            return None
        if not possible:
            raise Misuse("suppress", "this command shows no counts or sums that could be left out")
        return size("suppress", self.suppress)

    def simulated(self) -> float:
        """Confidence level of bands and intervals from simulated noise. Refused if it is too high for the draws."""
        from ..inference.simulation import DRAWS

        level, highest = self.certainty(), (DRAWS - 1) / (DRAWS + 1)
        if level > highest:
            raise Misuse("level", f"noise is simulated {DRAWS} times, enough for up to {highest:.3f}, got {self.level}")
        return level

    def covering(self, *, suppressing: bool = False) -> Covering:
        """Level and scope of bands and intervals from simulated noise. Refused if it is too high for the draws."""
        from ..inference.simulation import DRAWS

        level, highest = self.simulated(), (DRAWS - 3) / (DRAWS + 1)
        if self.population and level > highest:
            raise Misuse(
                "level",
                f"noise is simulated {DRAWS} times, enough for up to {highest:.3f} beside the population, got "
                f"{self.level}; --no-population leaves it out",
            )
        return Covering(level, self.population, self.suppressed(possible=suppressing))

    @property
    def files(self) -> dict[str, str]:
        """The files that are written, by their options."""
        named = {"json": self.json if self.json != STANDARD_OUTPUT else None, "plot": self.plot}
        named |= {"csv": self.csv, "xlsx": self.xlsx, "html": self.html}
        return {argument: name for argument, name in named.items() if name is not None}

    def require_writable(self) -> None:
        """Refuse files that could not be written: without a folder, without an ending of a picture, and others."""
        self.certainty()
        if self.csv_raw and self.csv is None:
            raise Misuse("csv-raw", "it is about the file of --csv; name one, or leave it out")
        if self.style is not None:
            chosen("style", self.style, dict.fromkeys(LOOKS))
        for argument, name in self.files.items():
            _require_ending(argument, name)
        for argument, name in self.files.items():
            _require_place(argument, Path(name))

    def require_apart(self, *kept: InputFile) -> None:
        """Refuse to overwrite an input file or the other output, even under another name (links are followed)."""
        taken = list(kept)
        for argument, name in self.files.items():
            _require_name(argument, Path(name))
            for what, path in taken:
                if _is_same(Path(name), path):
                    raise Misuse(argument, f"{name!r} is {what}, which would be lost; name another file")
            taken.append(InputFile(f"the file of --{argument}", Path(name)))

    def terminal(self) -> Console:
        """Console for text: standard output, or standard error if JSON goes to standard output."""
        return terminal(stderr=self.json == STANDARD_OUTPUT)

    def write_json(self, written: Callable[[], str]) -> tuple[str, ...]:
        """Write the curve as JSON, atomically; it is computed only if asked for. Returns the file, if there is one."""
        if self.json is None:
            return ()
        if self.json == STANDARD_OUTPUT:
            say_plainly(written())
            return ()
        return self.write("json", lambda: "".join((written(), "\n")).encode())

    def write(self, argument: str, made: Callable[[], bytes]) -> tuple[str, ...]:
        """Write the file of this option, atomically; it is made only if asked for. Returns it, if there is one."""
        name = self.files.get(argument)
        if name is None:
            return ()
        _write(argument, Path(name), lambda draft: draft.write_bytes(made()))
        return (name,)

    def write_plot(self, draw: Callable[[], Axes]) -> tuple[str, ...]:
        """Draw the plot and write it, atomically. Returns the file, if there is one."""
        if self.plot is None:
            return ()
        from ..display import save_figure, styled

        with styled(self.style, None):
            axes = draw()
        _write("plot", Path(self.plot), lambda draft: save_figure(axes, draft))
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
        from ..arguments import NotInstalled
        from ..display import require_workbooks

        try:
            require_workbooks()
        except NotInstalled as error:
            raise Misuse(argument, error.rule) from None


def _require_name(argument: str, path: Path) -> None:
    """Refuse a name that no file can have. It is not printed: it may be endless."""
    try:
        path.exists()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no name of a file"
        raise Misuse(argument, f"a file of this name cannot be written ({reason})") from None


def _require_place(argument: str, path: Path) -> None:
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


def _write(argument: str, path: Path, fill: Callable[[Path], object]) -> None:
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
        raise Undelivered(argument, f"{str(path)!r} could not be written ({error.strerror})") from None


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


# Views of curves on the terminal and on pictures: tables with intervals, and plots. Names are those of the JSON.


MOST_BANDED = 2**16 + 1  # simulations of more take long
MOST_RATES = 12
TOGETHER = "simultaneous intervals"
Curve = TypeVar("Curve", contravariant=True)


class Shown(NamedTuple):
    """Table with its caption, its columns, and the most rows that are shown."""

    headline: str
    columns: Mapping[str, ArrayLike]
    most: int = 20


class View(Protocol[Curve]):
    """Interface of views, which show a kind of curve as tables and as a plot."""

    def tables(self, curve: Curve) -> list[Shown]:
        """Tables for the terminal."""
        ...

    def draw(self, curve: Curve) -> Axes:
        """Plot of the curve without a window."""
        ...


def drawn(curve: Any, size: tuple[float, float] | None = None, **level: Any) -> Axes:
    """Plot of a curve without a window; its size is that in the curve's HTML summary, unless one is given."""
    from ..display import LANDSCAPE, headless_axes

    own: tuple[float, float] = getattr(curve, "SIZE", LANDSCAPE)
    axes: Axes = curve.plot(ax=headless_axes(size or own), **level)
    return axes


class PlainView:
    """Base of views of results without intervals."""

    @classmethod
    def of(cls, output: Output) -> Self:
        output.suppressed(possible=False)
        return cls()

    def draw(self, curve: Any) -> Axes:
        """Plot of the result."""
        return drawn(curve)


def in_dates(curve: Any) -> dict[str, Any]:
    """Columns of a result, with dates in the places of days or seconds where its axis has such."""
    from ..display import numeral
    from ..display.numerals import dated, is_dated

    columns: dict[str, Any] = curve._known_columns()
    label = getattr(curve, "label", "")
    if not is_dated(label) or "x" not in columns:
        return columns
    return {**columns, "x": [dated(x, label) or numeral(x) for x in columns["x"].tolist()]}


@dataclass(frozen=True)
class ResultView:
    """Default view of a result with a band or intervals, by the result's own columns and plot.

    Attributes:
        sure: The level, and whether intervals for the population are shown.
        most: Points up to which a band is shown: more would take long to simulate.
    """

    sure: Covering
    most: int = MOST_BANDED

    SUPPRESSES: ClassVar[bool] = False

    @classmethod
    def of(cls, output: Output) -> Self:
        return cls(output.covering(suppressing=cls.SUPPRESSES))

    def tables(self, curve: Any) -> list[Shown]:
        """Columns of the result, with lower and upper ends."""
        what = curve._covers()
        if curve._points() > self.most:
            return [Shown(f"no {what} is shown of more than {self.most:,} points", in_dates(curve))]
        return [self.shown(curve, in_dates(curve), curve._ends, what)]

    def draw(self, curve: Any) -> Axes:
        """Plot of the result with its band or its intervals."""
        return drawn(curve, level=self.sure.level, population=self.sure.population)

    def whom(self, privacy: PrivacyStatement) -> Mapping[str, bool]:
        """Whom intervals speak of: these records, and the population if it is asked for and units are records."""
        from ..curves.result import scopes

        return scopes(privacy, population=self.sure.population)

    def said(self, privacy: PrivacyStatement, what: str) -> str:
        """Caption of columns of intervals: their kind and level, and the records or the population they cover."""
        from ..display import covering

        told = (f"{name.split()[-1]}: {covering(self.sure.level, what, name)}" for name in self.whom(privacy))
        return "; ".join(told) + self.left_out(privacy)

    def left_out(self, privacy: PrivacyStatement) -> str:
        """Note that intervals for the population are asked for but left out, as a unit may have several records."""
        from ..curves.result import SEVERAL

        return f"\n{SEVERAL}" if self.sure.population and privacy.rows_per_unit != 1 else ""

    def shown(
        self,
        curve: Any,
        columns: Mapping[str, Any],
        ends: Ends | None = None,
        what: str = TOGETHER,
        *,
        head: str = "",
        after: Mapping[str, Any] = NOTHING,
        most: int = 20,
    ) -> Shown:
        """Table of columns, of intervals that are called `what`, and of columns `after` them.

        Without `ends`, the intervals are the curve's own.
        """
        import numpy as np

        from ..curves.result import ends_of

        level, whom, ends = self.sure.level, self.whom(curve.privacy), ends or ends_of(curve.intervals)
        found = {name.split()[-1]: np.stack(tuple(ends(level, population=whom[name])), axis=-1) for name in whom}
        table = {**columns, **found, **after}
        if self.sure.suppress is not None:
            table = self.without_wide(table, curve, tuple(found), tuple(after))
        return Shown(head + self.said(curve.privacy, what), table, most)

    def without_wide(
        self, table: Mapping[str, Any], curve: Any, ends: Sequence[str], after: Sequence[str]
    ) -> dict[str, Any]:
        """The columns with .. where intervals of the first column of `ends` are wider than is shown."""
        import numpy as np

        from ..display import hidden, numerals, too_wide

        value = curve._hideable()[0]
        numbers = [float(str(each).replace(",", "")) if str(each) != "not known" else np.nan for each in table[value]]
        lower, upper = np.asarray(table[ends[0]], dtype=np.float64).T
        texts = {name: numerals(np.asarray(table[name])) for name in (value, *ends, *after)}
        rows = too_wide(numbers, lower, upper, self.sure.suppress or 0.0)
        return hidden({**table, **texts}, list(texts), rows)


class RocView(ResultView):
    """View of a ROC curve: rates by threshold with simultaneous bands, and the AUC with its intervals."""

    def tables(self, curve: ROC) -> list[Shown]:
        import numpy as np

        from ..display import area_rows, covering

        level, whom = self.sure.level, self.whom(curve.privacy)
        (_, area), *intervals = area_rows(curve.auc, curve.areas(whom, level))
        said = "; ".join([f"AUC {area}", *(f"{name}: {ends}" for name, ends in intervals)])
        said += self.left_out(curve.privacy)
        columns = curve._known_columns()
        if len(curve.fpr) > MOST_BANDED:
            return [Shown(f"{said}\nno band is shown of more than {MOST_BANDED:,} thresholds", columns)]
        found = []
        for name, population in whom.items():
            ends = np.stack(curve.band(level, population=population), axis=-1)
            bands = {f"fpr, {name.split()[-1]}": ends[:, :2], f"tpr, {name.split()[-1]}": ends[:, 2:]}
            found.append(Shown(covering(level, "simultaneous band", name), {**columns, **bands}, MOST_RATES))
        return [found[0]._replace(headline=f"{said}\n{found[0].headline}"), *found[1:]]


class HosmerLemeshowView(ResultView):
    """View of a Hosmer-Lemeshow test and its groups."""

    def tables(self, curve: HosmerLemeshow) -> list[Shown]:
        from ..curves.result import EACH
        from ..display import numeral

        columns = {
            "lower": curve.edges[:-1], "upper": curve.edges[1:], "count": curve.count,
            "positives": curve.observed, "expected": curve.expected,
        }  # fmt: skip
        chance_of_it = numeral(curve.p_value) if isnan(curve.p_value) else f"{curve.p_value:.2g} for the population"
        test = f"statistic {numeral(curve.statistic)}, p-value {chance_of_it}\n"
        return [self.shown(curve, columns, what=EACH, head=test)]


@dataclass(frozen=True)
class BinnedResidualsView:
    """View of mean residuals of bins of similar scores."""

    level: float

    @classmethod
    def of(cls, output: Output) -> Self:
        output.suppressed(possible=False)
        return cls(output.simulated())

    def tables(self, curve: BinnedResiduals) -> list[Shown]:
        from ..display import numeral

        within = curve.envelope_at(self.level)
        columns = {
            "prob_pred": curve.prob_pred, "residual": curve.residual, "count": curve.count, "envelope": within
        }  # fmt: skip
        outside = curve.outside_of(within)
        share = numeral(outside) if isnan(outside) else f"{outside:.0%}"
        left = f"{share} of the residuals leave the envelope"
        words = f"{left}; for a model that is right for the population {100 * (1 - self.level):.6g}% do"
        return [Shown(words, columns)]

    def draw(self, curve: BinnedResiduals) -> Axes:
        """Plot of the bins with their envelope."""
        return drawn(curve, level=self.level)
