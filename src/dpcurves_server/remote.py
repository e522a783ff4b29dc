"""Python client of a verification server: the same questions and results as with a local `Session`.

A `Session` counts a local table and charges a local privacy budget ledger. With `Remote`, the server does both, and the
table stays there:

    with Remote("https://server.example:8443", token) as remote:
        curve = remote.ask(question, PrivacyLoss.pure(1))

Plans (cost and expected error) are made by the client from the dataset's public schema. Refusals of the server are
raised as the same exceptions that a session raises.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any
from urllib.parse import quote

from dpcurves.arguments import InvalidArgument, ProtocolError, require_type
from dpcurves.conversation import Plans
from dpcurves.curves.question_json import question_to_json
from dpcurves.curves.result import result_from_json
from dpcurves.curves.view import View, parse_view_definitions
from dpcurves.data.axis import Predictor
from dpcurves.ledger import BudgetExceeded, Currency
from dpcurves.privacy import Adjacency, AdjacencyWithoutBound, Neighbours, PrivacyLoss, Unit
from dpcurves.session import plan_question, require_askable
from dpcurves_parties.serving.channel import Channel, make_ca_context
from dpcurves_parties.serving.identity import parse_host

API_PATH = "/api/1"
"""Path of the server's API that this client speaks; a server of another version of the API has another path."""
BUDGET_REFUSALS = ("allowance", "budget")
"""First words of a server's refusals that mean too small a remaining budget: they are raised as `BudgetExceeded`."""


class Remote:
    """Client of a verification server: asks questions for one project over HTTPS, under the project's budget.

    Args:
        url: The server's URL: ``https://host:port``.
        token: SECRET. An access token from the project's page.
        project: The project; None takes the token's.
        ca: The file of the server's certificate; None trusts this machine's certificate authorities.
        timeout: Seconds to wait for an answer, including time in the queue.

    Formal guarantees: the server's, which charges; the client opens no records.

    Raises:
        ValueError: the URL is not valid, the server cannot be reached, its certificate is not the expected one, or the
            token has expired.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        project: str | None = None,
        ca: str | PathLike[str] | None = None,
        timeout: float = 600.0,
    ) -> None:
        parse_host(url)
        authority = "this machine's authorities" if ca is None else str(ca)
        self._channel = Channel(
            url, make_ca_context(ca), identity_source=authority, renewal_advice="it needs a new one"
        )
        self._token = token
        self._patience = timeout
        try:
            self._project = project if project is not None else self._find_only_project()
            self._dataset = self._get("datasets", self._get("projects", self._project)["dataset"])
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"Remote({self._channel.url!r}, project={self._project!r})"

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the HTTP connection to the verification server."""
        self._channel.close()

    @property
    def datasets(self) -> Sequence[Mapping[str, Any]]:
        """Datasets of the server, one object each: its public schema, protected unit, and cap (largest total loss)."""
        entries: Sequence[Mapping[str, Any]] = self._get("datasets")
        return entries

    @property
    def adjacency(self) -> Adjacency | AdjacencyWithoutBound:
        """The neighbouring relation under which the project's dataset is released."""
        column = self._dataset["unit"] or ""
        rows = self._dataset["rows_per_unit"]
        unit = Unit.with_unknown_bound(column) if rows is None else Unit(column, rows)
        return Neighbours(self._dataset["adjacency"]).to_question_adjacency(unit, self._dataset["units"])

    @property
    def statement(self) -> Mapping[str, Any]:
        """The spent and the remaining part of your own allowance, of the project's, and of the dataset's cap.

        Raises:
            ValueError: You have no allowance in the project yet.
        """
        balance: Mapping[str, Any] | None = self._get("projects", self._project, "statement")["left"]
        if balance is None:
            raise InvalidArgument(
                "allowance",
                f"you have no allowance yet in project {self._project!r}; ask the steward of the dataset for one",
            )
        return balance

    @property
    def remaining(self) -> PrivacyLoss:
        """The loss that you may still spend: the least of allowance, project's allowance and cap.

        Raises:
            ValueError: You have no allowance in the project yet.
        """
        amount = self.statement["left"]
        if Currency(amount["currency"]) is Currency.EPSILON:
            return _parse_loss(amount["amount"], PrivacyLoss.pure)
        return _parse_loss(amount["amount"], PrivacyLoss.zcdp)

    @property
    def releases(self) -> Sequence[Mapping[str, Any]]:
        """The answered questions of the project, newest first.

        Returns:
            Status of each question as the server's JSON object, with ``id``, ``question``, ``loss`` and ``asked_at``.
        """
        entries: Sequence[Mapping[str, Any]] = self._get("projects", self._project, "releases")
        return entries

    @property
    def views(self) -> Mapping[str, View]:
        """The views of the project's dataset by name: ``views["employed"].apply(question)`` is a question on one."""
        definitions = self._get("datasets", self._dataset["name"], "views")
        return parse_view_definitions({name: json.dumps(view) for name, view in definitions.items()})

    def plan(self, question: Any, loss: PrivacyLoss) -> Plans:
        """Plan a question locally, from the public schema. Costs no budget.

        Args:
            question: The question.
            loss: The privacy loss to plan with.

        Returns:
            The plan of each round: its loss, noise and expected error.

        Raises:
            UnsupportedQuery, ValueError, TypeError: The question cannot be asked so.
        """
        return plan_question(question, loss, self.adjacency)

    def ask(self, question: Any, loss: PrivacyLoss) -> Any:
        """Ask a question and wait for its answer. A question that the project has asked before is free.

        Args:
            question: The question.
            loss: The privacy loss to spend; pure or zero-concentrated, as the dataset's account.

        Returns:
            The released curve, as `Session.ask` returns it.

        Raises:
            BudgetExceeded: The remaining budget is too small; nothing was charged.
            ProtocolError: No answer came in time. The question stays in the queue; ask again to get its answer.
            UnsupportedQuery, ValueError, TypeError: The question cannot be asked so.
        """
        loss = require_askable(question, loss).as_single_release()
        self.plan(question, loss)
        priced = {"epsilon": str(loss.epsilon)} if loss.epsilon is not None else {"rho": str(loss.rho)}
        question_json = self._post(
            "projects", self._project, "questions", message={"question": question_to_json(question), **priced}
        )
        return self.curve(self._wait_for_answer(question_json["id"]))

    def curve(self, release: str) -> Any:
        """Return the curve of a release of the project, or of a published one, by its id.

        Args:
            release: Identifier of the release.

        Returns:
            Result of the type that the question has, as `Session.ask` returns it.

        Raises:
            ProtocolError: The token's holder may see no release of this identifier.
        """
        return result_from_json(self.export(release, "json").decode())

    def export(self, release: str, ending: str) -> bytes:
        """Download a release from the server as a file: return its bytes.

        Args:
            release: Id of the release.
            ending: Format: ``json``, ``svg``, ``png``, ``csv``, ``xlsx`` or ``html``.

        Raises:
            ProtocolError: The token's holder may see no release of this identifier, or the format is unknown.
        """
        return self._channel.get(_build_path("releases", f"{release}.{ending}"), self._token)

    def add_model(self, model: Predictor) -> str:
        """Upload a model to the project, so that questions can use its predictions.

        Args:
            model: A `Scorecard` or `TreeEnsemble`.

        Returns:
            The digest of the model.
        """
        require_type("model", model, Predictor, "a Scorecard or TreeEnsemble")
        return str(self._post("projects", self._project, "models", message={"model": model.to_object()})["digest"])

    def _wait_for_answer(self, question: str) -> str:
        """Wait until a question is answered and published, at most for the timeout.

        Args:
            question: Id of the question.

        Returns:
            The same id, which is also the id of the release.

        Raises:
            BudgetExceeded: The remaining budget is too small.
            InvalidArgument: The server refused the question for another reason.
            ProtocolError: No answer came in time.
        """
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            status = self._get("questions", question)
            if status["state"] == "answered":
                return question
            if status["state"] == "refused":
                raise _refusal_from_line(str(status["refusal"]))
            time.sleep(0.25)  # seconds; the server publishes less often
        raise ProtocolError(
            "server", f"no answer came in {self._patience:g} seconds; ask again, which costs nothing", 504
        )

    def _find_only_project(self) -> str:
        """Return the name of the project to ask for, if the token's person has exactly one.

        Raises:
            InvalidArgument: The token has several projects or none.
        """
        projects = self._get("me")["projects"]
        if len(projects) != 1:
            raise InvalidArgument(
                "project",
                f"name the project that asks, one of: {', '.join(projects)}"
                if projects
                else "your account is in no project; ask a steward to add it",
            )
        return str(projects[0])

    def _get(self, *segments: str) -> Any:
        """Return the JSON value that the server answers to GET of a path, given by its segments below `API_PATH`.

        Raises:
            ProtocolError: The server refused the request, or cannot be reached.
        """
        return json.loads(self._channel.get(_build_path(*segments), self._token))

    def _post(self, *segments: str, message: Mapping[str, Any]) -> Any:
        """Return the JSON value that the server answers to POST of a message.

        Args:
            *segments: Segments of the path below `API_PATH`.
            message: Fields of the message.

        Raises:
            ProtocolError: The server refused the request, or cannot be reached.
        """
        body = json.dumps(message).encode()
        return json.loads(self._channel.post(_build_path(*segments), body, self._token, "application/json"))


def _build_path(*segments: str) -> str:
    """Return the path of an API route from its segments, each percent-encoded.

    >>> _build_path("projects", "a/b")
    '/api/1/projects/a%2Fb'
    """
    return "/".join((API_PATH, *(quote(segment, safe="") for segment in segments)))


def _refusal_from_line(line: str) -> InvalidArgument | BudgetExceeded:
    """Return a refusal of the server as the exception that a local session would raise.

    Args:
        line: The refusal, as ``argument: rule``.
    """
    argument, _, rule = line.partition(": ")
    return BudgetExceeded(argument, rule) if argument in BUDGET_REFUSALS else InvalidArgument(argument, rule)


def _parse_loss(amount: str, build: Any) -> PrivacyLoss:
    """Parse an amount of budget from the server as a privacy loss.

    Args:
        amount: The amount in digits, at least 0.
        build: Constructor of the loss of a positive amount: `PrivacyLoss.pure` or `PrivacyLoss.zcdp`.

    Returns:
        The loss; a loss of zero for 0.
    """
    loss: PrivacyLoss = build(amount) if float(amount) > 0 else PrivacyLoss(Fraction(0), Fraction(0))
    return loss
