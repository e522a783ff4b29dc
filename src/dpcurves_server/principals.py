"""Role-based access control of a verification server: principals, roles, and the rights of each role.

A principal is a signed-in person, or a program with a person's token. Whether a principal has a right on a subject (a
dataset, or a project and its dataset) is decided in one place:

    has_right(who, right, subject) = who is the machine
                               or (who uses no token, or right is one of TOKEN_RIGHTS) and RULES[right](who, subject)

    operator     creates and locks accounts             auditor      sees budgets, questions and logs
    steward      manages datasets                       analyst      asks questions of a project

`require` raises the same error for hidden and for missing objects, so that names cannot be guessed.

>>> steward = Principal("ada", stewarded_datasets=frozenset({"visits"}))
>>> has_right(steward, Right.PUBLISH, Subject("visits")), has_right(steward, Right.PUBLISH, Subject("wages"))
(True, False)
"""

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
class Principal:
    """A signed-in person or the holder of a token, with their current roles.

    Attributes:
        name: The name of the account.
        is_operator: Whether they create and lock accounts.
        is_auditor: Whether they see the budgets, questions and logs of all datasets.
        stewarded_datasets: The datasets that they manage as steward.
        projects: The projects in which they are analysts; for a token, only the project it was made for.
        is_machine: Whether this is the administrator at the machine's command line, who has all rights.
        uses_token: Whether a program signs in with their token.
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
        """The roles that the principal has, in the order of `Role`."""
        flags = (self.is_operator, bool(self.stewarded_datasets), bool(self.projects), self.is_auditor)
        return tuple(role for role, has_role in zip(Role, flags, strict=True) if has_role)


MACHINE = Principal("the machine", is_machine=True)
"""Who acts at the command line of the server's machine: an administrator who has all rights, without an account."""


class Right(Enum):
    """A permission; the dataset or project it applies to is a `Subject`.

    The value of each member completes the error message "your role does not ...".
    """

    KEEP_PEOPLE = "allow you to create and lock accounts"
    NAME_KEEPERS = "allow you to appoint stewards and auditors or set their passwords: use the machine's command line"
    KEEP_DATASETS = "allow you to register datasets"
    PUT_SYNTHETIC = "allow you to propose synthetic tables for a dataset"
    CONFIRM_SYNTHETIC = "allow you to confirm synthetic tables that others proposed for a dataset"
    SEE_DATASETS = "allow you to list the datasets"
    KEEP_PROJECTS = "allow you to create projects and add analysts"
    SEE_PROJECT = "allow you to see a project"
    SEE_PEOPLE_OF_PROJECT = "allow you to see the analysts of a project"
    SET_BUDGETS = "allow you to set allowances of a dataset"
    SEE_BUDGETS = "allow you to see the budget of a dataset"
    SEE_OWN_BUDGET = "give you an allowance"
    ASK = "allow you to ask questions"
    SEE_QUESTIONS = "allow you to see the questions of a project"
    KEEP_QUEUE = "allow you to withdraw or retry questions"
    SEE_QUEUE = "allow you to see the questions of a dataset"
    SEE_RELEASES = "allow you to see the releases of a project"
    SEE_PUBLISHED = "allow you to see published releases"
    PUBLISH = "allow you to publish releases of a dataset"
    KEEP_TOKENS = "allow you to create tokens"
    SEE_LOG = "allow you to see the log of a dataset"
    AUDIT = "allow you to see the whole log and verify the chain"


@dataclass(frozen=True, slots=True)
class Subject:
    """The object of a permission: a project and its dataset, a dataset alone, or neither.

    Attributes:
        dataset: Name of the dataset; empty: none.
        project: Name of the project; empty: none.
    """

    dataset: str = ""
    project: str = ""


NO_SUBJECT = Subject()
"""Object of rights that are not about a dataset or a project, in the check of a right."""
Rule = Callable[[Principal, Subject], bool]
"""Function that returns True if a principal has a right on a subject."""


def _is_steward(who: Principal, subject: Subject) -> bool:
    """Return True if the principal is a steward of the subject's dataset.

    Args:
        who: The principal.
        subject: What the right is about: a project and its data set, or a data set alone.
    """
    return subject.dataset in who.stewarded_datasets


def _is_analyst(who: Principal, subject: Subject) -> bool:
    """Return True if the principal is an analyst of the subject's project.

    Args:
        who: The principal.
        subject: What the right is about: a project and its data set, or a data set alone.
    """
    return subject.project in who.projects


def _may_see_datasets(who: Principal, subject: Subject) -> bool:
    """Return True for auditors, stewards and analysts, for every subject.

    Args:
        who: The principal.
        subject: Without effect.
    """
    return who.is_auditor or bool(who.stewarded_datasets) or bool(who.projects)


RIGHT_RULES: Mapping[Right, Rule] = MappingProxyType(
    {
        Right.KEEP_PEOPLE: lambda who, of: who.is_operator,
        Right.NAME_KEEPERS: lambda who, of: False,
        Right.KEEP_DATASETS: lambda who, of: False,
        Right.PUT_SYNTHETIC: _is_steward,
        Right.CONFIRM_SYNTHETIC: lambda who, of: who.is_auditor or _is_steward(who, of),
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
"""The rule of each right: a function of the person and the dataset or project. The machine has all rights; a token has
rights in its project only."""
TOKEN_RIGHTS = frozenset(
    {
        Right.SEE_DATASETS, Right.SEE_PROJECT, Right.SEE_OWN_BUDGET, Right.ASK, Right.SEE_QUESTIONS,
        Right.SEE_RELEASES, Right.SEE_PUBLISHED,
    }
)  # fmt: skip
"""Rights of programs with a token: to ask and read; all others are denied. A stolen token cannot manage, publish or
make further tokens."""


def has_right(who: Principal, right: Right, subject: Subject = NO_SUBJECT) -> bool:
    """Return True if a principal has a right on a subject: the machine always, a token within its project only.

    Args:
        who: Principal whose rights are checked.
        right: The right.
        subject: The dataset or project; `NO_SUBJECT` for rights that are not about one.
    """
    if who.is_machine:
        return True
    return (not who.uses_token or right in TOKEN_RIGHTS) and RIGHT_RULES[right](who, subject)


def require(who: Principal, right: Right, subject: Subject = NO_SUBJECT) -> None:
    """Require that a principal has a right on a subject. A hidden object gives the same error as an absent one.

    Args:
        who: The principal.
        right: The right.
        subject: The dataset or project; `NO_SUBJECT` for rights that are not about one.

    Raises:
        ProtocolError: The principal does not have the right: "not found" (status 404) for a dataset or project, else
            status 403.
    """
    if has_right(who, right, subject):
        return
    if subject.project or subject.dataset:
        raise not_found("project" if subject.project else "dataset")
    raise ProtocolError("role", f"your role does not {right.value}; ask an operator for another role", 403)


def not_found(kind: str) -> ProtocolError:
    """Return the error (status 404) for an object that is absent or hidden; the text is the same, so it leaks nothing.

    Args:
        kind: The kind of object, such as ``project``.
    """
    return ProtocolError(
        kind,
        f"no {kind} of this name exists, or your account has no access; check the address, or ask the steward",
        404,
    )
