"""SECRET. The holder of the central model: all records, and what was noted about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..noise.memory import Memory

if TYPE_CHECKING:
    from ..records import CountSource


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Curator:
    """Curator, who sees all records. It has no repr.

    Attributes:
        records: Records that are counted.
        memory: Records opened under the paid part that is asked for now.
    """

    records: CountSource
    memory: Memory
