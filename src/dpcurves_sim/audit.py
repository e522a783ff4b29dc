"""Invariant checks of a privacy budget ledger in a simulated run: what it acknowledged must stay in its database.

The ledger charges the privacy loss of each request to an account with a cap. `LedgerAudit` is a model of it: the
simulated processes report which replies they received (`acknowledge_charge`, `acknowledge_answer`) and which values
they published (`show`). After every commit the database must satisfy

    account      spent = sum of its grants <= cap
    allowance    spent = sum of its payments <= limit
    charge       one grant for each request; acknowledged grants stay, with their amount
    answer       belongs to a grant; acknowledged answers stay unchanged
    shown        one value for each name, whose request is paid

A failure raises `Violation`, which ends the run. If a schedule restores an older copy of the ledger on purpose, the
model forgets what that copy lacks (`forget_later`).
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

from .disk import SimulatedDisk
from .world import Violation, World


class LedgerAudit:
    """Comparison of a ledger's file with the replies that processes received, whenever a transaction ends.

    Nothing is charged beyond a cap or an allowance, each request is charged once, acknowledged charges and answers stay
    as they are, and each shown value is paid and never changes.

    Args:
        world: The simulated world; `check` becomes one of its invariants.
        path: The SQLite file of the ledger.
        disk: The simulated disk, which counts commits, so that an unchanged file is not read again.

    Attributes:
        charges: Acknowledged amount of each request, in billionths.
        answers: Acknowledged answer of each (request, round, part).
        shown: Shown value of each name.
        is_stale: Whether an older copy of the ledger is in place, so that nothing is compared.
    """

    def __init__(self, world: World, path: Path, disk: SimulatedDisk) -> None:
        """Prepare to compare a simulated ledger with a model of what it must contain.

        Args:
            world: The simulated world.
            path: File of the ledger's database.
            disk: Simulated disk on which the file lies.
        """
        self._path, self._disk = path, disk
        self._seen = -1
        self.charges: dict[str, int] = {}
        self.answers: dict[tuple[str, int, int], str] = {}
        self.shown: dict[Hashable, Hashable] = {}
        self.is_stale = False
        world.invariants.append(self.check)

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of an SQL query on the committed state of the ledger.

        Args:
            query: SQL with question marks for parameters.
            values: Values of the parameters, in order.
        """
        return self._disk.read(self._path, query, *values)

    def check(self) -> None:
        """Check all invariants of the ledger, if anything was written since the last check.

        Raises:
            Violation: An invariant does not hold.
        """
        if self.is_stale or self._disk.commits == self._seen:
            return
        self._seen = self._disk.commits
        self.check_now()

    def check_now(self) -> None:
        """Check all invariants of the ledger, even if nothing was written.

        Raises:
            Violation: An invariant does not hold, or the file is gone after a charge was acknowledged.
        """
        with self._disk.read_snapshot(self._path) as exists:
            if exists:
                self._compare()
            elif self.charges or self.answers:
                raise Violation("the ledger is gone, with acknowledged charges")

    def _compare(self) -> None:
        """Check all invariants of the ledger: that it contains what was acknowledged; in an open snapshot of the
        database.

        Raises:
            Violation: An invariant does not hold; the text names it.
        """
        grants = self._read("SELECT request, dataset, amount, entry FROM dpcurves_grants")
        amounts = {request: amount for request, _, amount, _ in grants}
        if len(amounts) < len(grants):
            raise Violation("a request was charged twice")
        spent_by_dataset: dict[str, int] = {}
        for _, dataset, amount, _ in grants:
            spent_by_dataset[dataset] = spent_by_dataset.get(dataset, 0) + amount
        for dataset, cap, spent in self._read("SELECT dataset, cap, spent FROM dpcurves_accounts"):
            if spent != spent_by_dataset.get(dataset, 0):
                raise Violation(f"{dataset}: {spent} billionths are spent, and grants add up to another amount")
            if spent > cap:
                raise Violation(f"{dataset}: more is spent than the cap")
        self._check_allowances()
        for request, amount in self.charges.items():
            if amounts.get(request) != amount:
                raise Violation(f"the acknowledged charge of {request!r} is missing")
        self._check_answers({entry: request for request, _, _, entry in grants})

    def _check_allowances(self) -> None:
        """Compare the spent amount of each allowance with its payments and its limit.

        Raises:
            Violation: An allowance has spent another amount than its payments, or more than its limit.
        """
        query = (
            "SELECT a.project, a.analyst, a.cap, a.spent, (SELECT coalesce(sum(p.amount), 0) FROM dpcurves_payments p"
            "  WHERE p.dataset = a.dataset AND p.project = a.project AND a.analyst IN ('', p.analyst))"
            " FROM dpcurves_allowances a WHERE a.entry = (SELECT max(b.entry) FROM dpcurves_allowances b"
            "  WHERE (b.dataset, b.project, b.analyst) = (a.dataset, a.project, a.analyst))"
        )
        for project, analyst, cap, spent, paid in self._read(query):
            if spent != paid or spent > cap:
                raise Violation(f"{analyst or project} has spent {spent} of {cap} billionths, and payments are {paid}")

    def _check_answers(self, names: dict[int, str]) -> None:
        """Compare the stored answers with the acknowledged ones.

        Args:
            names: Request id of each grant, by its entry number.

        Raises:
            Violation: An answer has no grant, or an acknowledged one is missing or changed.
        """
        stored = {}
        for grant, round_number, part, answer in self._read(
            'SELECT "grant", round, part, answer FROM dpcurves_answers'
        ):
            if grant not in names:
                raise Violation("an answer is stored without a charge")
            stored[names[grant], round_number, part] = answer
        for key, answer in self.answers.items():
            if stored.get(key) != answer:
                raise Violation(f"the acknowledged answer {key} is missing or was changed")

    def forget_later(self) -> None:
        """Remove from the model what an older copy of the ledger's file lacks, after such a copy was restored on
        purpose.

        These are all shown values, and later acknowledged charges and answers.
        """
        grants = {request for (request,) in self._read("SELECT request FROM dpcurves_grants")}
        answers = {(request, round_number, part) for request, round_number, part in self._read(
            'SELECT g.request, a.round, a.part FROM dpcurves_answers a JOIN dpcurves_grants g ON a."grant" = g.entry'
        )}  # fmt: skip
        self.charges = {request: amount for request, amount in self.charges.items() if request in grants}
        self.answers = {key: answer for key, answer in self.answers.items() if key in answers}
        self.shown.clear()

    def acknowledge_charge(self, request: str, amount: int) -> None:
        """Record in the model that a process was told that its request is paid, and check the ledger's charge.

        Args:
            request: Request id.
            amount: Amount in billionths.

        Raises:
            Violation: The ledger lacks the charge, or the request was charged another amount before.
        """
        rows = self._read("SELECT amount FROM dpcurves_grants WHERE request = ?", request)
        if not rows and not self.is_stale:
            raise Violation(f"a charge of {request!r} was acknowledged before it was committed")
        if self.charges.setdefault(request, amount) != amount:
            raise Violation(f"{request!r} was charged {amount}, and {self.charges[request]} before")

    def show(self, name: Hashable, value: Hashable, request: str) -> None:
        """Record in the model that a process publishes a value, and check that it is paid and always the same.

        Args:
            name: Name of the value, such as a release and its part; its value must never change.
            value: The value.
            request: Id of the request that pays for it.

        Raises:
            Violation: The request is not paid, or another value was shown under this name.
        """
        if not self._read("SELECT entry FROM dpcurves_grants WHERE request = ?", request):
            raise Violation(f"{name} was shown before it was paid")
        if self.shown.setdefault(name, value) != value:
            raise Violation(f"{name} was shown twice, with different noise")

    def acknowledge_answer(self, request: str, round_number: int, part: int, answer: str) -> None:
        """Record in the model that a process received a stored answer, and check that it is stored and always the same.

        Args:
            request: Request id.
            round_number: Round of the question.
            part: Part of the round.
            answer: The answer as it is stored.

        Raises:
            Violation: The answer is not stored, or another one was given before.
        """
        if self.answers.setdefault((request, round_number, part), answer) != answer:
            raise Violation(f"answer {round_number} of {request!r} was given twice, with different noise")
        query = (
            'SELECT answer FROM dpcurves_answers a JOIN dpcurves_grants g ON a."grant" = g.entry'
            " WHERE g.request = ? AND a.round = ? AND a.part = ?"
        )
        if self._read(query, request, round_number, part) != [(answer,)]:
            raise Violation(f"answer {round_number} of {request!r} was given before it was stored")

    def count_entries(self) -> int:
        """Return the number of entries of the ledger; 0 before the first."""
        rows = self._read("SELECT entries FROM dpcurves_book")
        return int(rows[0][0]) if rows else 0
