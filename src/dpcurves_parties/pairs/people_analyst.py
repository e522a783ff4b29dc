"""Analyst of people in pairs: asks their server for the answers of pairs so far, and reads the mean."""

from __future__ import annotations

import json

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.curves.notes import warn_of
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.ledger import QuestionBudget
from dpcurves.release import ALL

from ..serving.channel import PATIENCE, Channel
from ..serving.errors import ProtocolAborted
from ..serving.json_messages import UNLIKE, facts_of
from ..serving.ticket import Ticket
from .post import octets_of
from .promise import Agreement
from .readings import pair_statistic
from .release import told
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
