"""Creation of tasks of pairs: their options, document, tickets and seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dpcurves.cli.literals import chosen, whole
from dpcurves.cli.refusal import Misuse
from dpcurves.cli.terminal import say, terminal

if TYPE_CHECKING:
    from dpcurves.cli.promise_options import Price

    from ..pairs import PairTask, Trust
    from .task_parties import Parties

NEEDED = ("rbcl", "numba")
EXTRA = "pairs of people need more packages; install dpcurves[servers,pairs]"


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
        """Trust model: people in pairs, or two servers.

        Raises:
            Misuse: it was not given, or is another word.
        """
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

    from dpcurves.queries import commitment

    from ..pairs.seed_file import SIZE, write_seed
    from ..pairs.statement import statement
    from ..serving.new_task import found
    from ..serving.ticket import Role

    if parties.check != "nobody":
        raise Misuse("check", "it belongs to counts: of pairs, nobody checks values")
    seed, owners = token_bytes(SIZE), whole("owners", parties.owners, least=2)
    numbers = {Role.OWNER: owners, Role.ANALYST: whole("analysts", parties.analysts), Role.COORDINATOR: 1}
    task = found(of_pairs.draft(price, parties, commitment(seed)), numbers, Path(parties.out), Path(parties.tickets))
    kept = write_seed(Path(parties.tickets) / "coordinator-1", seed)
    written = (
        f"written: {parties.out}, tickets in {parties.tickets}, and the seed of pairs, secret until closing: {kept}"
    )
    say(terminal(), *statement(task), written)


def require_extra() -> None:
    """Refuse if the optional packages of the extras ``servers`` and ``pairs`` are missing.

    Raises:
        Misuse: a package is missing.
    """
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in NEEDED):
        raise Misuse("pairs", EXTRA)
