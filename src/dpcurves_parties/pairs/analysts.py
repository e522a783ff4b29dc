"""Clients of analysts of pairs: of people's relay server, and of two servers."""

from __future__ import annotations

import json

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.conversation import ALL
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.result import warn_of
from dpcurves.ledger import QuestionBudget

from ..serving.channel import PATIENCE, Channel
from ..serving.messages import UNLIKE, ProtocolAborted, facts_of
from ..serving.task_document import Ticket
from ..serving.two_servers.kinds import VERSION, Asked
from ..serving.two_servers.owner import require_task
from .attendance import octets_of
from .promise import Agreement
from .readings import pair_statistic
from .release import told
from .service import PairQuestions
from .session import PairsOf
from .task import PairTask


def ask_people(task: PairTask, ticket: Ticket, patience: float = PATIENCE) -> UStatistic:
    """The mean over the pairs that have come by now. Nothing is spent: devices have paid for what they said.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolAborted: the server refuses or can not be reached, or its answer is none; or no pair has come.
    """
    if ticket.task != task.hash:
        raise ProtocolAborted("ticket", "it is of another task")
    (server,) = task.servers
    channel = Channel.to(server.url, server.certificate, patience)
    try:
        message = channel.post(f"/tasks/{task.hash}/answers", json.dumps({}).encode(), ticket.token)
    finally:
        channel.close()
    answer = facts_of(message, "server", task=str, seed=str, came=str, values=list)
    if answer["task"] != task.hash or any(type(value) is not int for value in answer["values"]):
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502)
    pairs = _came(task.shown(octets_of(answer["seed"])), answer["came"])
    allotment = QuestionBudget.told(task.hash, task.loss.of_one_release()).pay(task.query, ALL)
    found = pair_statistic(told(task.plan(task.people), pairs, answer["values"], allotment))
    warn_of(found)
    return found


def _came(agreed: Agreement, digits: str) -> IntArray:
    """The pairs that came, of those that the seed has drawn."""
    octets = np.frombuffer(octets_of(digits), np.uint8)
    many = len(agreed.meetings)
    if len(octets) != -(-many // 8):
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502)
    came = np.unpackbits(octets, count=many, bitorder="little").astype(np.bool_)
    return np.array([meeting.people for meeting in agreed.meetings], dtype=np.int64)[came]


def ask_pairs(task: PairTask, ticket: Ticket, party: int = 0, patience: float = PATIENCE) -> UStatistic:
    """The mean over pairs, as two servers tell it: asked again, it is the same.

    Who is paired with whom is worked out here as well, from the seed that the servers show.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolAborted: the servers refuse or can not be reached, or an answer is not to what was asked.
    """
    require_task(ticket, task)
    server = Channel.to(task.servers[party].url, task.servers[party].certificate, patience)
    try:
        pairs = _closed(task, server.get(f"/tasks/{task.hash}"))
        asked = Asked.fresh(PairQuestions(task), ())
        answer = asked.answer(server.post(f"/tasks/{task.hash}/answers", asked.to_json(), ticket.token), "server")
    finally:
        server.close()
    if answer.reports != pairs.people:
        raise ProtocolAborted("server", "it answers from another set of reports than before", 502)
    allotment = QuestionBudget.told(task.hash, task.loss.of_one_release()).pay(task.query, ALL)
    found = pair_statistic(told(pairs.plan, pairs.pairs, answer.numbers, allotment))
    warn_of(found)
    return found


def _closed(task: PairTask, message: bytes) -> PairsOf:
    """Pairs of a closed task, from the state that a server told."""
    told = facts_of(message, "server", task=str, version=int, state=str, reports=int)
    if (told["task"], told["version"]) != (task.hash, VERSION):
        raise ProtocolAborted("server", "it is of another task or version", 502)
    seed = told.get("seed")
    if told["state"] != "closed" or not isinstance(seed, str):
        raise ProtocolAborted("task", "it is not closed yet: dpcurves task close", 409)
    try:
        return PairsOf(task, told["reports"], bytes.fromhex(seed))
    except ValueError:
        raise ProtocolAborted("server", "it shows no seed", 502) from None
