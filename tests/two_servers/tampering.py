"""Messages of owners, servers and analysts that somebody without keys has changed: how many are taken.

`python tests/two_servers/tampering.py [MESSAGES] [SEED]` changes so many messages in ways that are drawn (a bit, a
byte, a part that is cut off, put in, doubled, or in another one's place): batches to both servers, uploads by way of
the leader, aggregation jobs, and answers with both halves. A batch, an upload or a job has to be refused, with nothing
stored that both servers have; an answer has to be refused, or to say the same numbers. Both servers are in this
process; TLS, which keeps changed messages away from them, is left out. In the end the messages themselves are taken.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable

import numpy as np
from wire_vectors import TOKENS, inquiry_of, task_of, two_servers

from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_parties.serving.two_servers import dap
from dpcurves_parties.serving.two_servers.owner import Contribution
from dpcurves_parties.serving.two_servers.report_set import EarlierPolicy
from dpcurves_parties.shares.aggregation import TaskService
from dpcurves_parties.shares.dap_uploads import LeaderUpload

EARLIER = 6
"""The byte of a batch that says what becomes of an earlier one: both of its values are good, and nothing binds it."""
PLACES = np.array([1, 4, 9])


def changed(message: bytes, drawn: random.Random) -> bytes:
    """Another message."""
    while True:
        at, other = (drawn.randrange(len(message)) for _ in range(2))
        size = drawn.choice((1, 2, 16, 48))
        made = drawn.choice((
            message[:at] + bytes([message[at] ^ 1 << drawn.randrange(8)]) + message[at + 1 :],
            message[:at] + drawn.randbytes(1) + message[at + 1 :],
            message[:at],
            message[:at] + message[at + size :],
            message[:at] + drawn.randbytes(size) + message[at:],
            message[: at + size] + message[at:],
            message[:at] + message[other : other + size] + message[at + size :],
        ))  # fmt: skip
        differs = [place for place, pair in enumerate(zip(made, message, strict=False)) if pair[0] != pair[1]]
        if len(made) != len(message) or differs not in ([], [EARLIER]):
            return made


def is_refused(work: Callable[[], bytes], is_refusal: Callable[[bytes], bool] = lambda answer: False) -> bool:
    """Tell whether a message is refused: in one line, or by the answer."""
    try:
        return is_refusal(work())
    except ProtocolError:
        return True


def rejects(answer: bytes) -> bool:
    """Tell whether an answer to an aggregation job rejects all of its reports."""
    return all(isinstance(each.result, dap.ReportError) for each in dap.decode_all(answer, dap.VerifyResp.from_reader))


def tampered(messages: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Numbers of changed messages of each kind that were refused, and what was taken."""
    task, drawn = task_of("plain"), random.Random(seed)
    contribution = Contribution(task, PLACES, bytes(32), EarlierPolicy.GIVES_WAY)  # in place of what the leader has
    ticket = Ticket(task.hash, Role.OWNER, TOKENS[Role.OWNER])
    refused, taken = Counter[str](), list[str]()

    def judge(kind: str, refuses: bool) -> None:
        if refuses:
            refused[kind] += 1
        else:
            taken.append(f"{kind}, number {sum(refused.values()) + len(taken)} of seed {seed}")

    with two_servers(task) as (services, _):
        (batch,) = contribution.iterate_batches()
        ((_, reports),) = contribution.iterate_shared_reports()
        upload = LeaderUpload(contribution, ticket).encode_upload_request(reports[:1])
        begun = [
            dap.VerifyInit(one.to_report_share(1), dap.encode_ping_pong_message(dap.PingPongType.INITIALIZE, b""))
            for one in dap.parse_upload_request(upload)
        ]
        job = dap.encode_aggregation_job(task.hash, begun)
        for number in range(messages // 2):
            kind = number % 4
            if kind < 2:
                judge(f"batch to server {kind}", is_refused(_received(services[kind], changed(batch[kind], drawn))))
            elif kind == 2:
                sent = changed(upload, drawn)
                judge("upload", is_refused(lambda sent=sent: services[0].submit_upload(0, sent).result(), bool))  # type: ignore[misc]
            else:
                sent = changed(job, drawn)
                judge("aggregation job", is_refused(lambda sent=sent: services[1].run_aggregation_job(sent), rejects))  # type: ignore[misc]
        if services[1].store.read_status(task.hash).reports:
            taken.append("server 1 has reports")
        for party in (0, 1):
            services[party].store_batch(0, batch[party])
        services[0].close(b"")
        inquiry = inquiry_of("plain", task)
        answer = services[0].answer(
            inquiry.to_json(Ticket(task.hash, Role.ANALYST, TOKENS[Role.ANALYST]), task.servers)
        )
        halves = inquiry.open_answer_shares(answer)
        for _ in range(messages - messages // 2):
            sent = changed(answer, drawn)

            def open_changed(sent: bytes = sent) -> bytes:
                return b"%d" % (inquiry.open_answer_shares(sent) == halves)

            judge("answer", is_refused(open_changed, b"1".__eq__))
    return refused, taken


def _received(service: TaskService, message: bytes) -> Callable[[], bytes]:
    return lambda: service.store_batch(0, message)


def main() -> None:
    messages, seed = (int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((1, 10_000), (2, 1)))
    refused, taken = tampered(messages, seed)
    print(", ".join(f"{kind}: {number} refused" for kind, number in sorted(refused.items())))
    for line in taken:
        print(f"taken: {line}")
    print(f"{sum(refused.values())} changed messages were refused, {len(taken)} taken")
    sys.exit(bool(taken))


if __name__ == "__main__":
    main()
