from .choice import (
    FIND,
    adaptively,
    asked_by,
    at_once,
    look_at,
    names_in,
    note_on,
    note_on_uncounted,
    notes_on_price,
    unlisted_of,
)
from .partitions import Bisection, GrownPartition, QuantileCuts

__all__ = [
    "FIND", "Bisection", "GrownPartition", "QuantileCuts", "adaptively", "asked_by", "at_once", "look_at",
    "names_in", "note_on", "note_on_uncounted", "notes_on_price", "unlisted_of",
]  # fmt: skip
