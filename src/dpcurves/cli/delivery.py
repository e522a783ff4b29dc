"""Delivery of a curve to files and the terminal: a failure of one output does not prevent the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .output import Output
from .terminal import say
from .views import View
from .waiting import waiting

Part = Callable[[], AbstractContextManager[None]]


@contextmanager
def delivering() -> Iterator[Part]:
    """Run every part even if others fail: a plot is drawn although the pipe of standard output is closed.

    Raises:
        Exception: the first failure, after all parts were tried.
    """
    troubles: list[Exception] = []

    @contextmanager
    def part() -> Iterator[None]:
        try:
            yield
        except Exception as trouble:
            troubles.append(trouble)

    yield part
    if troubles:
        raise troubles[0]


def deliver(part: Part, question: object, curve: Any, view: View[Any], output: Output) -> list[str]:
    """Write and show a curve as `output` says, headed by the text of its question. Returns the files written."""
    written: list[str] = []
    with part():
        written += output.write_json(curve.to_json)
    with part():
        _show(question, curve, view, output)
    with part(), waiting("drawing"):
        written += output.write_plot(lambda: view.draw(curve))
    return written


def _show(question: object, curve: Any, view: View[Any], output: Output) -> None:
    if output.json is not None:
        return
    from ..display import curve_table, footer

    with waiting("simulating the noise"):
        tables = view.tables(curve)
    screen = output.terminal()
    say(screen, str(question))
    for shown in tables:
        say(screen, *filter(None, [shown.headline]), curve_table(shown.columns, most=shown.most))
    say(screen, footer(curve.privacy))
