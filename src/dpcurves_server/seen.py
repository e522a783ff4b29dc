"""Author names of questions and models, shown to visitors who may see people."""

from __future__ import annotations

from dataclasses import replace

from .asked import Asked
from .visitors import Right, Subject, Visitor, may


def person_seen_by(who: Visitor, person: str, of: Subject) -> str:
    """The name of whoever asked or handed in, if it is one's own or one may see who is in the project; else nothing."""
    return person if person == who.name or may(who, Right.SEE_PEOPLE_OF_PROJECT, of) else ""


def as_seen_by(who: Visitor, asked: Asked) -> Asked:
    """A question without names of people and projects that a visitor may not see.

    A published release is seen by analysts of other projects: neither its project nor who asked is theirs to see.
    """
    of = asked.subject
    project = asked.project if may(who, Right.SEE_PROJECT, of) else ""
    return replace(asked, person=person_seen_by(who, asked.person, of), project=project)
