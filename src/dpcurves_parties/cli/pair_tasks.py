"""Commands that plan means over pairs of people (U-statistics), and create tasks of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dpcurves.cli.options import Price, chosen, numbers, whole
from dpcurves.cli.terminal import Misuse, say, terminal

from .task_parties import require_packages

if TYPE_CHECKING:
    from rich.table import Table

    from dpcurves.cli.options import Command
    from dpcurves.privacy import PrivacyLoss

    from ..pairs import PairTask, Trust
    from ..pairs.statistics import Kernel, Zetas
    from .task_parties import Parties


EXTRA = "pairs of people need more packages; install dpcurves[servers,pairs]"
require_extra = partial(require_packages, "pairs", EXTRA, "rbcl", "numba")
"""Refuse if the optional packages of the extras ``servers`` and ``pairs`` are missing."""


@dataclass(frozen=True)
class OfPairs:
    """Options of a task of pairs, in the place of those for counts."""

    pairs: Annotated[
        str | None, Option(help="Ask pairs of people: in how many a person is, at most.", metavar="P")
    ] = None  # fmt: skip
    kernel: Annotated[
        str | None, Option(help="With --pairs: gini, kendall, auc or collision.", metavar="WORD")
    ] = None  # fmt: skip
    columns: Annotated[
        str | None, Option(help="With --pairs: what the kernel reads of a person, in its order.", metavar="A,B")
    ] = None
    bits: Annotated[
        str | None, Option(help="With --pairs: bits of each column's whole numbers, in their order.", metavar="B,B")
    ] = None
    trust: Annotated[
        str | None,
        Option(help="With --pairs: people (by encrypted letters) or two-servers (from shares).", metavar="WHOM"),
    ] = None
    pairing: Annotated[
        str | None,
        Option(help="With --pairs: permutations (the default), without-repetition or own-choice.", metavar="HOW"),
    ] = None
    noise: Annotated[
        str | None,
        Option(help="With two servers: sum (the default), one noise on the sum, or each, noise in each answer.",
               metavar="WHERE"),
    ] = None  # fmt: skip

    def trusted(self) -> Trust:
        """Trust model: people in pairs, or two servers. Raises `Misuse`: it was not given, or is another word."""
        from ..pairs import Trust

        if self.trust is None:
            raise Misuse("trust", "say with --trust who works it out: people or two-servers; there is no default")
        return chosen("trust", self.trust, {each.value: each for each in Trust})

    def read(self) -> tuple[tuple[str, int], ...]:
        """Columns that the kernel reads, with the number of bits of each.

        Raises:
            Misuse: columns or bits are missing, or their numbers differ.
        """
        if self.columns is None or self.bits is None:
            raise Misuse("columns" if self.columns is None else "bits", "give --columns and --bits, as many of both")
        names, sizes = self.columns.split(","), [whole("bits", each) for each in self.bits.split(",")]
        if len(names) != len(sizes) or not all(names):
            raise Misuse("bits", f"as many are needed as --columns, {len(names)}, got {len(sizes)}")
        return tuple(zip(names, sizes, strict=True))

    def draft(self, price: Price, parties: Parties, commitment: str) -> PairTask:
        """The task before its tickets are made.

        Raises:
            Misuse: a needed option is missing, or has another word than those allowed.
        """
        from ..pairs import PAIRINGS, PairTask, Trust
        from ..pairs.mechanisms import Noise

        trust, noises = self.trusted(), {"sum": Noise.ON_SUM, "each": Noise.EACH}
        if self.kernel is None:
            raise Misuse("kernel", "say with --kernel what the mean is taken of")
        usual = "each" if trust is Trust.PEOPLE else "sum"
        return PairTask(
            parties.name, self.kernel, self.read(),
            chosen("pairing", self.pairing or "permutations", PAIRINGS)(whole("pairs", self.pairs or "")),
            price.loss(), trust, chosen("noise", self.noise or usual, noises), commitment, parties.known(trust.servers),
            {}, whole("reports-per-owner", parties.reports_per_owner or "1"),
        )  # fmt: skip


def create_of_pairs(of_pairs: OfPairs, price: Price, parties: Parties) -> None:
    """Write the task document, the tickets, and the file of the seed, which the coordinator keeps until closing."""
    require_extra()
    from secrets import token_bytes

    from ..pairs.queries import commitment
    from ..pairs.task import SIZE, statement, write_seed

    if parties.check != "nobody":
        raise Misuse("check", "it belongs to counts: of pairs, nobody checks values")
    if parties.enrol:
        raise Misuse("enrol", "it belongs to counts: people in pairs have the tickets that are made for them")
    seed = token_bytes(SIZE)
    task = parties.found(of_pairs.draft(price, parties, commitment(seed)), least=2)
    kept = write_seed(Path(parties.tickets) / "coordinator-1", seed)
    written = (
        f"written: {parties.out}, tickets in {parties.tickets}, and the seed of pairs, secret until closing: {kept}"
    )
    say(terminal(), *statement(task), written)


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
        """The kernel. Raises `Misuse`: there is no kernel of this name, or it reads another number of columns."""
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
