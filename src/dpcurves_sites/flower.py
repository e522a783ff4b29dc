"""Flower app that carries a federation's messages: a ServerApp beside the coordinator, a ClientApp beside each site.

A federation is a group of sites that keep their records and reveal only noisy sums of their counts. Its sites usually
send HTTPS requests to a coordinator, which passes messages on. Where Flower already connects the machines, this app
carries the same requests and answers instead, as opaque bytes.

This file and `transport.py` are the whole app; `dpcurves federation app flower` writes both to a folder. Flower's nodes
(SuperNodes) do not have dpcurves installed, so this file imports only Flower and the standard library. The process of
the site listens at a local socket, whose path is given by ``--node-config 'dpcurves="/run/site.sock"'``.

Formal guarantees: the app reads no records, holds no keys, and stores nothing in its context. All secrets stay in the
site's process. Messages are masked, signed and numbered there, so a transport that reads or changes them learns no
count and forges no answer. Flower's own secure aggregation is not used.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from .transport import END_OF_EXCHANGE, Forwarder, exchange_batch

RECORD = "dpcurves"
"""Name of the record in Flower's messages that holds the bytes of dpcurves."""
BODY_FIELD = "octets"
"""Field of this record with the bytes; Flower passes them on unread."""
SOCKET = "dpcurves"
"""Key of the setting of a Flower node with the path of its site's Unix socket."""
TASK = "task"
"""Key of the setting of a Flower run with the path of the task document."""
TIMEOUT_FIELD = "patience"
"""Key of the setting of a Flower run with the seconds after which a message without an answer counts as lost."""

client = ClientApp()
server = ServerApp()


@client.query()  # type: ignore[untyped-decorator]
def answer_query(message: Message, context: Context) -> Message:
    """Pass an answer of the coordinator to the site beside this node, and reply with the site's next batch of requests.

    Args:
        message: Query of the ServerApp with the answer, which may be empty.
        context: Flower's context, whose node settings have the path of the site's socket.

    Returns:
        A reply with the batch; empty if nothing listens at the socket, or the setting is missing.
    """
    answer = _read_octets(message)
    try:
        messages = exchange_batch(str(context.node_config[SOCKET]), answer)
    except (OSError, KeyError):
        messages = b""
    return Message(_to_record(messages), reply_to=message)


@server.main()  # type: ignore[untyped-decorator]
def run_server(grid: Grid, context: Context) -> None:
    """Pass batches of the nodes on to the coordinator, and its answers back, until the coordinator has stopped.

    A node that does not answer in time is queried again, and its site repeats the batch.

    Args:
        grid: Flower's connection to the nodes.
        context: Flower's context, whose run settings have the path of the task document, and the seconds after which a
            query is taken for lost.
    """
    patience = float(context.run_config[TIMEOUT_FIELD])
    stopped: list[bool] = []
    forwarder = Forwarder(str(context.run_config[TASK]), lambda: bool(stopped), patience)
    answers: dict[int, bytes] = {}
    pending: dict[int, tuple[str, float]] = {}
    forwarding: dict[int, Future[bytes]] = {}
    # 128: nodes whose requests are forwarded to the coordinator at the same time, at most
    with ThreadPoolExecutor(128) as threads:
        while not stopped:
            now = time.monotonic()
            for node, (name, since) in list(pending.items()):
                replies = list(grid.pull_messages([name]))
                site_messages = _read_octets(replies[0]) if replies and not replies[0].has_error() else b""
                if site_messages:
                    forwarding[node] = threads.submit(forwarder.forward_batch, site_messages)
                if replies or now - since > patience:
                    del pending[node]  # empty or lost replies: query again, the site repeats its batch
            for node, future in list(forwarding.items()):
                if future.done():
                    answers[node] = forwarding.pop(node).result()
                    if answers[node] == END_OF_EXCHANGE:
                        stopped.append(True)
            idle_nodes = [node for node in grid.get_node_ids() if node not in pending and node not in forwarding]
            # the query that carries an answer to a node
            messages = [
                Message(_to_record(answers.get(node, b"")), dst_node_id=node, message_type=MessageType.QUERY)
                for node in idle_nodes
            ]
            names = grid.push_messages(messages) if messages else []
            pending |= {node: (name, now) for node, name in zip(idle_nodes, names, strict=True) if name}
            time.sleep(0.2)  # seconds between polls for replies of the nodes


def _to_record(octets: bytes) -> RecordDict:
    """Return a Flower message content that holds these bytes, which `_read_octets` reads.

    Args:
        octets: The bytes.
    """
    return RecordDict({RECORD: ConfigRecord({BODY_FIELD: octets})})


def _read_octets(message: Message) -> bytes:
    """Return the bytes in a Flower message; empty if it holds something else.

    Args:
        message: Message of Flower.
    """
    octets = message.content[RECORD][BODY_FIELD]
    return octets if isinstance(octets, bytes) else b""
