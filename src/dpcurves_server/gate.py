"""The gate: all that a server does for people, in one place. Each method asks who wants it, and refuses the others."""

from __future__ import annotations

from collections.abc import Callable

from .datasets import Datasets
from .models import Models
from .people import Passwords, People
from .projects import Projects
from .questions import Questions
from .queue import Stewardship
from .releases import Releases
from .sessions import Sessions, Tokens
from .store import Archive, Audit
from .studio import Studio
from .synthetic import SyntheticTables


class Gate:
    """The services of one server, over one database. It opens no records.

    Args:
        url: The store: ``sqlite:///server.db``, or ``postgresql+psycopg://...``. Ledger and queue lie in it.
        call: What is told when there is something to do for workers.

    Attributes:
        people: Accounts and roles.
        sessions, tokens: Who is signed in.
        datasets: What there is to ask, and what was spent of it.
        projects: Who asks together, and their allowances.
        questions: Plans, the queue, and where questions stand.
        stewardship: What stewards do about questions that wait.
        releases: Answers.
        models: What analysts handed in.
        synthetic: Tables that stand beside the confidential ones.
        audit: Who did what.
        studio: Where sketches and comparisons are drawn.
    """

    def __init__(self, url: str, call: Callable[[], object] = int) -> None:
        self.archive = Archive(url)
        passwords = Passwords()
        self.people = People(self.archive, passwords)
        self.sessions, self.tokens = Sessions(self.archive, passwords), Tokens(self.archive)
        self.datasets, self.projects = Datasets(self.archive), Projects(self.archive)
        self.questions = Questions(self.archive, self.datasets, self.projects, call)
        self.stewardship = Stewardship(self.archive, self.questions, call)
        self.releases, self.models, self.audit = Releases(self.archive), Models(self.archive), Audit(self.archive)
        self.synthetic, self.studio = SyntheticTables(self.archive), Studio()
