"""Filters and expressions on the server: thirty questions over HTTP, and declared columns alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from asgi import asked
from questions_of_practice import LOSS, QUESTIONS, make_document, make_frame, require_equal
from scene import PASSWORD

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_from_json
from dpcurves.curves.result import result_from_json
from dpcurves.ledger import Account
from dpcurves.privacy import EACH_RECORD
from dpcurves_server import MACHINE, Role, Services
from dpcurves_server.api import PREFIX
from dpcurves_server.authentication import COOKIE, CSRF_HEADER, Authenticator
from dpcurves_server.datasets import Relation, Source
from dpcurves_server.declared_columns import UNKNOWN_DATES, Declared
from dpcurves_server.launch import create_app
from dpcurves_server.people import RateLimiter
from dpcurves_server.planner import require_declared as refuse_undeclared
from dpcurves_server.queue import Queue
from dpcurves_server.worker import Worker

BUDGET = dp.PrivacyLoss.pure(10**9)
DATASET: Any = SimpleNamespace(
    name="visits", columns=(dp.NumericColumn("age", 0, 100), dp.Categories("sex", ("F", "M")))
)


def declare_columns(frame: pd.DataFrame) -> tuple[Declared, ...]:
    """Return a schema of the frame: texts and truth values as categories, dates of an unknown range, other numbers."""
    texts = [dp.Categories(name, tuple(frame[name].dropna().unique())) for name in ("sex", "region", "code")]
    dates = [dp.NumericColumn(name, *UNKNOWN_DATES) for name in ("diagnosed", "admitted")]
    numbers = [dp.NumericColumn(name, -1e6, 1e6) for name in frame.columns if frame[name].dtype.kind in "if"]
    return (*texts, dp.Categories("insured", (True, False)), *dates, *numbers)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("part", range(3))
def test_thirty_questions_of_practice_over_http_equal_pandas(part: int, tmp_path: Path) -> None:
    frame = make_frame()
    frame.to_parquet(tmp_path / "people.parquet")
    url = f"sqlite:///{tmp_path / 'server.db'}"
    services = Services(url)
    for name in ("ann", "stu"):
        services.people.add(MACHINE, name, PASSWORD)
    account = Account("people", dp.ADD_REMOVE, EACH_RECORD, BUDGET)
    source, columns = Source(str(tmp_path / "people.parquet")), declare_columns(frame)
    services.datasets.add(MACHINE, account, source, columns, name="people", relation=Relation.FIRST, units=None)
    services.people.give_role(MACHINE, "stu", Role.STEWARD, "people")
    steward = services.sessions.begin_session("stu").principal
    services.projects.make(steward, "practice", "people")
    services.projects.add_member(steward, "practice", "ann")
    services.projects.set_allowance(steward, "practice", BUDGET)
    services.projects.set_allowance(steward, "practice", BUDGET, "ann")
    app = create_app(Authenticator(services, anonymous_rate=RateLimiter(10**4), principal_rate=RateLimiter(10**4)))
    session = services.sessions.begin_session("ann")
    signed_in = {"cookie": f"{COOKIE}={session.cookie}", CSRF_HEADER: session.csrf}
    ids = {}
    asked_for = list(QUESTIONS)[part::3]
    for name in asked_for:
        message = {"question": make_document(name), "epsilon": str(LOSS.epsilon)}
        answer = asked(app, "POST", f"{PREFIX}/projects/practice/questions", message, signed_in)
        assert answer.status == 202, (name, answer.text)
        ids[name] = answer.json["id"]
    worker = Worker(url, "one")
    for _ in asked_for:
        assert worker.work_once()
    Queue(services.archive).publish_states()
    for name, id in ids.items():
        answer = asked(app, "GET", f"{PREFIX}/releases/{id}.json", headers=signed_in)
        assert answer.status == 200, (name, answer.text)
        curve = result_from_json(answer.text)
        require_equal(curve, frame, name)
        assert curve.privacy.where == (question_from_json(make_document(name)).where or "")


def require_declared(question: Any) -> None:
    plans = dp.plan_question(question, dp.PrivacyLoss.pure(1), dp.ADD_REMOVE.to_adjacency(dp.EACH_RECORD, None))
    refuse_undeclared(plans, DATASET.name, DATASET.columns)


def test_declared_columns_are_read_in_filters_and_expressions() -> None:
    grid = dp.Grid(0, 50, cells=5)
    require_declared(dp.HistogramQuestion("age / 2", grid, where="sex = 'F' OR age > 30"))
    require_declared(dp.CountQuestion(by=dp.Categories("sex", ("F",)), where="age > 30"))
    for question in (
        dp.HistogramQuestion("age", grid, where="name = 'x'"),
        dp.HistogramQuestion("age / income", grid),
        dp.CountQuestion(where="income > 3"),
        dp.MeanQuestion("age", 0, 100, where="lower(name) = 'x'"),
    ):
        with pytest.raises(InvalidArgument, match="declares no column '(name|income)'"):
            require_declared(question)
