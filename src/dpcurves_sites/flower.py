"""Flower carries the messages of a federation: a ServerApp beside its coordinator, a ClientApp beside each site.

This file is the app, together with `transport.py`; `dpcurves federation carry flower` writes it to a folder. It needs
Flower and the standard library alone, so Flower delivers it to SuperNodes that have nothing else, and it shares no
package with dpcurves. It reads no record and holds no key: a site's process listens at a socket that the node is told
of (``--node-config 'dpcurves="/run/site.sock"'``), and all that is secret stays there. Nothing is kept in the context
of an app. Masks, signatures and ids are those of the federation: Flower's own secure aggregation is not used.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from .transport import OVER, Forwarder, exchange_batch

RECORD, OCTETS, SOCKET, TASK, PATIENCE = "dpcurves", "octets", "dpcurves", "task", "patience"
LOOK = 0.2
"""Seconds between two looks for replies."""
MOST_NODES = 128

client = ClientApp()
server = ServerApp()


@client.query()  # type: ignore[untyped-decorator]
def answer_query(message: Message, context: Context) -> Message:
    """Tell the site of this node an answer, and bring back what it says next: nothing, where it can not be reached."""
    answer = _read_octets(message)
    try:
        said = exchange_batch(str(context.node_config[SOCKET]), answer)
    except (OSError, KeyError):
        said = b""
    return Message(_to_record(said), reply_to=message)


@server.main()  # type: ignore[untyped-decorator]
def run_server(grid: Grid, context: Context) -> None:
    """Carry until the coordinator is gone. A node that does not answer in time is asked again."""
    patience = float(context.run_config[PATIENCE])
    over: list[bool] = []
    forwarder = Forwarder(str(context.run_config[TASK]), lambda: bool(over), patience)
    told: dict[int, bytes] = {}
    sent: dict[int, tuple[str, float]] = {}
    asked: dict[int, Future[bytes]] = {}
    with ThreadPoolExecutor(MOST_NODES) as threads:
        while not over:
            now = time.monotonic()
            for node, (name, since) in list(sent.items()):
                replies = list(grid.pull_messages([name]))
                said = _read_octets(replies[0]) if replies and not replies[0].has_error() else b""
                if said:
                    asked[node] = threads.submit(forwarder.forward_batch, said)
                if replies or now - since > patience:
                    del sent[node]  # what came back empty, or not at all, is sent again: the site says the same again
            for node, coming in list(asked.items()):
                if coming.done():
                    told[node] = asked.pop(node).result()
                    if told[node] == OVER:
                        over.append(True)
            free = [node for node in grid.get_node_ids() if node not in sent and node not in asked]
            messages = [_build_message(node, told.get(node, b"")) for node in free]
            names = grid.push_messages(messages) if messages else []
            sent |= {node: (name, now) for node, name in zip(free, names, strict=True) if name}
            time.sleep(LOOK)


def _build_message(node: int, answer: bytes) -> Message:
    return Message(_to_record(answer), dst_node_id=node, message_type=MessageType.QUERY)


def _to_record(octets: bytes) -> RecordDict:
    return RecordDict({RECORD: ConfigRecord({OCTETS: octets})})


def _read_octets(message: Message) -> bytes:
    octets = message.content[RECORD][OCTETS]
    return octets if isinstance(octets, bytes) else b""
