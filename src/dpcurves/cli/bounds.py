"""Private bounds of one column, or of two: the command, its options, and its view."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .ask_file import Terms
from .literals import amount
from .output import Output
from .refusal import Misuse, named
from .table_options import CoveredOptions
from .views import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import Bounds, BoundsQuestion, PlaneBounds, PlaneBoundsQuestion
    from .option_groups import Command

BOTH = "give --and-column and --and-smallest together, or neither"
ALPHA = "alpha: the records covered may be this many more or fewer than asked for (more with chance 0.05)"


@dataclass(frozen=True)
class Sizes:
    """Options for one or two columns of numbers, and the approximate size of their values."""

    column: Annotated[str, Option(help="A column of numbers.", metavar="NAME")]
    smallest: Annotated[
        str, Option(help="The smallest bound tried, about the size of typical values; it is doubled.", metavar="U")
    ]
    and_column: Annotated[str | None, Option(help="A second column; each has half of the loss.", metavar="NAME")] = None
    and_smallest: Annotated[
        str | None, Option(help="The smallest bound of the second column that is tried.", metavar="U")
    ] = None

    def question(self, coverage: str) -> BoundsQuestion | PlaneBoundsQuestion:
        """Question for bounds that cover this share of the records.

        Raises:
            Misuse: only one of both options of a second column was given, or it is the first one.
        """
        from ..curves import PlaneBoundsQuestion

        first = self._of(self.column, coverage, "smallest", self.smallest)
        if self.and_column is None and self.and_smallest is None:
            return first
        if self.and_column is None or self.and_smallest is None:
            raise Misuse("and-column", BOTH)
        if self.and_column == self.column:
            raise Misuse("and-column", "another column than that of --column is needed")
        return PlaneBoundsQuestion(first, self._of(self.and_column, coverage, "and-smallest", self.and_smallest))

    def _of(self, column: str, coverage: str, option: str, smallest: str) -> BoundsQuestion:
        from ..curves import BoundsQuestion

        unit = float(Fraction(amount(option, smallest)))
        with named(option, "unit"):
            return BoundsQuestion(column, unit, coverage)


@dataclass(frozen=True)
class BoundsView:
    """The ends of the interval of each column."""

    def tables(self, curve: Bounds | PlaneBounds) -> list[Shown]:
        """Lower and upper ends, and how many records they may miss."""
        from ..curves import Bounds
        from ..curves.bounds import CAPPED

        each = [curve] if isinstance(curve, Bounds) else [curve.across, curve.upwards]
        lines = [f"{one.label}: covers {one.covers}" + (f"; {CAPPED}" if one.capped else "") for one in each]
        words = "\n".join([*lines, ALPHA])
        ends = {"lower": [one.lower for one in each], "upper": [one.upper for one in each]}
        return [Shown(words, {**ends, "alpha": [one.alpha for one in each]})]

    def draw(self, curve: Bounds | PlaneBounds) -> Axes:
        """The interval, or the rectangle."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


def bounds(sizes: Sizes, covered: CoveredOptions, terms: Terms, output: Output) -> None:
    """Bounds of the values of a column, or of two columns: symmetric intervals or a rectangle around zero.

    The answer is a power of two times the smallest bound. A grid may then be chosen within it.

    Example: dpcurves bounds flights.csv --column arr_delay --smallest 10 --coverage 0.95 --epsilon 0.1
    --adjacency replace-one
    """
    terms.answer(sizes.question(covered.share), BoundsView(), output)


BOUNDS_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"bounds": bounds})
