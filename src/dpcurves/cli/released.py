"""Commands about released curves: comparison with a public table, and quantile-quantile plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..arguments import Refused
from .ask_file import deliver, delivering
from .options import Command, chance, numbers
from .output import InputFile, Output, ResultView, Shown, object_of, text_of
from .terminal import Misuse, say, terminal

if TYPE_CHECKING:
    from ..curves import CDF, Drift, QuantileQuantile

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
    """The released curve of a file. Refused where it holds none of a comparable kind."""
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
                    "p": curve.p, "first": curve.x, "first, from and to": first,
                    "second": curve.y, "second, from and to": second,
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
    with delivering() as part:
        written = deliver(part, f"quantiles of {second} against {first}", found, view, output)
    _say_written(output, written)


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
    named = {Path(name).stem: each for name, each in zip(windows, later, strict=True)}
    found = drifted(first, named, alarms=chance("alarms", alarms))  # type: ignore[arg-type]
    with delivering() as part:
        written = deliver(part, f"drift since {reference}", found, DriftView.of(output), output)
    _say_written(output, written)


def _require_free(output: Output, *read: str) -> None:
    output.require_apart(*(InputFile("what is read", Path(name)) for name in read))
    output.require_writable()


def _say_written(output: Output, files: Sequence[str]) -> None:
    for name in files:
        say(output.terminal(), f"written: {name}")


RELEASED_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({
    "compare": compare, "qq": qq, "drift": drift,
})  # fmt: skip
