"""Plans of means over pairs of people (U-statistics): the command and its options."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dpcurves.cli.literals import numbers, whole
from dpcurves.cli.promise_options import Price
from dpcurves.cli.refusal import Misuse
from dpcurves.cli.terminal import say, terminal

if TYPE_CHECKING:
    from rich.table import Table

    from dpcurves.cli.option_groups import Command
    from dpcurves.privacy import PrivacyLoss

    from ..pairs.statistics import Kernel, Zetas

LEGEND = """\
error: standard deviation of the mean over all pairs, for the population: noise, choice of pairs, and people;
of values for which the kernel varies most, if --zetas says nothing else; *: the least of those asked for"""


@dataclass(frozen=True)
class Pairs:
    """Options for the kernel of a pair mean, the number of people, and the number of pairs of each."""

    kernel: Annotated[str, Option(help="gini, kendall, auc or collision.", metavar="WORD")]
    people: Annotated[str, Option(help="How many people there are, in public.", metavar="N")]
    pairs: Annotated[str, Option(help="In how many pairs a person is: one number, or several.", metavar="P,P")] = (
        "1,2,4"
    )
    bits: Annotated[str | None, Option(help="Bits of each value, in the kernel's order (16).", metavar="B,B")] = None
    zetas: Annotated[
        str | None,
        Option(help="The kernel's variance given one person, and its variance: known in public.", metavar="Z1,Z2"),
    ] = None

    def asked(self) -> Kernel:
        """The kernel.

        Raises:
            Misuse: there is no kernel of this name, or it reads another number of columns.
        """
        from ..pairs.statistics import KERNELS, Unsigned

        if self.kernel not in KERNELS:
            raise Misuse("kernel", f"one of {', '.join(KERNELS)} is needed, got {self.kernel!r}")
        kernel = KERNELS[self.kernel]
        if self.bits is None:
            return kernel
        sizes = [whole("bits", each) for each in self.bits.split(",")]
        if len(sizes) != len(kernel.columns):
            raise Misuse("bits", f"{len(kernel.columns)} are needed, for {', '.join(kernel.columns)}")
        return kernel.on(**{name: Unsigned(size) for name, size in zip(kernel.columns, sizes, strict=True)})

    def known(self) -> Zetas | None:
        """Variances of the kernel, if they are known in public: given one person, and in total.

        Raises:
            Misuse: they are not two numbers, the second at least twice the first, which is not negative.
        """
        from ..pairs.statistics import Zetas

        if self.zetas is None:
            return None
        one, both = numbers("zetas", self.zetas) if self.zetas.count(",") == 1 else (1.0, 0.0)
        if not 0 <= 2 * one <= both:
            raise Misuse("zetas", "two numbers are needed, the second at least twice the first, which is not negative")
        return Zetas(one, both)

    def rounds(self) -> list[int]:
        """Numbers of pairs of each person, to be compared."""
        return [whole("pairs", each) for each in self.pairs.split(",")]


def plan(pairs: Pairs, price: Price) -> None:
    """The error of a mean over pairs of people: if people answer in pairs, and if two servers compute it from shares.

    Example: dpcurves plan pairs --kernel auc --people 100000 --pairs 1,2,4 --epsilon 1
    """
    kernel, people, loss = pairs.asked(), whole("people", pairs.people, least=2), price.loss()
    say(terminal(), f"{pairs.kernel} of {people} people in pairs: {loss}, replace-one, protects each person")
    say(terminal(), _table(kernel, people, loss, pairs))


def _table(kernel: Kernel, people: int, loss: PrivacyLoss, pairs: Pairs) -> Table:
    from rich.table import Table

    from ..pairs.statistics import Noise, answered_by, best, plan

    table, zetas = Table(caption=LEGEND, caption_justify="left"), pairs.known()
    for name in ("pairs each", "error", "noise of each pair", "ANDs a pair", "error of one noise on the sum"):
        table.add_column(name, justify="left" if name.startswith("noise") else "right")
    made = {
        noise: [
            plan(kernel, people=people, pairs_per_person=each, loss=loss, noise=noise, zetas=zetas)
            for each in pairs.rounds()
        ]
        for noise in Noise
    }
    least = {noise: best(plans) for noise, plans in made.items()}
    for each, *both in zip(pairs.rounds(), *made.values(), strict=True):
        errors = [f"{one.error:.4g}{'*' * (one == least[noise])}" for noise, one in zip(Noise, both, strict=True)]
        name, ands = answered_by(kernel, both[0])
        table.add_row(str(each), errors[0], name, str(ands), errors[1])
    return table


PAIR_PLANS: MappingProxyType[str, Command] = MappingProxyType({"pairs": plan})
