"""Client that sends reports to an aggregator over HTTPS, unchanged, so that a repeat counts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from dpcurves.arguments import Refused
from dpcurves_parties.serving.channel import Channel
from dpcurves_parties.serving.json_messages import facts_of

from .report_file import Form

LARGEST = 2**20
"""Bytes of one message, unless one report has more."""


class Sent(NamedTuple):
    """Counts of sent reports: new to the server, known before, and invalid."""

    new: int = 0
    known: int = 0
    refused: int = 0


def send(reports: bytes | memoryview, server: Channel, progress: Callable[[int], object] = lambda gone: None) -> Sent:
    """Send reports of one task. Those that the server has acknowledged are on its disk.

    Nothing is drawn here: sent again, after whatever went wrong, the same reports arrive, and each name counts once.

    Args:
        reports: What `Task.randomize` gave, one or many behind another.
        server: Where to.
        progress: Hears how many octets of them have gone.

    Raises:
        ValueError: these are no reports; or the server can not be reached, or refuses.
    """
    form = Form.of(reports)
    if form is None:
        raise Refused("reports", "these are no reports of a task of the local model")
    sent, path = Sent(), f"/tasks/{form.task.hex()}/reports"
    for message, damaged in _messages(form, reports):
        sent = Sent(sent.new, sent.known, sent.refused + damaged)
        if message:
            facts = facts_of(server.post(path, message), "server", new=int, known=int, refused=int)
            sent = Sent(*(before + facts[name] for name, before in sent._asdict().items()))
        progress(sum(sent) * form.record)
    if not sent.new + sent.known:
        raise Refused("reports", f"{sent.refused} refused: damaged, cut off, or of another task")
    return sent


def _messages(form: Form, reports: bytes | memoryview) -> Iterator[tuple[bytes, int]]:
    """Messages of a size that is taken, and how many reports before each are none."""
    most = max(1, (LARGEST - len(form.alone)) // form.record)
    for records in form.read(reports):
        yield b"", records.damaged
        for start in range(0, len(records.names), most):
            rows = slice(start, start + most)
            yield form.written_all(records.names[rows], records.messages[rows]), 0
