"""Count, sum, mean and variance of a column on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .ask_file import Terms
from .covered import said_of
from .literals import numbers, whole
from .output import Covering, Output
from .refusal import Misuse
from .split_options import Split
from .table_options import Column
from .views import ResultView, Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..arrays import FloatArray
    from ..curves import Summary, SummaryByCategory
    from .option_groups import Command


@dataclass(frozen=True)
class Bounded:
    """Public bounds, and how much is asked."""

    bounds: Annotated[str, Option(help="Public bounds; values outside are clamped to them.", metavar="L:U")]
    moments: Annotated[
        str, Option(help="2: count, sum, mean and variance; 1: no variance, and less noise.", metavar="N")
    ] = "2"

    def ends(self) -> tuple[float, float]:
        """The lower and the upper bound.

        Raises:
            Misuse: there are not two numbers.
        """
        found = numbers("bounds", self.bounds.replace(":", ","))
        if len(found) != 2:
            raise Misuse("bounds", f"write lower:upper, as in 0:100, not {self.bounds!r}")
        return found[0], found[1]

    @property
    def number(self) -> int:
        """How many moments are asked for."""
        return whole("moments", self.moments)


class SummaryView(ResultView):
    """One row for each statistic, with its intervals."""

    def tables(self, curve: Summary) -> list[Shown]:
        """Statistics, values, and ends."""
        from ..display import numeral

        words, ends = _ends(self.sure, [curve])
        values: list[str] = [numeral(each) for each in curve.statistics.values()]
        columns: dict[str, ArrayLike] = {"statistic": list(curve.statistics), "value": values}
        for whom, (found,) in ends.items():
            columns[whom] = found
        return [Shown(f"{curve.clamped}\n{words}", columns)]


class SummariesView(ResultView):
    """One row for each category: how many records, their mean, and its intervals."""

    def tables(self, curves: SummaryByCategory) -> list[Shown]:
        """Counts, sums, means and variances, and ends of the means."""
        from ..curves.summary import MEAN
        from ..display import numeral

        each = list(curves.values())
        columns: dict[str, ArrayLike] = {**curves.parts()}
        for name in each[0].statistics:
            columns[name] = [numeral(one.statistics[name]) for one in each]
        words, ends = _ends(self.sure, each)
        for whom, found in ends.items():
            columns[f"mean, {whom}"] = [one[MEAN].tolist() for one in found]
        return [Shown(f"{each[0].clamped}\n{words}", columns, len(each))]


def _ends(sure: Covering, curves: list[Summary]) -> tuple[str, dict[str, list[FloatArray]]]:
    """What is said above the table, and the intervals of all statistics, by whom they speak of."""
    from ..curves.covering import EACH, scopes

    privacy = curves[0].privacy
    whom = scopes(privacy, population=sure.population)
    found = {
        name.split()[-1]: [each.intervals(sure.level, population=population) for each in curves]
        for name, population in whom.items()
    }
    return said_of(privacy, sure, EACH), found


def summary(column: Column, bounded: Bounded, split: Split, terms: Terms, output: Output) -> None:
    """Count, sum, mean and variance of a column.

    Example: dpcurves summary flights.csv --column arr_delay --bounds -60:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import SummaryQuestion

    by, sure = split.declared(), output.covering()
    question = SummaryQuestion(column.column, *bounded.ends(), by, column.measured_in, bounded.number)
    terms.answer(question, SummariesView(sure) if by else SummaryView(sure), output)


SUMMARY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"summary": summary})
