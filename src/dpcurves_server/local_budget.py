"""Privacy budget of the table in `dpcurves try` (the server for one person): read it, and raise it.

    find_budget     budget of a table, and how much of it its answers have spent
    raise_budget    sets a larger budget

The ledger charges the loss of each answer to an account with a fixed cap (largest total loss). An account never
changes, so raising the budget takes two steps. First the present account is closed by a charge of all that remains,
which pays for no answer. Then a further account is opened, whose cap is the new budget minus what earlier accounts paid
for answers. The ledger records both steps.

Formal guarantees: all answers of all accounts together lose at most the new budget. By basic composition the losses
add up, closed accounts pay for no further answer, and the open one pays at most the rest (`raise_budget`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

from dpcurves.arguments import InvalidArgument
from dpcurves.ledger import Account, Amount, Balance, Event, Ledger
from dpcurves.ledger.chain import LedgerBusy
from dpcurves.privacy import PrivacyLoss

from .datasets import Dataset, Relation
from .local_table import PERSON, LocalTable, set_allowances
from .principals import MACHINE
from .services import Services


@dataclass(frozen=True, slots=True)
class TableBudget:
    """The budget of a table, over all of its accounts.

    Attributes:
        limit: What all answers together may spend.
        spent: What all answers together have spent. Charges that only closed an account are not counted.
    """

    limit: Amount
    spent: Amount


def find_budget(services: Services, dataset: Dataset) -> TableBudget:
    """Return the budget of a table, and what its answers have spent, over all of its accounts.

    Args:
        services: The services of the server.
        dataset: The latest version of the table's dataset. All versions have their accounts in the ledger, perhaps the
            same one.

    Returns:
        The budget, and the spent part of it.
    """
    balances = _list_balances(services, dataset)
    earlier = sum(_find_spent(services, balance) for balance in balances[:-1])
    currency = balances[-1].limit.currency
    latest = balances[-1]
    return TableBudget(
        Amount(currency, earlier + latest.limit.billionths),
        Amount(currency, earlier + _find_spent(services, latest)),
    )


def raise_budget(services: Services, table: LocalTable, limit: PrivacyLoss) -> None:
    """Raise the total budget of a local table to `limit`, by closing its account and opening a further account.

    Formal guarantees: answers of all accounts together lose at most `limit` (basic composition). Every earlier account
    is closed before the further one opens, so it pays for no further answer. The cap of the further account is `limit`
    minus what the earlier ones paid for answers. If a step is interrupted, the next call completes it.

    Args:
        services: The services of the server.
        table: The registered table.
        limit: The new budget for all answers, earlier ones included.

    Raises:
        ValueError: `limit` is not above the present budget, or a question was paid meanwhile.
    """
    dataset = services.datasets.get(MACHINE, table.name)
    present = find_budget(services, dataset)
    new_limit = dataset.account.currency.limit(limit)
    if new_limit.billionths <= present.limit.billionths:
        raise InvalidArgument("amount", f"type a number above {present.limit.digits}, the present budget")
    _close_account(services, dataset, new_limit)
    spent = sum(_find_spent(services, balance) for balance in _list_balances(services, dataset))
    cap = dataset.account.currency.to_loss(Amount(new_limit.currency, new_limit.billionths - spent).exact)
    account = replace(dataset.account, dataset=f"{table.name} {dataset.version + 1}", cap=cap)
    source = services.datasets.source(MACHINE, dataset.name, dataset.version)
    services.datasets.add(
        MACHINE, account, source, dataset.columns, name=dataset.name, relation=Relation.BUDGET_RAISED,
        units=dataset.units,
    )  # fmt: skip
    _copy_views(services.archive.ledger, dataset.account.dataset, account.dataset)
    event = Event(PERSON, f"raised the budget from {present.limit} to {new_limit}", dataset.name, dataset.name)
    services.archive.run_logged(event, lambda _: None)
    set_allowances(services, table.name, cap)


def _copy_views(ledger: Ledger, earlier: str, later: str) -> None:
    """Copy the views (named definitions of derived columns) of an account to the account that pays from now on.

    Views are public texts, so this costs no budget.

    Args:
        ledger: The ledger.
        earlier: Name of the account that has the views.
        later: Name of the account that gets them.
    """
    for name, definition in ledger.view_definitions(earlier).items():
        ledger.change_view(later, lambda _, view=(name, definition): view)  # type: ignore[misc]


def _close_account(services: Services, dataset: Dataset, new_limit: Amount) -> None:
    """Close the account of a dataset by charging its whole remaining budget; the charge pays for no answer.

    An account without remaining budget is closed already.

    Args:
        services: The services of the server.
        dataset: The latest version of the table's dataset.
        new_limit: The new budget, for the text of the charge.

    Raises:
        InvalidArgument: A question was paid meanwhile, so that less remains than is charged.
        LedgerBusy: Another process writes for too long; the account stays open.
    """
    name = dataset.account.dataset
    ledger = services.archive.ledger
    remaining = ledger.balance(name).remaining
    if not remaining.billionths:
        return
    try:
        ledger.charge(
            name, dataset.account.currency.to_loss(remaining.exact), purpose=f"closed: budget raised to {new_limit}",
            request=_closing_request(dataset.account), binding=sha256(b"closed").hexdigest(), units=dataset.units,
        )  # fmt: skip
    except LedgerBusy:
        raise
    except InvalidArgument:
        raise InvalidArgument(
            "amount", "nothing was raised, because a question was paid at the same time; raise the budget again"
        ) from None


def _list_balances(services: Services, dataset: Dataset) -> list[Balance]:
    """Return the balances of the accounts of a table, in the order of its versions; each account once.

    Args:
        services: The services of the server.
        dataset: Newest version of the data set, whose number is the number of versions.
    """
    versions = [services.datasets.get(MACHINE, dataset.name, version + 1) for version in range(dataset.version)]
    names = dict.fromkeys(version.account.dataset for version in versions)
    return [services.archive.ledger.balance(name) for name in names]


def _find_spent(services: Services, balance: Balance) -> int:
    """Return what an account paid for answers, in billionths of its currency. The charge that closed it is left out.

    Args:
        services: The services of the server.
        balance: Balance of the account.
    """
    grant = services.archive.ledger.find_grant(balance.account.dataset, _closing_request(balance.account))
    closing = 0 if grant is None else balance.account.currency.price(grant.loss).billionths
    return balance.spent.billionths - closing


def _closing_request(account: Account) -> str:
    """Return the request id under which an account is closed, once."""
    return f"close {account.dataset}"
