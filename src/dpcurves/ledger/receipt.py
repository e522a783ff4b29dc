"""Note on an error raised after a question was charged: the request under which to ask again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Receipt(str):
    """A note on an error: the request, and that asking again under it costs nothing.

    Attributes:
        request: The id under which the question was charged.
    """

    request: str

    def __new__(cls, request: str, words: str) -> Receipt:
        """The note about one request."""
        receipt = super().__new__(cls, f"request: {request!r} {words}")
        receipt.request = request
        return receipt


class OpenReceipt(Receipt):
    """A note on an error where it is not known whether the charge was written."""


def receipt_of(error: BaseException) -> Receipt | None:
    """The note that hangs on an error, if one does."""
    return next((note for note in getattr(error, "__notes__", ()) if isinstance(note, Receipt)), None)


@contextmanager
def charged_under(request: str) -> Iterator[None]:
    """Hang a receipt on whatever is raised from here on, an interruption too."""
    with _noted(Receipt(request, "is charged: the same question under it gives the answer, for nothing")):
        yield


@contextmanager
def perhaps_charged_under(request: str) -> Iterator[None]:
    """Hang on whatever is raised from here on that the request may have been charged, or not."""
    with _noted(OpenReceipt(request, "may be charged: the same question under it is never charged twice")):
        yield


@contextmanager
def _noted(receipt: Receipt) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if receipt_of(error) is None:
            error.add_note(receipt)
        raise
