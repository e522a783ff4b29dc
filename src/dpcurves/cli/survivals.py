"""Survival curves: the command, its options, and its views."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from .ask_file import Terms
from .compared import survival_compared
from .covered import covered
from .literals import category
from .output import Output
from .split_options import Split
from .table_options import CellOptions
from .views import ResultView, Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..curves import ByCategory, Survival
    from .option_groups import Command


@dataclass(frozen=True)
class Observed:
    """Options for the columns of times and of event indicators (censoring)."""

    time: Annotated[
        str,
        typer.Option(help="A column of times: of the event, or of the end of observation without one.", metavar="NAME"),
    ]
    event: Annotated[str, typer.Option(help="A column that says whether the event was observed.", metavar="NAME")]
    came: Annotated[str, typer.Option(help="Its value where the event was observed.", metavar="LABEL")] = "1"
    censored: Annotated[
        str | None,
        typer.Option(
            help="Its value where not; not needed where the other is 1, 0, -1, true or false.", metavar="LABEL"
        ),
    ] = None
    measured_in: Annotated[str, typer.Option(help="The unit of measurement, for the picture.", metavar="UNIT")] = ""


class SurvivalView(ResultView):
    """View of a survival curve: an at-risk table with bands."""

    def tables(self, curve: Survival) -> list[Shown]:
        """The median, and a row for each edge."""
        words, ends = covered(curve.privacy, self.sure, "band", curve._ends)
        fewest, most = curve.at_risk_intervals(self.sure.level).T
        risk = {"at risk": curve.at_risk, "at least": fewest, "at most": most}
        columns: dict[str, ArrayLike] = {"time": curve.x, "survive to its start": curve.y, **ends, **risk}
        return [Shown(f"{_median(curve, self.sure.level)}\n{words}", columns)]


class SurvivalsView(ResultView):
    """View with a row for each category: records, and the median survival time."""

    def tables(self, curves: ByCategory[Survival]) -> list[Shown]:
        """Records and medians, with intervals."""
        from ..display import numeral

        columns: dict[str, ArrayLike] = {
            **curves.parts(),
            "records": [numeral(round(float(curve.at_risk[0]))) for curve in curves.values()],
            "median": [_median(curve, self.sure.level) for curve in curves.values()],
        }
        return [Shown(f"{survival_compared(curves, self.sure)}until the event", columns, len(curves))]


def _median(curve: Survival, level: float) -> str:
    from ..display import RECORDS, covering, span

    ends = span(*curve.median_interval(level))
    return f"median {curve.median_in_words} ({covering(level, 'interval', RECORDS)}: {ends})"


def survival(observed: Observed, cells: CellOptions, split: Split, terms: Terms, output: Output) -> None:
    """The time until an event, with censored records.

    Example: dpcurves survival patients.csv --time months --event died --grid 0:60:60 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import SurvivalQuestion

    by, sure = split.declared(), output.covering()
    censored = None if observed.censored is None else category(observed.censored)
    question = SurvivalQuestion(
        observed.time, observed.event, cells.declared(), by, category(observed.came), censored, observed.measured_in
    )
    terms.answer(question, SurvivalsView(sure) if by else SurvivalView(sure), output)


SURVIVAL_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"survival": survival})
