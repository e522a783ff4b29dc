"""Client of an analyst of pairs: asks two servers for the single answer, and reads the mean over pairs from it."""

from __future__ import annotations

from dpcurves.curves.notes import warn_of
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.ledger import QuestionBudget
from dpcurves.release import ALL

from ..serving.channel import PATIENCE, Channel
from ..serving.errors import ProtocolAborted
from ..serving.json_messages import facts_of
from ..serving.ticket import Ticket
from ..serving.two_servers.messages import VERSION, Asked
from ..serving.two_servers.owner import require_task
from .readings import pair_statistic
from .release import told
from .service import PairQuestions
from .session import PairsOf
from .task import PairTask


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
