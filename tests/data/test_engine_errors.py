"""Failures of engines are reported without the engine's message."""

from __future__ import annotations

import pytest

from dpcurves.records.source import hide_failure


def test_a_failure_is_said_in_other_words() -> None:
    def fails() -> None:
        raise RuntimeError("a value")

    with pytest.raises(ValueError, match="^data: in other words$") as caught:
        hide_failure(fails, "in other words")
    assert caught.value.__context__ is None
    assert hide_failure(lambda: 3, "") == 3


def test_an_interrupt_is_no_failure() -> None:
    def stops() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hide_failure(stops, "in other words")


def test_a_panic_is_a_failure() -> None:
    class Panic(BaseException):
        """An error as engines raise it that are not written in Python."""

    def panics() -> None:
        raise Panic("a value")

    with pytest.raises(ValueError, match="^data: in other words$"):
        hide_failure(panics, "in other words")
