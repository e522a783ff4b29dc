"""Planning a question without data, and asking it: what each turn costs, and under which request it is charged."""

from __future__ import annotations

from collections.abc import Callable, Generator
from hashlib import sha256
from typing import TypeVar

from .arguments import Refused, WrongKind, require_kind, shown
from .conversation import Plan, Plans, Release, Setting, Step
from .curves import Question
from .curves.question import Forewarned, paid_by
from .fingerprints import fingerprint, former
from .ledger import Allotment, Currency, Member, QuestionBudget
from .ledger.amount import LARGEST_AMOUNT
from .privacy import Adjacency, PrivacyLoss
from .queries import Query
from .trust import Central, Planner, conversation

Curve = TypeVar("Curve")


def rehearse(question: Question[Curve], loss: PrivacyLoss, adjacency: Adjacency, trust: Planner | None = None) -> Plans:
    """Plan a question: what it would cost, and with which error it would be answered. Touches no data and no ledger.

    The plans, turn by turn; their `notes` should be read before the question is charged.

    >>> import dpcurves as dp
    >>> adjacency = dp.REPLACE_ONE.among(dp.EACH_RECORD, units=1_000_000)
    >>> (plan,) = dp.rehearse(dp.CdfQuestion("age", dp.Grid(0, 100, cells=1024)), dp.PrivacyLoss.pure(1), adjacency)
    >>> plan.error < 19
    True
    """
    loss = require_askable(question, loss).of_one_release()
    model: Planner = trust if trust is not None else Central()
    budget = QuestionBudget.rehearsing(loss)
    plans: list[Plan] = []

    def blank(step: Step, allotment: Allotment) -> Release:
        plans.append(model.turn(step.query, allotment.loss, adjacency))
        return Release.rehearsed(plans[-1])

    pay_and_converse(question, adjacency, model, budget, blank)
    if budget.left != 0:
        raise Refused("question", f"the shares of a question add up to 1; {budget.left} of this one is left")
    return Plans(plans, question.plan_notes(Setting(loss, adjacency)) if isinstance(question, Forewarned) else ())


def pay_and_converse(
    question: Question[Curve],
    adjacency: Adjacency,
    trust: Planner,
    budget: QuestionBudget,
    reply: Callable[[Step, Allotment], Release],
) -> Curve:
    """Pay for each step and send it its reply, until the curve is read: all who ask, and rehearsals, do it so."""

    def paid(step: Step) -> Release:
        _require_paid(question, step)
        return reply(step, budget.pay(step.query.paid_as, step.share))

    return converse(conversation(question, budget.grant.loss, adjacency, trust), paid)


def converse(steps: Generator[Step, Release, Curve], reply: Callable[[Step], Release]) -> Curve:
    """Send each step its reply, until the curve is read."""
    try:
        step = next(steps)
        while True:
            step = steps.send(reply(step))
    except StopIteration as end:
        curve: Curve = end.value
        return curve


def request_of(
    member: Member, question: object, loss: PrivacyLoss, adjacency: Adjacency, dataset: str, *, about: str = ""
) -> str:
    """Under which request `Session.charge_for` charges: the same for whoever of a project asks the same."""
    loss = loss.of_one_release()
    return member.request(dataset, loss, binding_of(question, loss, adjacency, dataset, about))


def binding_of(question: object, loss: PrivacyLoss, adjacency: Adjacency, dataset: str, about: str = "") -> str:
    """The hash of all that a request stands for; `about` is what else tells it from others."""
    return fingerprint(_paid(question), loss, dataset, adjacency, about)


def former_binding(question: object, loss: PrivacyLoss, adjacency: Adjacency, dataset: str, about: str = "") -> str:
    """The hash of the same that ledgers of before hold."""
    facts = (former(_paid(question)), former(loss), dataset, former(adjacency), *([about] if about else ()))
    return sha256("\n".join(facts).encode()).hexdigest()


def _paid(question: object) -> object:
    """The thing that a request pays for: the question itself, or the counts that it reads."""
    return paid_by(question) or question


def _require_paid(question: object, step: Step) -> None:
    """A request that stands for one thing pays for no other, and only our own queries say what they stand for."""
    room = Query.__module__.rpartition(".")[0]
    if type(step.query).__module__.rpartition(".")[0] != room:
        raise WrongKind("question", f"one of the queries of dpcurves.data is needed, not a {type(step.query).__name__}")
    if paid_by(question) not in (None, step.query.paid_as):
        raise Refused("question", "it asks for something else than it says it pays for")


def require_askable(question: object, loss: PrivacyLoss) -> PrivacyLoss:
    """Refuse what is no question, and a loss that is none or that no budget holds.

    Raises:
        TypeError, ValueError: says which.
    """
    if isinstance(question, type) or not hasattr(question, "steps"):
        raise WrongKind("question", f"a question, as CdfQuestion(column, grid), is needed, got {shown(question)}")
    require_kind("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    if Currency.of(loss).limit(loss).billionths > LARGEST_AMOUNT:
        raise Refused("loss", "no budget is above 1e9, and this is")
    return loss
