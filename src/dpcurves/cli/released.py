"""Commands about released curves: comparison with a public table, and quantile-quantile plots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..arguments import Refused
from .ask_file import deliver, delivering
from .option_groups import numbers
from .output import InputFile, Output, object_of, text_of
from .refusal import Misuse
from .terminal import say, terminal
from .views import ResultView, Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..curves import CDF, QuantileQuantile
    from .option_groups import Command


# Comparison of a released curve with the same curve of a public table: the command and its options.


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
    from ..shortcuts import compare as compared

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


# Quantile-quantile plots of two released distributions: the command and its options.


SHOWN = "0.01,0.05,0.1,0.25,0.5,0.75,0.9,0.95,0.99"


@dataclass(frozen=True)
class CurveFiles:
    """Arguments for two files of released distribution functions, and the option for shares of records."""

    first: Annotated[str, Argument(metavar="FIRST", help="A distribution function, as --json wrote it: along x.")]
    second: Annotated[str, Argument(metavar="SECOND", help="Another one: along y.")]
    p: Annotated[str, Option(help="Shares of records, between 0 and 1.", metavar="P,P,...")] = SHOWN

    def read(self) -> QuantileQuantile:
        """Quantiles of both distributions.

        Raises:
            Misuse: a file has no distribution function, or a share is not between 0 and 1.
        """
        first, second = _distribution("first", self.first), _distribution("second", self.second)
        try:
            return first.quantile_quantile(second, numbers("p", self.p))
        except Refused as error:
            raise Misuse("p", error.rule) from None


class QuantileQuantileView(ResultView):
    """View of the quantiles of both curves, with simultaneous confidence intervals."""

    def tables(self, curve: QuantileQuantile) -> list[Shown]:
        """Tables with intervals for these records, and for the population if asked for."""
        from ..display import covering
        from .views import left_out

        whom = {who: asked for who, asked in curve.scopes.items() if self.sure.population or not asked}
        found = [
            Shown(covering(self.sure.level, curve._covers(), who), _columns(curve, self.sure.level, population=asked))
            for who, asked in whom.items()
        ]
        return [found[0]._replace(headline=found[0].headline + left_out(curve.privacy, self.sure)), *found[1:]]


def qq(pair: CurveFiles, output: Output) -> None:
    """Quantiles of a released distribution against those of another one.

    Both are read from files, and no data are opened, so there is no privacy loss. On the diagonal they are equal.

    Example: dpcurves qq before.json after.json --plot qq.svg
    """
    output.require_apart(*(InputFile("what is read", Path(name)) for name in (pair.first, pair.second)))
    output.require_writable()
    sure = output.covering()
    found = pair.read()
    with delivering() as part:
        written = deliver(part, f"quantiles of {pair.second} against {pair.first}", found, QuantileQuantileView(sure),
                          output)  # fmt: skip
    for name in written:
        say(output.terminal(), f"written: {name}")


def _distribution(argument: str, file: str) -> CDF:
    from ..curves import CDF

    text = text_of(argument, file)
    try:
        if object_of(argument, text).get("kind") == CDF.KIND:
            return CDF.from_json(text)
    except ValueError:
        pass
    raise Misuse(argument, f"a released distribution function is needed, as `dpcurves cdf --json` writes it: {file!r}")


def _columns(curve: QuantileQuantile, level: float, *, population: bool) -> dict[str, ArrayLike]:
    first, second = curve.intervals(level, population=population)
    return {"p": curve.p, "first": curve.x, "first, from and to": first,
            "second": curve.y, "second, from and to": second}  # fmt: skip


QUANTILE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"qq": qq})
