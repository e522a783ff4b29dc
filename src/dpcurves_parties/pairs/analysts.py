"""Clients of analysts of pairs: of people's relay server, and of two servers."""

from __future__ import annotations

import json

import numpy as np

from dpcurves.conversation import ALL, Release
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.result import warn_of
from dpcurves.ledger import QuestionBudget

from ..serving.channel import PATIENCE, Channel
from ..serving.messages import UNLIKE, ProtocolAborted, facts_of
from ..serving.task_document import Ticket
from ..serving.two_servers.kinds import Asked, NotClosed, closed_standing
from ..serving.two_servers.owner import require_task
from .attendance import octets_of
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
    require_task(ticket, task)
    (server,) = task.servers
    with Channel.to(server.url, server.certificate, patience) as channel:
        message = channel.post(f"/tasks/{task.hash}/answers", json.dumps({}).encode(), ticket.shown_to(0))
    answer = facts_of(message, "server", task=str, seed=str, came=str, values=list)
    if answer["task"] != task.hash or any(type(value) is not int for value in answer["values"]):
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502)
    agreed = task.shown(octets_of(answer["seed"]))
    octets, many = np.frombuffer(octets_of(answer["came"]), np.uint8), len(agreed.meetings)
    if len(octets) != -(-many // 8):
        raise ProtocolAborted("server", f"its answer {UNLIKE}", 502)
    came = np.unpackbits(octets, count=many, bitorder="little").astype(np.bool_)
    pairs = np.array([meeting.people for meeting in agreed.meetings], dtype=np.int64)[came]
    allotment = QuestionBudget.told(task.hash, task.loss.of_one_release()).pay(task.query, ALL)
    return _read(told(task.plan(task.people), pairs, answer["values"], allotment))


def _read(release: Release) -> UStatistic:
    found = pair_statistic(release)
    warn_of(found)
    return found


def ask_pairs(task: PairTask, ticket: Ticket, party: int = 0, patience: float = PATIENCE) -> UStatistic:
    """The mean over pairs, as two servers tell it: asked again, it is the same.

    Who is paired with whom is worked out here as well, from the seed that the servers show.

    Warns:
        CurveWarning: each of its `notes`.

    Raises:
        ProtocolAborted: the servers refuse or can not be reached, or an answer is not to what was asked.
    """
    require_task(ticket, task)
    with Channel.to(task.servers[party].url, task.servers[party].certificate, patience) as server:
        pairs = _closed(task, server.get(f"/tasks/{task.hash}"))
        asked = Asked.fresh(PairQuestions(task), ())
        message = server.post(f"/tasks/{task.hash}/answers", asked.to_json(), ticket.shown_to(party))
        answer = asked.answer(message, "server")
    if answer.reports != pairs.people:
        raise ProtocolAborted("server", "it answers from another set of reports than before", 502)
    allotment = QuestionBudget.told(task.hash, task.loss.of_one_release()).pay(task.query, ALL)
    return _read(told(pairs.plan, pairs.pairs, answer.numbers, allotment))


def _closed(task: PairTask, message: bytes) -> PairsOf:
    """Pairs of a closed task, from the state that a server told."""
    told = closed_standing(task, message)
    seed = told.get("seed")
    if not isinstance(seed, str):
        raise NotClosed
    try:
        return PairsOf(task, told["reports"], bytes.fromhex(seed))
    except ValueError:
        raise ProtocolAborted("server", "it shows no seed", 502) from None
