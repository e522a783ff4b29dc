"""One quantile by bisection: few looks at a grid that may be far too fine to be counted out."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arguments import Refused, chance, share
from ..arrays import FloatArray
from ..data import Axis, Grid
from ..display import span, standing
from ..postprocess import PathQuantile, inside
from ..queries import PrefixQuery
from ..release import ALL, Evidence, PrivacyStatement, Release, Setting, Step
from .covering import pictured, scopes, shades
from .question import require_independent, statement_of
from .result import Released
from .thresholds import Thresholds
from .turns.one_table import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade


@dataclass(frozen=True, eq=False, repr=False)
class Quantile(Released):
    """Below which value does a share of the records lie?

    Attributes:
        p: The share.
        x: The first edge, as far as noise tells, below which at least this share of the records lies. Where values
            outside the grid are clamped and it would be the last edge, the one before: the quantile lies at or above.
        cell: Where the cell below `x` begins and ends. A cell that also holds values outside ends in infinity.
        lower, upper: Where the cell that holds the quantile of these records begins and ends, at the furthest; in
            infinity where it may lie outside the grid.
        population: Between which ends that of the population lies; None: units are not single, independent records.
        level: The chance with which each lies between its ends, at least, whatever the records are; see
            `PathQuantile`.
        looks: All counts that were looked at.

    As a data frame, one row: ``p``, ``x``, ends of its cell (``cell_lower``, ...), of its interval for these records
    (``lower``, ``upper``) and of that for the population (``population_lower``, ``population_upper``). In JSON an
    infinite end has null in its place.
    """

    KIND: ClassVar[str] = "quantile"

    p: float
    x: float
    cell: tuple[float, float]
    lower: float
    upper: float
    population: tuple[float, float] | None
    level: float
    looks: Thresholds

    @classmethod
    def read(cls, p: float, level: float, looks: Thresholds) -> Quantile:
        """From counts that searches asked for.

        Raises:
            ValueError: some of them are not there.
        """
        search = PathQuantile.of(looks.evidence, p, level)
        if search.asked:
            raise Refused("looks", "counts that the search asks for are missing")
        lower, middle, upper = search.brackets
        slots = np.array([middle.low, middle.high, lower.low, upper.high])
        left, right, least, most = looks.grid.boundary(slots).tolist()
        x = float(inside(np.array([left, right]), np.array(right)))
        return cls(p, x, (left, right), least, most, _population(p, level, looks), level, looks)

    @property
    def privacy(self) -> PrivacyStatement:
        """What stands on every picture."""
        return self.looks.privacy

    def interval(self, *, population: bool = False) -> tuple[float, float]:
        """The ends of its interval, for these records or for the `population`.

        Raises:
            ValueError: nothing was searched for the population.
        """
        if not population:
            return self.lower, self.upper
        require_independent(self.privacy)
        if self.population is None:
            raise Refused("population", "counts that tell it were not asked for")
        return self.population

    @property
    def scopes(self) -> Mapping[str, bool]:
        """Whom its intervals speak of."""
        return scopes(self.privacy, population=self.population is not None)

    @property
    def turns(self) -> Sequence[Evidence]:
        """What was released, turn by turn."""
        return self.looks.turns

    def plot(self, ax: Axes | None = None, *, population: bool = True, name: str | None = None) -> Axes:
        """Draw the quantile with its intervals, for these records and for the `population`."""
        whom = {who: asked for who, asked in self.scopes.items() if population or not asked}
        privacy, _ = pictured(self.privacy, self.level, 1, population=population)
        return self._drawn(privacy, shades(whom, self.level, "interval", self.ends), ax, name)

    def ends(self, level: float, /, *, population: bool) -> FloatArray:
        """Lower and upper end, at the level that was asked for: there is no other."""
        return np.array(self.interval(population=population))[:, None]

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_quantiles(
            self.p, self.x, privacy, label=self.looks.label, cells=self.cell, shades=shaded, ax=ax, name=name
        )

    def _columns(self) -> dict[str, FloatArray]:
        return {name: np.array([number]) for name, number in self._numbers().items()}

    def _arrays(self) -> dict[str, float]:
        return {**self._numbers(), "level": self.level}

    def _question(self) -> Mapping[str, object]:
        return self.looks._question()

    @classmethod
    def _opened(cls, opened: Opened) -> Quantile:
        looks = Thresholds.from_evidence_json(opened.evidence, opened.privacy)
        return cls.read(opened.arrays["p"], opened.arrays["level"], looks)

    def _numbers(self) -> dict[str, float]:
        ends = {"cell_lower": self.cell[0], "cell_upper": self.cell[1], "lower": self.lower, "upper": self.upper}
        if self.population is not None:
            ends |= {"population_lower": self.population[0], "population_upper": self.population[1]}
        return {"p": self.p, "x": self.x, **ends}

    def _in_short(self) -> tuple[str, ...]:
        return (self.looks.label, f"{self.p:g} quantile {standing(self.x, *self.cell)}")

    def _title(self) -> str:
        return f"Quantile of {self.looks.label}"

    def _summary(self) -> list[tuple[str, str]]:
        ends = (f"{span(*self.interval(population=asked))} {who}" for who, asked in self.scopes.items())
        between = ", ".join(ends)
        return [(f"{self.p:.4g} quantile", standing(self.x, *self.cell)), (f"{100 * self.level:.4g}%", between)]


@dataclass(frozen=True, slots=True)
class QuantileQuestion:
    """Below which edge of `grid` does a share `p` of the records lie? Each look depends on the answers before.

    There are ``ceil(log2(cells))`` turns, that search for the quantile and for both ends of its interval at once, and
    for those of an interval for the population, where units are single records. All look at the one tree of noises that
    is paid for: other quantiles, and other counts along this grid, are free under the same request.

    Attributes:
        column: A column of numbers.
        grid: Public cells, as fine as doubles can tell apart; they are not laid out.
        p: A share between 0 and 1 of the records that have a value.
        level: The chance with which the interval holds the quantile.
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        ValueError: `p` is not between 0 and 1, or `level` not strictly.
        TypeError: one of them is no number.
    """

    column: str
    grid: Grid
    p: float
    level: float = 0.95
    measured_in: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", share("p", self.p))
        object.__setattr__(self, "level", chance("level", self.level))

    @property
    def paid_as(self) -> PrefixQuery:
        """All counts along this grid."""
        return PrefixQuery((Axis(self.column, self.grid),), at=())

    def steps(self, setting: Setting) -> Generator[Step, Release, Quantile]:
        """Look at the middles of all brackets, and at the count of all, till each bracket is one cell."""
        slots, label = self.paid_as.cells, axis_label(self.column, self.measured_in)
        look = yield self._look({slots, max(slots // 2, 1)})
        privacy, evidence = statement_of([look]), Evidence.of(look)
        alone = setting.adjacency.unit.records == 1
        while asked := PathQuantile.of(evidence, self.p, self.level, independent=alone).asked:
            look = yield self._look(set(asked))
            evidence = _joined(evidence, Evidence.of(look))
        return Quantile.read(self.p, self.level, Thresholds.read(evidence, self.grid, label, privacy))

    def _look(self, slots: set[int]) -> Step:
        return Step(replace(self.paid_as, at=tuple(sorted(slots))), share=ALL)

    def __str__(self) -> str:
        return f"{self.p:.4g} quantile of {self.column}"


def _population(p: float, level: float, looks: Thresholds) -> tuple[float, float] | None:
    """The ends for the population, if the searches for them have ended."""
    search = PathQuantile.of(looks.evidence, p, level, independent=looks.privacy.rows_per_unit == 1)
    if not search.independent or search.asked:
        return None
    lower, upper = search.outer
    left, right = looks.grid.boundary(np.array([lower.low, upper.high])).tolist()
    return left, right


def _joined(one: Evidence, other: Evidence) -> Evidence:
    """Counts of two looks at one tree."""
    law, more = one.path, other.path
    counts = (*one.values[: len(law.at)], *other.values[: len(more.at)])
    return Evidence(replace(law, at=law.at + more.at), (*counts, *one.values[len(law.at) :]), one.total)
