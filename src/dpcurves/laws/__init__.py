"""The distributions of released integers around the truth, one file for each. Public, and known before data is seen."""

from collections.abc import Mapping
from math import prod
from typing import Any

from ..arguments import Refused
from .buffered_prefixes import BufferedPrefixes
from .grouped_counts import GroupedCounts
from .haar_sums import HaarSums
from .haar_tensor_sums import HaarTensorSums, TableEstimate, wavelet_estimate
from .hierarchy_counts import HierarchyCounts, NodeEstimates
from .interval_sums import IntervalSums
from .law import CountLaw, Law, NoisySums
from .least_squares import Estimate, least_squares, least_squares_batch
from .nested import Level
from .noise import Family, Noise
from .pair_law import PairAnswers, PairLaw, PairSum
from .path_sums import Block, PathSums
from .prefix_trees import TreeCounts
from .pruned_counts import PrunedCounts
from .responses import Responses
from .selection import PartitionDecisions, Selection
from .tallied import Tallied
from .threshold_answers import ThresholdAnswers
from .threshold_sums import ThresholdSums, read_in_cells
from .tick_law import PrefixLaw
from .toeplitz_sums import ToeplitzSums

MOST_CELLS = 2**22
"""The most cells in all rows together: a curator counts no more one by one."""
MOST_BITS = 256

LAWS: tuple[type[Law], ...] = (
    IntervalSums, HaarSums, ToeplitzSums, PathSums, HaarTensorSums, Selection, TreeCounts, BufferedPrefixes, Tallied,
    GroupedCounts, HierarchyCounts, PrunedCounts, PairAnswers, PairSum,
)  # fmt: skip
"""Each with a `KEY` of its own: a new law is its own file, and a word here."""


def law_from_json(stored: Mapping[str, Any]) -> Law:
    """The law of a release that `Law.to_json` wrote.

    Raises:
        KeyError: no law has this form.
        ValueError: it is larger than any that this package makes: a text of a few bytes could ask for all memory.
    """
    law = next((law for law in LAWS if law.KEY in stored), None)
    if law is None:
        raise KeyError("law")
    _require_readable(stored)
    return law.from_json(stored)


def _require_readable(stored: Mapping[str, Any]) -> None:
    """Refuse what would be laid out in more cells, or worked out in more digits, than is ever written."""
    for name in ("bits", "blocks"):
        if not 0 <= int(stored.get(name, 0)) <= MOST_BITS:
            raise Refused(f"evidence.{name}", f"at most {MOST_BITS} are read")
    cells = int(stored.get("rows", 1)) * int(stored.get("cells", 1))
    laid_out = prod(int(side) for side in stored.get("sides", ())) if HaarTensorSums.KEY in stored else cells
    if PathSums.KEY not in stored and not 0 < laid_out <= MOST_CELLS:
        raise Refused("evidence.cells", f"from 1 to {MOST_CELLS} in all rows together are read, got {laid_out}")


__all__ = [
    "LAWS", "Block", "BufferedPrefixes", "CountLaw", "Estimate", "Family", "GroupedCounts", "HaarSums",
    "HaarTensorSums", "HierarchyCounts", "IntervalSums", "Law", "Level", "NodeEstimates", "Noise", "NoisySums",
    "PairAnswers", "PairLaw", "PairSum", "PartitionDecisions", "PathSums", "PrefixLaw", "PrunedCounts", "Responses",
    "Selection", "TableEstimate", "Tallied", "ThresholdAnswers", "ThresholdSums", "ToeplitzSums", "TreeCounts",
    "law_from_json", "least_squares", "least_squares_batch", "read_in_cells", "wavelet_estimate",
]  # fmt: skip
