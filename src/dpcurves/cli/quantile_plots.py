"""Quantile-quantile plots of two released distributions: the command and its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ..arguments import Refused
from .curve_files import object_of, text_of
from .delivery import deliver, delivering
from .literals import numbers
from .output import InputFile, Output
from .refusal import Misuse
from .terminal import say
from .views import ResultView, Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..curves import CDF, QuantileQuantile
    from .option_groups import Command

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
        from .covered import left_out

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
