"""Sites whose messages others carry answer as those that connect by themselves, whatever is lost or comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Event, Thread

import numpy as np
import pytest
from federated import AGE, LONG, Federated

import dpcurves as dp
from dpcurves.arguments import ProtocolError
from dpcurves.privacy import PrivacyLoss
from dpcurves_sites.transport import END_OF_EXCHANGE, Forwarder, exchange_batch, pack_parts, unpack_parts
from dpcurves_sites.transport_apps import SocketTransport
from dpcurves_sites.trust import SecureSum

ONE = PrivacyLoss.pure(1)


def carry(federation: Federated, number: int, over: Event) -> None:
    """Fetch and forward, as an engine does that loses every fifth message and says every fifth twice."""
    forwarder, chance = Forwarder(str(federation.folder / "task.json"), over.is_set), Random(number)
    place, answer = str(federation.folder / f"s{number}.sock"), b""
    while not over.is_set():
        try:
            batch = exchange_batch(place, answer)
            if batch and chance.random() > 0.2:
                said = forwarder.forward_batch(batch)
                if said != END_OF_EXCHANGE and chance.random() > 0.2:
                    answer = said
                if chance.random() < 0.2:
                    exchange_batch(place, b"")  # asked again, the site says the same
        except OSError:  # nobody listens yet, or any more
            over.wait(0.1)


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federated]:
    """Three sites, of which two are carried, and one connects by itself."""
    over = Event()
    with Federated(tmp_path_factory.mktemp("three"), SecureSum(3, 1)) as federation:
        federation.coordinator()
        for number in range(3):
            socket = ["--socket", str(federation.folder / f"s{number}.sock")] if number < 2 else []
            federation.site(number, more=socket)
        carriers = [Thread(target=carry, args=(federation, number, over), daemon=True) for number in range(2)]
        for each in carriers:
            each.start()
        federation.wait(lambda: "listens" in federation.log("hub"), "the start")
        federation.wait(lambda: len(federation.signed()) == 3, "the signing")
        yield federation
        over.set()
        for number, each in enumerate(carriers):
            federation.kill(f"s{number}")
            each.join(LONG)


def test_what_is_carried_is_answered_alike(carried: Federated) -> None:
    with carried.analyst() as analyst:
        curve = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
        assert analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r").to_json() == curve.to_json()
    ages = np.concatenate(carried.ages)
    assert abs(np.interp(50, curve.x, curve.y) - (ages < 50).mean()) < 0.05


def test_what_a_carried_site_refuses_ends_the_turn_in_its_words(carried: Federated) -> None:
    with carried.analyst() as analyst, pytest.raises(ProtocolError, match=r"round: site 'airline \d'.*height"):
        analyst.ask(dp.HistogramQuestion("height", AGE), ONE)


def test_a_carried_site_that_is_started_again_goes_on(carried: Federated) -> None:
    carried.kill("s1")
    with ThreadPoolExecutor(1) as threads, carried.analyst() as analyst:
        coming = threads.submit(analyst.ask, dp.HistogramQuestion("age", AGE), ONE)
        carried.site(1, more=["--socket", str(carried.folder / "s1.sock")])
        assert abs(coming.result(LONG).count.sum() - 900) < 200


def post_in_background(site: SocketTransport, path: str) -> Future[bytes]:
    """The answer to an empty request, from a thread that does not outlive a failed test."""
    answer = Future[bytes]()

    def post_request() -> None:
        try:
            answer.set_result(site.post(path, b"", "token"))
        except ProtocolError as error:
            answer.set_exception(error)

    Thread(target=post_request, daemon=True).start()
    return answer


def test_an_answer_to_another_batch_changes_nothing(tmp_path: Path) -> None:
    """A batch is handed out until its own answer comes, and its messages before it come with it."""
    place = tmp_path / "socket"
    site = SocketTransport(place, timeout=0.05)
    assert exchange_batch(str(place), b"") == b""
    assert site.post("/tasks/t/rounds/0a/1", b"keys", "token") == b""
    coming = post_in_background(site, "/tasks/t/rounds/0a/1/all")
    while not (batch := exchange_batch(str(place), b"")):
        pass
    number, *said = unpack_parts(batch)
    assert said == [b"token", b"/tasks/t/rounds/0a/1", b"keys", b"/tasks/t/rounds/0a/1/all", b""]
    other = str(int(number) - 1).encode()
    for answer in (pack_parts([other, b"200", b"0", b"x"]), END_OF_EXCHANGE, b""):
        assert exchange_batch(str(place), answer) == batch
    for answer in (pack_parts([number, b"x", b"0", b"x"]), pack_parts([number, b"200"]), b"cut"):
        with pytest.raises(OSError, match="a message is truncated"):  # what can not be read ends the connection
            exchange_batch(str(place), answer)
    assert not coming.done()
    assert exchange_batch(str(place), pack_parts([number, b"410", b"0", b'{"error": "turn: it is over"}'])) == b""
    with pytest.raises(ProtocolError, match="it is over"):
        coming.result(LONG)
    assert site.post("/tasks/t/rounds/0a/5", b"opened", "token") == b""
    coming = post_in_background(site, "/tasks/t/waiting")
    while not (batch := exchange_batch(str(place), b"")):
        pass
    exchange_batch(str(place), pack_parts([unpack_parts(batch)[0], b"410", b"1", b'{"error": "turn: it is over"}']))
    assert coming.result(LONG) == b""  # of the last message of a turn that had ended
    site.close()
    with pytest.raises(OSError, match="."):
        exchange_batch(str(place), b"")
