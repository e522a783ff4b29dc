"""Plan commands: the privacy loss and the error of a question; no data are opened, and nothing is spent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .ask_file import Terms
from .bounds import ALPHA
from .curve_files import text_of
from .literals import whole
from .option_groups import groups_of
from .output import Output
from .promise_options import Price, Promise, Units
from .terminal import say, terminal
from .waiting import filling_late

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from ..curves import Question
    from ..forecasts import Forecast
    from ..privacy import PrivacyLoss
    from ..release import Plan, Plans
    from .option_groups import Command
    from .views import View

EVEN = """
What a later turn asks depends on the noisy answers before it: the plan supposes that records are spread evenly, or,
where their number is private, that all cells are asked for. A curve is read from all turns together."""
ASKED_OF = re.compile(r"(Example: dpcurves) (\S+) \S+[.](?:csv|parquet)")
CHANCE = 0.05
BAR_AFTER = 2.0
"""Seconds after which a forecast shows how far it is."""
STANDING = MappingProxyType({"NAME": "", "U": "1", "P": "0.95", "public|disjoint|private": "public"})
"""Defaults in a plan of options that a question needs but its plan does not depend on, by metavar."""


@dataclass(frozen=True)
class MadeUp:
    """Options for a forecast of the error of the answer and of the width of its interval."""

    forecast: Annotated[
        str | None,
        Option(
            help="Forecast the error of the answer, and the half width of the 95% interval that will be printed, by "
            "simulating this many records of several kinds (smooth, tied, a third zero and others).",
            metavar="N",
        ),
    ] = None
    like: Annotated[
        str | None,
        Option(
            help="Forecast for records like those of a released curve, as --json wrote it, at no further loss: as many "
            "as it has, or as --forecast says.",
            metavar="FILE",
        ),
    ] = None

    def show(self, question: Question[Any], loss: PrivacyLoss, promise: Promise) -> None:
        """Print forecast errors and half widths for each kind of simulated records, if a forecast was asked for."""
        if self.forecast is None and self.like is None:
            return
        from ..curves.kinds import curve_from_json
        from ..forecasts import forecast

        records = None if self.forecast is None else whole("forecast", self.forecast)
        like = None if self.like is None else curve_from_json(text_of("like", self.like))
        with filling_late("forecast", BAR_AFTER) as progress:
            found = forecast(question, loss, promise.neighbours(), records=records, like=like, progress=progress)
        say(terminal(), _forecast_table(found))
        for note in found.notes:
            say(terminal(), f"note: {note}")


@dataclass(frozen=True)
class Rehearsal:
    """Terms of a question that is planned, but not asked."""

    price: Price
    promise: Promise
    units: Units
    made_up: MadeUp

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Print the privacy loss and the expected errors of the answer."""
        for alpha in {
            plan.law.alpha(CHANCE) for plan in rehearsed(question, self.price.loss(), self.promise, self.units)
        }:
            if not isnan(alpha):
                say(terminal(), f"{ALPHA}: {alpha:.4g}")
        self.made_up.show(question, self.price.loss(), self.promise)


def _forecast_table(found: Forecast) -> Table:
    from rich.table import Table

    from ..display import numeral

    times, size = f"{found.rehearsals} rehearsals of each kind of records", f"{found.size:,} records"
    table = Table(
        title=f"forecast for {size}: {found.words}", title_justify="left", caption_justify="left",
        caption=f"{times}; half widths are those of {found.interval}." if found.interval else f"{times}.",
    )  # fmt: skip
    columns = {"records": [each.records for each in found.expected]}
    columns["error, by noise"] = [f"{numeral(each.error)} ± {numeral(each.standard_error)}" for each in found.expected]
    widths = {
        "half width of the 95% interval": [each.half_width for each in found.expected],
        "half width for the population": [each.population for each in found.expected],
    }
    for name, values in widths.items():
        if not all(isnan(value) for value in values):
            columns[name] = ["not known" if isnan(value) else f"± {numeral(value)}" for value in values]
    for name in columns:
        table.add_column(name, justify="left" if name == "records" else "right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    return table


def plans_of(questions: Mapping[str, Command]) -> dict[str, Command]:
    """Plan commands of all questions to one file: each takes the options of the question, and shows the errors."""
    return {name: _plan_of(command) for name, command in questions.items() if groups_of(command).get("terms") is Terms}


def _plan_of(command: Command) -> Command:
    asked = {name: group for name, group in groups_of(command).items() if group not in (Terms, Output)}

    def plan(rehearsal: Rehearsal, **groups: Any) -> None:
        command(**groups, terms=rehearsal, output=Output())

    plan.__name__, plan.__doc__ = command.__name__, _told(command.__doc__ or "")
    plan.__annotations__ = {**asked, "rehearsal": Rehearsal}
    return plan


def _told(words: str) -> str:
    """Help text of a plan from that of its question: the example has no file, and names the public number of units."""
    return ASKED_OF.sub(r"\1 plan \2" + (" --units 100000" if "replace-one" in words else ""), words)


def rehearsed(question: Question[Any], loss: PrivacyLoss, promise: Promise, units: Units) -> Plans:
    """Print the plan of a question: its turns, privacy losses, errors and mechanisms."""
    from ..rehearsal import rehearse

    neighbours = promise.neighbours()
    number = units.number(neighbours)
    adjacency = neighbours.among(promise.protected(), number)
    plans = rehearse(question, loss, adjacency)
    say(terminal(), f"{question}: {loss}, {adjacency}, protects {adjacency.unit}", _table(plans, number))
    for note in plans.notes:
        say(terminal(), f"note: {note}")
    return plans


def _table(plans: Sequence[Plan], units: int | None) -> Table:
    from rich.table import Table

    from ..display.plan_lines import LEGEND, plan_lines

    adapted = len(plans) > 1 and {type(plan.query).__name__ for plan in plans} == {"PartitionQuery"}
    table = Table(caption=LEGEND + (EVEN if adapted else ""), caption_justify="left")
    for name in ("turn", "asks for", "price", "error", "of the units", "mechanism"):
        table.add_column(name, justify="right" if name in ("turn", "error", "of the units") else "left")
    for line in plan_lines(plans, units):
        table.add_row(*line)
    return table
