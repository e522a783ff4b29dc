"""Verification of a regression coefficient by disjoint subsets of records: the command and its options."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .ask_file import Terms
from .literals import categories, category, numbers, whole
from .output import Output
from .refusal import Misuse
from .views import ResultView

if TYPE_CHECKING:
    from ..data import Categories
    from ..data.axis import Category
    from ..data.models import Ranged
    from .option_groups import Command


@dataclass(frozen=True)
class Claim:
    """Options for a regression, and for a claim about one of its coefficients."""

    outcome: Annotated[
        str,
        Option(
            help="What is explained: NAME=L:U, numbers in a range, or NAME=A,B, two categories.", metavar="NAME=..."
        ),
    ]
    explained_by: Annotated[
        list[str],
        Option(help="A column that explains it: NAME=L:U or NAME=A,B,C; given once for each.", metavar="NAME=..."),
    ]
    coefficient: Annotated[
        str, Option(help="The column whose coefficient is judged; of categories, NAME=B.", metavar="COLUMN")
    ]
    above: Annotated[str | None, Option(help="It is claimed to be above this; 0 for a positive one.", metavar="X")] = (
        None
    )
    below: Annotated[str | None, Option(help="It is claimed to be below this.", metavar="X")] = None
    subsets: Annotated[str, Option(help="Into how many subsets the units are put: 2 to 10000.", metavar="N")] = "50"

    @property
    def judged(self) -> tuple[str, Category | None]:
        """Column of the coefficient, and its category, if it has one."""
        column, sign, level = self.coefficient.partition("=")
        return column, category(level) if sign else None

    def bound(self, name: str) -> float | None:
        """Lower or upper end of the claim, if it was given.

        Raises:
            Misuse: the end is no number.
        """
        given = self.above if name == "above" else self.below
        if given is None:
            return None
        found = numbers(name, given)
        if len(found) != 1:
            raise Misuse(name, f"one number is needed, got {given!r}")
        return found[0]


def declared(option: str, given: str) -> Ranged | Categories:
    """Parse a column with its range, or with its categories.

    Raises:
        Misuse: the column has neither.
    """
    from ..data import Categories
    from ..data.models import Ranged

    column, sign, values = given.partition("=")
    if not (column and sign and values):
        raise Misuse(option, f"declare it: NAME=L:U for numbers in a range, NAME=A,B for categories, got {given!r}")
    ends = values.split(":")
    if len(ends) == 2:
        return Ranged(column, *(numbers(option, end)[0] for end in ends))
    return Categories(column, categories(option, values))


def verify(claim: Claim, terms: Terms, output: Output) -> None:
    """Verify a claim about a regression coefficient: its sign, or an interval that it lies in.

    Units are put into disjoint subsets, in each a regression is fitted, and those that confirm the claim are counted.

    Example: dpcurves verify people.csv --outcome late=0,1 --explained-by age=18:90 --coefficient age --above 0
    --epsilon 1 --adjacency replace-one
    """
    from ..curves import VerifyQuestion

    sure = output.covering()
    columns = tuple(declared("explained-by", each) for each in claim.explained_by)
    column, level = claim.judged
    question = VerifyQuestion(
        declared("outcome", claim.outcome), columns, column, level, claim.bound("above"), claim.bound("below"),
        whole("subsets", claim.subsets, least=2),
    )  # fmt: skip
    terms.answer(question, ResultView(sure), output)


VERIFY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"verify": verify})
