"""Plain sentences on mechanisms: what is counted, and how often, for readers who know no differential privacy.

A privacy statement names mechanisms in the field's terms. `explain_mechanism` adds what happens to a record:

>>> for sentence in explain_mechanism("recursive cuts by the exponential mechanism; tree of depth 2"):
...     print(sentence)
Values that divide the records are drawn at random, the more likely the closer to the wanted shares; only these \
values are released.
A record or unit that is used is counted 2 times in a round, in ranges or groups from wide to narrow; noise is added \
to each count or sum.
"""

from __future__ import annotations

import re

_ONCE = (
    "A record or unit that is used is counted once in a round, in one range or group; noise is added to each count or "
    "sum."
)
"""Sentence on mechanisms in which each record is counted once in a round."""
_LEVELS = (
    "A record or unit that is used is counted {} times in a round, in ranges or groups from wide to narrow; noise is "
    "added to each count or sum."
)
"""Sentence on trees of ranges, in which each record is counted once at each level; the braces take the number of
levels."""
_SUMS = "A record or unit that is used enters sums and differences of counts; noise is added to each of these numbers."
"""Sentence on mechanisms that add noise to sums and differences of counts, such as wavelets."""
_RUNNING = (
    "At each time step all records so far are counted, and noise is added to each count; the steps share parts of the "
    "noise."
)
"""Sentence on mechanisms of streams that count all records so far at each time step."""
_NAMES = (
    "For each category the units that have it are counted, and noise is added; a category is released if this "
    "noisy count is above a threshold."
)
"""Sentence on partition selection, which finds categories that nobody listed."""
SENTENCES: tuple[tuple[str, str], ...] = (
    (r"flat histogram\b.*|tree of depth 1\b.*|partition of \d+ intervals|counts of regions", _ONCE),
    (r"tree of depth (?P<levels>\d+)\b.*|counts of regions, (?P<tilings>\d+) levels", _LEVELS),
    (r"Haar wavelet of depth .*|wavelets along .*|square root of prefix sums.*", _SUMS),
    (
        r"noise path through .*",
        "For each value that is asked about, the records up to it are counted, and noise is added; these counts share "
        "parts of the noise.",
    ),
    (
        "sparse vector technique",
        "Counts or sums are compared with thresholds under noise; which of them reach their threshold is released, up "
        "to a limit.",
    ),
    (
        "merged cells",
        "Neighbouring cells are joined until their noisy count reaches a noisy minimum; the joined ranges are "
        "released, and no count.",
    ),
    (
        "buckets by the exponential mechanism",
        "Ranges are drawn at random, the more likely the more alike the counts within each; only the ranges are "
        "released.",
    ),
    (
        "recursive cuts by the exponential mechanism",
        "Values that divide the records are drawn at random, the more likely the closer to the wanted shares; only "
        "these values are released.",
    ),
    (
        "worst box by the exponential mechanism",
        "A part of the table is drawn at random, the more likely the further its count from the expected one; only "
        "the choice is released.",
    ),
    (
        "recursive medians by smooth sensitivity",
        "The records are cut at their median, and each part again; noise is added to each median.",
    ),
    (
        "area by smooth sensitivity",
        "The area under the ROC curve is computed, and noise is added to it; the curve is not released.",
    ),
    (
        r"PrivTree with fan-out .*",
        "Ranges are divided again and again where their noisy counts are large; the ranges are released, and no count.",
    ),
    (r"noise of at most .* on units of each name|noise on units of each name, .*", _NAMES),
    (
        "count of subsets",
        "The units are split into subsets, and a model is fitted to each; the subsets that confirm the claim are "
        "counted, and noise is added to this count.",
    ),
    (
        r".+ responses about .*",
        "Each person's device changes its answer at random before it sends it; the answers of all people are counted.",
    ),
    (
        r"one Laplace noise on the sum",
        "The values of pairs of people are added up without being seen; noise is added to the sum once.",
    ),
    (
        r"[\w ]+ noise on every time step",
        "At each time step each record that is used is counted once; noise is added to each count.",
    ),
    (
        "noise on every time step of aggregations and states",
        "At each time step each record that is used is counted in its group and in larger groups; noise is added to "
        "each count.",
    ),
    (
        "noise on every time step, and groups",
        "At each time step each record that is used is counted once, and noise is added to each count; time steps with "
        "similar counts are joined by noisy comparisons.",
    ),
    (
        "PrivTree at every time step, and noise",
        "At each time step groups are divided where their noisy counts are large; the undivided groups are counted, "
        "and noise is added to each count.",
    ),
    (
        r"least-squares noise of a tree on counts so far|Gaussian noise through \d+ buffers"
        r"|cells and \d+ weighted sums of them",
        _RUNNING,
    ),
    (
        r"totals of what is not counted.*",
        "Records that are left out are counted by reason; noise is added to each count.",
    ),
)
"""Pairs of a regular expression and the sentence that explains a mechanism to readers of a result. The first pair whose
expression matches the mechanism's whole name in the privacy statement applies."""
NESTED = re.compile(r"partition of (?P<sizes>[\d, ]+ and \d+) intervals")
"""Matches the name of a mechanism that counts nested ranges, with their numbers at each level, as in ``6, 27 and 100``;
their number is the number of times that a record is counted."""


def explain_mechanism(made_by: str) -> list[str]:
    """Return a sentence for each mechanism of a result: what is counted, and how often.

    Args:
        made_by: The mechanisms of a privacy statement, separated by ``;``.

    Returns:
        Sentences in English, without repetition. A mechanism of another package without a sentence here has none.
    """
    names = re.split(r"; (?:then )?", made_by.removesuffix(", by each server"))
    sentences = map(_explain_one, names)
    return [sentence for sentence in dict.fromkeys(sentences) if sentence]


def _explain_one(name: str) -> str:
    """Return the sentence on one mechanism; empty if it is unknown.

    Args:
        name: Mechanism, as a privacy statement names it.
    """
    if nested := NESTED.fullmatch(name):
        return _LEVELS.format(len(re.findall(r"\d+", nested["sizes"])))
    for pattern, sentence in SENTENCES:
        if match := re.fullmatch(pattern, name):
            return sentence.format(next(filter(None, match.groupdict().values()), ""))
    return ""
