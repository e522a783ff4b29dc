"""Visitors, roles, and the rights of each role (access control)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from dpcurves_parties.serving.messages import ProtocolError


class Role(Enum):
    """The role of an account; an analyst is a member of a project."""

    OPERATOR = "operator"
    STEWARD = "steward"
    ANALYST = "analyst"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person who has signed in, or holds a token, with all that they may do at this moment.

    Attributes:
        name: Who it is.
        is_operator: Whether they make and lock accounts of people.
        is_auditor: Whether they see budgets, questions and the log of all datasets.
        stewarded_datasets: The datasets that they are stewards of.
        projects: The projects that they are analysts of; for a token, only the project it was made for.
        is_machine: Whether it is the administrator at the machine's own command line, who may do everything.
        uses_token: Whether a program holds a token of theirs.
    """

    name: str
    is_operator: bool = False
    is_auditor: bool = False
    stewarded_datasets: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    is_machine: bool = False
    uses_token: bool = False

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles, in the order in which they are listed."""
        held = (self.is_operator, bool(self.stewarded_datasets), bool(self.projects), self.is_auditor)
        return tuple(role for role, has in zip(Role, held, strict=True) if has)


MACHINE = Visitor("the machine", is_machine=True)


class Right(Enum):
    """A permission; its subject is passed beside it."""

    KEEP_PEOPLE = "make and lock accounts of people"
    NAME_KEEPERS = "name stewards and auditors, or give them passwords: that is done on the machine"
    KEEP_DATASETS = "make datasets"
    PUT_SYNTHETIC = "put synthetic tables beside a dataset"
    SEE_DATASETS = "see which datasets there are"
    KEEP_PROJECTS = "make projects of a dataset and admit people"
    SEE_PROJECT = "see a project"
    SEE_PEOPLE_OF_PROJECT = "see who is in a project"
    SET_BUDGETS = "set allowances of a dataset"
    SEE_BUDGETS = "see what all have spent of a dataset"
    SEE_OWN_BUDGET = "see one's own allowance"
    ASK = "ask questions"
    SEE_QUESTIONS = "see questions of a project"
    KEEP_QUEUE = "take questions back, or have them counted again"
    SEE_QUEUE = "see all questions of a dataset"
    SEE_RELEASES = "see releases of a project"
    SEE_PUBLISHED = "see published releases"
    PUBLISH = "publish releases of a dataset"
    KEEP_TOKENS = "make tokens"
    SEE_LOG = "see the log of a dataset"
    AUDIT = "see the whole log and verify the chain"


@dataclass(frozen=True, slots=True)
class Subject:
    """The object of a permission: a project and its dataset, a dataset alone, or neither."""

    dataset: str = ""
    project: str = ""


NOTHING = Subject()
Rule = Callable[[Visitor, Subject], bool]


def _is_steward(who: Visitor, subject: Subject) -> bool:
    return subject.dataset in who.stewarded_datasets


def _is_analyst(who: Visitor, subject: Subject) -> bool:
    return subject.project in who.projects


def _may_see_datasets(who: Visitor, subject: Subject) -> bool:
    return who.is_auditor or bool(who.stewarded_datasets) or bool(who.projects)


RULES: Mapping[Right, Rule] = MappingProxyType(
    {
        Right.KEEP_PEOPLE: lambda who, of: who.is_operator,
        Right.NAME_KEEPERS: lambda who, of: False,
        Right.KEEP_DATASETS: lambda who, of: False,
        Right.PUT_SYNTHETIC: _is_steward,
        Right.SEE_DATASETS: _may_see_datasets,
        Right.KEEP_PROJECTS: _is_steward,
        Right.SEE_PROJECT: lambda who, of: who.is_auditor or _is_steward(who, of) or _is_analyst(who, of),
        Right.SEE_PEOPLE_OF_PROJECT: lambda who, of: _is_steward(who, of) or _is_analyst(who, of),
        Right.SET_BUDGETS: _is_steward,
        Right.SEE_BUDGETS: lambda who, of: who.is_auditor or _is_steward(who, of),
        Right.SEE_OWN_BUDGET: _is_analyst,
        Right.ASK: _is_analyst,
        Right.SEE_QUESTIONS: lambda who, of: who.is_auditor or _is_steward(who, of) or _is_analyst(who, of),
        Right.KEEP_QUEUE: _is_steward,
        Right.SEE_QUEUE: lambda who, of: who.is_auditor or _is_steward(who, of),
        Right.SEE_RELEASES: lambda who, of: who.is_auditor or _is_steward(who, of) or _is_analyst(who, of),
        Right.SEE_PUBLISHED: _may_see_datasets,
        Right.PUBLISH: _is_steward,
        Right.KEEP_TOKENS: _is_analyst,
        Right.SEE_LOG: lambda who, of: who.is_auditor or _is_steward(who, of),
        Right.AUDIT: lambda who, of: who.is_auditor,
    }
)
"""Rights of each role, but for the machine, which has all. A token is never good for more than its own project."""
OF_TOKENS = frozenset(
    {
        Right.SEE_DATASETS, Right.SEE_PROJECT, Right.SEE_OWN_BUDGET, Right.ASK, Right.SEE_QUESTIONS,
        Right.SEE_RELEASES, Right.SEE_PUBLISHED,
    }
)  # fmt: skip


def may(who: Visitor, right: Right, subject: Subject = NOTHING) -> bool:
    """Tell whether a visitor has this right."""
    if who.is_machine:
        return True
    return (not who.uses_token or right in OF_TOKENS) and RULES[right](who, subject)


def require(who: Visitor, right: Right, subject: Subject = NOTHING) -> None:
    """Refuse who may not do this. What is not theirs to see looks as if it were not there. Raises `ProtocolError`."""
    if may(who, right, subject):
        return
    if subject.project or subject.dataset:
        raise not_found("project" if subject.project else "dataset")
    raise ProtocolError("role", f"yours does not {right.value}", 403)


def not_found(kind: str) -> ProtocolError:
    """The refusal of an object that is absent, or hidden from this visitor: both have the same words."""
    return ProtocolError(kind, "there is none of this name that is open to you", 404)
