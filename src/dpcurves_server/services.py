"""Service layer of a verification server, which its HTML pages, its API and its commands share.

A verification server answers questions about confidential tables under differential privacy. `Services(url)` opens its
database and has one attribute for each group of functions:

    people, sessions, tokens           accounts and roles, browser sessions, API tokens
    datasets, projects, synthetic      data sets with their budgets, projects with their allowances, synthetic tables
    questions, stewardship, releases   plans and the queue, waiting questions, released answers
    models, audit, studio              predictive models, the audit log, plots

Each method takes the caller first and checks the caller's rights. Services open no confidential records. Worker
processes do, after the privacy loss of a question was charged (`worker`).
"""

from __future__ import annotations

from collections.abc import Callable

from .audit_log import AuditLog
from .datasets import Datasets
from .people import PasswordHasherPool, People, Sessions, Tokens
from .projects import Projects
from .questions import Questions
from .queue import Stewardship
from .releases import Models, Releases
from .renderer import Renderer
from .store import Archive
from .synthetic import SyntheticTables


class Services:
    """All services of one server, over one database.

    Args:
        url: The database: ``sqlite:///server.db``, or ``postgresql+psycopg://...``. It holds ledger and queue.
        notify: Function that is called without arguments when there is work for worker processes.

    Attributes:
        archive: The database.
        people: Accounts and roles.
        sessions: Browser sessions.
        tokens: API tokens.
        datasets: Datasets and their budgets.
        projects: Projects and their allowances.
        questions: Plans, the queue, and the status of questions.
        stewardship: Stewards' actions on waiting questions.
        releases: Released answers.
        models: Predictive models of projects.
        synthetic: Synthetic tables of datasets.
        audit: The audit log.
        studio: The renderer of plots: sketches of questions, and comparisons of answers.
    """

    def __init__(self, url: str, notify: Callable[[], object] = int) -> None:
        self.archive = Archive(url)
        passwords = PasswordHasherPool()
        self.people = People(self.archive, passwords)
        self.sessions = Sessions(self.archive, passwords)
        self.tokens = Tokens(self.archive)
        self.datasets = Datasets(self.archive)
        self.projects = Projects(self.archive)
        self.questions = Questions(self.archive, self.datasets, self.projects, notify)
        self.stewardship = Stewardship(self.archive, self.questions, notify)
        self.releases = Releases(self.archive)
        self.models = Models(self.archive)
        self.audit = AuditLog(self.archive)
        self.synthetic = SyntheticTables(self.archive, self.datasets)
        self.studio = Renderer()
