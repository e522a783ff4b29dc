"""The connection to Spark Connect at a URL: encrypted off this machine, of its own, and given up in a bounded time."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, Queue
from time import monotonic
from typing import Any

from dpcurves.arguments import NotInstalled, Refused
from dpcurves.records.hiding import hidden

SECONDS_TO_CONNECT = 20
PAUSES, LONGEST_PAUSE = 6, 5000
"""How often, and for how many milliseconds at most, a server that went away is waited for: 20 seconds in all."""
SILENCE, PATIENCE = 310_000, 20_000
"""Milliseconds until a silent server is asked whether it is there, and to its answer. (More often than every five
minutes, Spark's own server closes the connection.)"""
UNREACHED = "Spark was not reached: sc://host:port is needed, off loopback with ;use_ssl=true"
UNANSWERED = (
    f"Spark was not reached within {SECONDS_TO_CONNECT} seconds: is it running, and are host, port, firewall and TLS "
    "right?"
)


def connected(url: str) -> Any:
    """A session of its own at a URL of Spark Connect.

    Raises:
        ValueError: it is not reached, or would not be encrypted off loopback.
    """
    host = url.removeprefix("sc://").partition("/")[0].rpartition(":")[0] or url.removeprefix("sc://").partition("/")[0]
    if host not in ("localhost", "[::1]") and not host.startswith("127.") and ";use_ssl=true" not in url.lower():
        raise Refused("data", "TLS is demanded off loopback: write sc://host:port/;use_ssl=true")
    session_type, builder_type = _client()
    builder = hidden(lambda: builder_type(url, _options()), UNREACHED)
    if not hidden(lambda: _is_reached(builder), UNREACHED):
        raise Refused("data", UNANSWERED)
    session = hidden(session_type.builder.channelBuilder(builder).create, UNREACHED)
    session.client.set_retry_policies([_policy()])
    return session


def end(session: Any) -> None:
    """Let go of a session, and wait for nobody who has gone."""
    with suppress(Exception):
        session.client.set_retry_policies([])
        session.stop()


def _client() -> tuple[Any, Any]:
    try:
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession
    except Exception:  # whatever pyspark lacks, it says in errors of its own
        SparkSession = None
    if SparkSession is None:
        raise NotInstalled("data", "Spark at a URL needs an extra: pip install 'dpcurves[spark]'")
    return SparkSession, DefaultChannelBuilder


def _options() -> list[tuple[str, int]]:
    return [("grpc.keepalive_time_ms", SILENCE), ("grpc.keepalive_timeout_ms", PATIENCE)]


def _is_reached(builder: Any) -> bool:
    """Tell whether somebody who speaks as Spark does answers in time."""
    from grpc import ChannelConnectivity

    channel, states = builder.toChannel(), Queue[Any]()
    channel.subscribe(states.put, try_to_connect=True)
    latest = monotonic() + SECONDS_TO_CONNECT
    try:
        state = None
        while state not in (ChannelConnectivity.READY, ChannelConnectivity.TRANSIENT_FAILURE):
            state = states.get(timeout=max(latest - monotonic(), 0))
        return bool(state is ChannelConnectivity.READY)
    except Empty:
        return False
    finally:
        channel.close()


def _policy() -> Any:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = DefaultPolicy(max_retries=PAUSES, max_backoff=LONGEST_PAUSE)
    policy.max_server_retry_delay = LONGEST_PAUSE
    return policy
