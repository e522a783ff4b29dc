"""Commands that set and show the allowances of projects and analysts within an account's cap."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .accounts import account_of, ledger_at
from .ledgers import LedgerPlace
from .promise_options import Payer, Price
from .refusal import named
from .terminal import say, terminal

if TYPE_CHECKING:
    from ..ledger import Ledger
    from .option_groups import Command


@dataclass(frozen=True)
class AllowanceAccount:
    """Option for the name of an account; it may be left out in a ledger with a single account."""

    dataset: Annotated[
        str | None, Option(help="The account in the ledger; needed if there are several.", metavar="NAME")
    ] = None


@dataclass(frozen=True)
class Owner:
    """Options for the project, and the analyst, that an allowance belongs to."""

    project: Annotated[str, Option(help="The project that may spend so much of the cap.", metavar="NAME")]
    analyst: Annotated[
        str | None, Option(help="One of the project, who may spend so much of its allowance.", metavar="NAME")
    ] = None


@dataclass(frozen=True)
class Total:
    """Option that lets sibling allowances add up to more than the cap or allowance above them."""

    may_exceed: Annotated[
        bool, Option("--may-exceed", help="Let the allowances in one dataset or project add up to more than its own.")
    ] = False


def allow(place: LedgerPlace, account: AllowanceAccount, owner: Owner, most: Price, total: Total) -> None:
    """Set the allowance of a project within a cap, or of an analyst within the project's allowance.

    It replaces the previous allowance; what was spent stays spent. Allowances divide a budget fairly; privacy
    is guaranteed by the cap alone.

    Example: dpcurves ledger allowance set sqlite:///budget.db --project delays --epsilon 1
    """
    from ..ledger import Allowance, Together

    loss, ledger = most.loss(), ledger_at(place.url)
    dataset = account_of(ledger, Payer(dataset=account.dataset)).dataset
    together = Together.MAY_EXCEED if total.may_exceed else Together.WITHIN
    with named("epsilon" if most.rho is None else "rho", "allowance", "rho"):
        ledger.allow(Allowance(dataset, owner.project, loss, owner.analyst), together)
    _show(ledger, dataset)


def show(place: LedgerPlace, account: AllowanceAccount) -> None:
    """Show the spending of projects and analysts against their allowances.

    Example: dpcurves ledger allowance show sqlite:///budget.db
    """
    ledger = ledger_at(place.url)
    _show(ledger, account_of(ledger, Payer(dataset=account.dataset)).dataset)


ALLOWANCE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"set": allow, "show": show})


def _show(ledger: Ledger, dataset: str) -> None:
    from ..display import BalanceReport, allowance_table

    statement = ledger.statement(dataset)
    if not statement.allowances:
        say(terminal(), f"there are no allowances in {dataset!r}; {statement.left} of its cap is left")
        return
    say(
        terminal(),
        allowance_table(BalanceReport.of(statement)),
        "allowances divide the cap; the cap alone guarantees privacy",
    )
