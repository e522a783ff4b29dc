"""Count, sum, mean and variance of a column: the commands, their options, and their views."""

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
from .table_options import ColumnOptions
from .views import ResultView, Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..arrays import FloatArray
    from ..curves import (
        CountQuestion,
        MeanQuestion,
        Summary,
        SummaryByCategory,
        SummaryQuestion,
        SumQuestion,
        VarianceQuestion,
    )
    from .option_groups import Command

    AnyQuestion = SummaryQuestion | CountQuestion | SumQuestion | MeanQuestion | VarianceQuestion


@dataclass(frozen=True)
class CountOptions:
    """Option for a column whose non-missing values are counted."""

    column: Annotated[str, Option(help="A column of numbers.", metavar="NAME")]


@dataclass(frozen=True)
class Bounded:
    """Option for public bounds."""

    bounds: Annotated[str, Option(help="Public bounds; values outside are clamped to them.", metavar="L:U")]

    def ends(self) -> tuple[float, float]:
        """The lower and the upper bound.

        Raises:
            Misuse: there are not two numbers.
        """
        found = numbers("bounds", self.bounds.replace(":", ","))
        if len(found) != 2:
            raise Misuse("bounds", f"write lower:upper, as in 0:100, not {self.bounds!r}")
        return found[0], found[1]


@dataclass(frozen=True)
class HowMuch:
    """Option for the number of moments."""

    moments: Annotated[
        str, Option(help="2: count, sum, mean and variance; 1: no variance, and less noise.", metavar="N")
    ] = "2"

    @property
    def number(self) -> int:
        """Number of moments, 1 or 2."""
        return whole("moments", self.moments)


class SummaryView(ResultView):
    """View with a row for each statistic, with its intervals."""

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
    """View with a row for each category: every statistic, and intervals of the one that the question names."""

    def tables(self, curves: SummaryByCategory) -> list[Shown]:
        """Counts, sums, means and variances, and intervals of one of them."""
        from ..display import numeral

        each = list(curves.values())
        statistic = each[0].statistic
        place = list(each[0].statistics).index(statistic)
        columns: dict[str, ArrayLike] = {**curves.parts()}
        for name in each[0].statistics:
            columns[name] = [numeral(one.statistics[name]) for one in each]
        words, ends = _ends(self.sure, each)
        for whom, found in ends.items():
            columns[f"{statistic}, {whom}"] = [one[place].tolist() for one in found]
        return [Shown(f"{each[0].clamped}\n{words}", columns, len(each))]


def _ends(sure: Covering, curves: list[Summary]) -> tuple[str, dict[str, list[FloatArray]]]:
    """Caption of the table, and intervals of all statistics, for these records and for the population."""
    from ..curves.covering import EACH, scopes

    privacy = curves[0].privacy
    whom = scopes(privacy, population=sure.population)
    found = {
        name.split()[-1]: [each.intervals(sure.level, population=population) for each in curves]
        for name, population in whom.items()
    }
    return said_of(privacy, sure, EACH), found


def summary(  # noqa: PLR0917
    column: ColumnOptions, bounded: Bounded, asked: HowMuch, split: Split, terms: Terms, output: Output
) -> None:
    """Count, sum, mean and variance of a column.

    Example: dpcurves summary flights.csv --column arr_delay --bounds -60:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import SummaryQuestion

    fields = column.column, *bounded.ends(), split.declared(), column.measured_in
    _answered(SummaryQuestion(*fields, asked.number), terms, output)


def count(column: CountOptions, split: Split, terms: Terms, output: Output) -> None:
    """Number of records that have a value in a column.

    Example: dpcurves count flights.csv --column arr_delay --epsilon 1 --adjacency add-remove
    """
    from ..curves import CountQuestion

    _answered(CountQuestion(column.column, split.declared()), terms, output)


def total(column: ColumnOptions, bounded: Bounded, split: Split, terms: Terms, output: Output) -> None:
    """The sum of a column, with its count and mean.

    Example: dpcurves sum flights.csv --column arr_delay --bounds 0:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import SumQuestion

    _answered(SumQuestion(column.column, *bounded.ends(), split.declared(), column.measured_in), terms, output)


def mean(column: ColumnOptions, bounded: Bounded, split: Split, terms: Terms, output: Output) -> None:
    """The mean of a column, with its count, sum and variance.

    Example: dpcurves mean flights.csv --column arr_delay --bounds -60:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import MeanQuestion

    _answered(MeanQuestion(column.column, *bounded.ends(), split.declared(), column.measured_in), terms, output)


def variance(column: ColumnOptions, bounded: Bounded, split: Split, terms: Terms, output: Output) -> None:
    """The variance of a column, with its count, sum and mean.

    Example: dpcurves variance flights.csv --column arr_delay --bounds -60:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import VarianceQuestion

    _answered(VarianceQuestion(column.column, *bounded.ends(), split.declared(), column.measured_in), terms, output)


def _answered(question: AnyQuestion, terms: Terms, output: Output) -> None:
    sure = output.covering()
    terms.answer(question, SummaryView(sure) if question.by is None else SummariesView(sure), output)


SUMMARY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({
    "summary": summary, "count": count, "sum": total, "mean": mean, "variance": variance,
})  # fmt: skip
