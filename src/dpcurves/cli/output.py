"""Outputs of a curve: JSON in a file or on standard output, a plot, the terminal; and files of curves that are read."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Option

from .option_groups import chance, option, perhaps
from .refusal import Misuse, Undelivered
from .terminal import say_plainly, terminal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console


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


# Outputs of a curve: JSON in a file or on standard output, a plot, and the terminal.


ENDINGS = (".svg", ".png", ".pdf")
STANDARD_OUTPUT = "-"


class Covering(NamedTuple):
    """Confidence level of bands and intervals, and whether intervals for the population are shown as well."""

    level: float
    population: bool


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
    level: str = option("P", "The confidence level of bands and intervals.", "0.95")
    population: Annotated[bool, Option(help="Show intervals for the population the records were drawn from, too.")] = (
        True
    )

    def certainty(self) -> float:
        """Confidence level of bands and intervals."""
        return chance("level", self.level)

    def simulated(self) -> float:
        """Confidence level of bands and intervals from simulated noise. Refused if it is too high for the draws."""
        from ..inference.simulation import DRAWS

        level, highest = self.certainty(), (DRAWS - 1) / (DRAWS + 1)
        if level > highest:
            raise Misuse("level", f"noise is simulated {DRAWS} times, enough for up to {highest:.3f}, got {self.level}")
        return level

    def covering(self) -> Covering:
        """Level and scope of bands and intervals from simulated noise. Refused if it is too high for the draws."""
        from ..inference.simulation import DRAWS

        level, highest = self.simulated(), (DRAWS - 3) / (DRAWS + 1)
        if self.population and level > highest:
            raise Misuse(
                "level",
                f"noise is simulated {DRAWS} times, enough for up to {highest:.3f} beside the population, got "
                f"{self.level}; --no-population leaves it out",
            )
        return Covering(level, self.population)

    def require_writable(self) -> None:
        """Refuse files that could not be written: without a folder, without an ending of a picture, and others."""
        self.certainty()
        if self.plot is not None:
            _require_picture(self.plot)
            _require_place("plot", Path(self.plot))
        if self.json is not None and self.json != STANDARD_OUTPUT:
            _require_place("json", Path(self.json))

    def require_apart(self, *kept: InputFile) -> None:
        """Refuse to overwrite an input file or the other output, even under another name (links are followed)."""
        taken = list(kept)
        for argument, name in (("json", self.json if self.json != STANDARD_OUTPUT else None), ("plot", self.plot)):
            if name is None:
                continue
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
        _write("json", Path(self.json), lambda draft: draft.write_text(written() + "\n", encoding="utf-8"))
        return (self.json,)

    def write_plot(self, draw: Callable[[], Axes]) -> tuple[str, ...]:
        """Draw the plot and write it, atomically. Returns the file, if there is one."""
        if self.plot is None:
            return ()
        from ..display import save_figure

        axes = draw()
        _write("plot", Path(self.plot), lambda draft: save_figure(axes, draft))
        return (self.plot,)


def _is_same(one: Path, other: Path) -> bool:
    """Compare two paths as files: links are followed; a file that is not there yet counts by its resolved path."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _require_picture(name: str) -> None:
    if Path(name).suffix.lower() not in ENDINGS:
        raise Misuse("plot", f"a file that ends in {', '.join(ENDINGS)} is needed, got {Path(name).name!r}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        from ..display.canvas import NO_MATPLOTLIB

        raise Misuse("plot", NO_MATPLOTLIB) from None


def _require_place(argument: str, path: Path) -> None:
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
