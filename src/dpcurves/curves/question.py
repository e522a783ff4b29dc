"""A question: it asks for noisy counts in one or more turns, and in the end computes a curve from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from ..arguments import Refused, require_kind
from ..privacy import PrivacyLoss
from ..queries import Query
from ..release import PrivacyStatement, Release, Setting
from ..workloads import Needs
from .notes import notes_on_missing

Curve = TypeVar("Curve", covariant=True)


class Question(Protocol[Curve]):
    """A question about a table. Its fields are public; two questions with the same repr ask the same.

    Formal guarantees: `steps` is a pure function of the fields, of the public setting and of the answers that it is
    sent (it stands behind the privacy wall, so it sees nothing else). It ends in a curve whatever is sent, for noise
    can send anything.
    """

    def steps(self, setting: Setting) -> Needs[Curve]:
        """Yield each set of counts that is needed, receive the releases, and in the end return the curve."""
        ...


@runtime_checkable
class Continued(Protocol):
    """A question that is charged for one release. Under one request, other questions about that release are free.

    Formal guarantees: if there is one, `steps` asks for nothing but what is paid as `paid_as`, with all of the loss.
    """

    @property
    def paid_as(self) -> Query | None:
        """The query that the request is charged for; None: the question itself."""
        ...


def paid_by(question: object) -> Query | None:
    """The query that a request with this question pays for; None: the question itself."""
    return question.paid_as if isinstance(question, Continued) else None


@runtime_checkable
class Forewarned(Protocol):
    """A question with notes that should be read before it is charged."""

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The notes, each in one line, from public facts alone."""
        ...


def statement_of(releases: Sequence[Release], model: str = "") -> PrivacyStatement:
    """The privacy statement of a curve that was read from these releases.

    Losses of the turns add up; what is said of the mechanism is said turn by turn, once where turns agree.

    Raises:
        TypeError: what is said of the model is no text.
    """
    require_kind("model", model, str, "a text")
    plans = [release.plan for release in releases]
    loss: PrivacyLoss = plans[0].loss
    for plan in plans[1:]:
        loss = loss + plan.loss
    trust, _, _ = plans[0].made_by.partition(": ")
    mechanisms = dict.fromkeys(plan.made_by.partition(": ")[2] for plan in plans)
    allotment = releases[0].allotment
    return PrivacyStatement.of(
        loss, plans[0].adjacency, trust=trust, mechanism="; ".join(mechanisms),
        seeded=any(release.seeded for release in releases),
        grant="" if allotment is None else allotment.request, model=model,
    ).noted(*notes_on_missing(releases))  # fmt: skip


def require_independent(privacy: PrivacyStatement) -> None:
    """Refuse statements on a population where units are not independent.

    Raises:
        ValueError: a unit has several records.
    """
    if privacy.rows_per_unit != 1:
        raise Refused("population", "independent units of one record each are needed (rows_per_unit=1)")
