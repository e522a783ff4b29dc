"""Allowances: the part of a dataset's cap that a project may spend, and that of a project's that an analyst may."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

from ..arguments import Refused
from ..privacy import PrivacyLoss
from .account import Account
from .amount import Amount
from .stored_text import require_digest, require_name

WHOLE_PROJECT = ""
"""Stands in a ledger where an allowance is the project's, and no analyst's."""


class Together(Enum):
    """The rule that says whether sibling allowances may add up to more than their parent."""

    WITHIN = "within"
    MAY_EXCEED = "may exceed"


class NoAllowance(Refused):
    """The charge was refused: the project or the analyst has no allowance."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a project may spend of a dataset, or an analyst within the project.

    It divides a budget among people and is no privacy guarantee, as they may share what they learn. The cap is.

    Attributes:
        dataset: Whose cap it is a part of.
        project: Who may spend it.
        most: How much; a ledger keeps whole billionths of it in the account's currency, rounded down.
        analyst: One of the project, who may spend it within the project's own allowance; None: all of them together.

    Raises:
        ValueError: a name is empty or cannot be printed.
    """

    dataset: str
    project: str
    most: PrivacyLoss
    analyst: str | None = None

    def __post_init__(self) -> None:
        require_name("project", self.project)
        if self.analyst is not None:
            require_name("analyst", self.analyst)

    def limit(self, account: Account) -> Amount:
        """The allowance in the account's currency.

        Raises:
            ValueError: it has none there, or is below 1e-9.
        """
        account.currency.price(self.most)  # refuses what has none
        limit = account.currency.limit(self.most)
        if limit.billionths < 1:
            raise Refused("allowance", f"at least 1e-9 is needed, got {self.most}")
        return limit


@dataclass(frozen=True, slots=True)
class Member:
    """An analyst of a project.

    Raises:
        ValueError: a name is empty or cannot be printed.
    """

    project: str
    analyst: str

    def __post_init__(self) -> None:
        require_name("project", self.project)
        require_name("analyst", self.analyst)

    def request(self, dataset: str, loss: PrivacyLoss, binding: str) -> str:
        """The id under which anybody of this project asks a question: the same question has the same one.

        >>> loss, question = PrivacyLoss.pure(1), "ab" * 32
        >>> ann, bob, eve = Member("delays", "ann"), Member("delays", "bob"), Member("noise", "eve")
        >>> ann.request("flights", loss, question) == bob.request("flights", loss, question)
        True
        >>> ann.request("flights", loss, question) == eve.request("flights", loss, question)
        False
        """
        require_digest("binding", binding)
        facts = ["dpcurves project request", dataset, self.project, str(loss.epsilon), str(loss.rho), binding]
        return sha256(json.dumps(facts).encode()).hexdigest()
