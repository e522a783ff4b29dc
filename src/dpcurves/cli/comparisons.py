"""Comparison of a released curve with the same curve of a public table: the command and its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..arguments import Refused
from .curve_files import object_of, text_of
from .output import InputFile, Output
from .refusal import Misuse
from .terminal import say, terminal

if TYPE_CHECKING:
    from .option_groups import Command


@dataclass(frozen=True)
class Both:
    """A curve in a file, the question that it answers, and public records."""

    curve: Annotated[str, Argument(metavar="CURVE", help="A released curve, as --json wrote it.")]
    public: Annotated[str, Argument(metavar="PUBLIC", help="Public records: a CSV or Parquet file.")]
    question: Annotated[
        str, Option(help="The question that the curve answers: a JSON object as in a study.", metavar="FILE")
    ]
    plot: Annotated[str | None, Option(help="Draw both: a file that ends in .svg, .png or .pdf.", metavar="FILE")] = (
        None
    )

    @property
    def output(self) -> Output:
        """Output with the file of the plot."""
        return Output(plot=self.plot)

    def released(self) -> Any:
        """The released curve.

        Raises:
            Misuse: the file holds no curve of a comparable kind.
        """
        from ..curves.comparison import MEASURES

        text = text_of("curve", self.curve)
        try:
            kind = object_of("curve", text).get("kind")
            (found,) = (each for each in MEASURES if kind == each.KIND)
        except ValueError:
            kinds = ", ".join(each.KIND for each in MEASURES)
            raise Misuse("curve", f"a file of one of these is needed: {kinds}") from None
        return found.from_json(text)

    def asked(self) -> Any:
        """The question.

        Raises:
            Misuse: the file has none.
        """
        from ..curves.question_json import question_from_json

        try:
            return question_from_json(object_of("question", text_of("question", self.question)))
        except Refused as error:
            raise Misuse("question", str(error)) from None


def compare(both: Both) -> None:
    """Compare a released curve with the same curve of a public table.

    The public table is counted without noise; nothing is asked of the confidential one, so there is no privacy loss.

    Example: dpcurves compare delay.json synthetic.csv --question question.json --plot both.svg
    """
    from ..display import headless_axes
    from ..table_shortcuts import compare as compared

    both.output.require_apart(
        *(InputFile("what is read", Path(name)) for name in (both.curve, both.public, both.question))
    )
    both.output.require_writable()
    found = compared(both.released(), both.asked(), both.public)
    say(terminal(), found.verdict)
    written = both.output.write_plot(lambda: found.plot(ax=headless_axes(type(found.private).SIZE)))
    for name in written:
        say(terminal(), f"written: {name}")


COMPARE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"compare": compare})
