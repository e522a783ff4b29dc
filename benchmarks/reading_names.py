"""Names of measured numbers, as pages show them.

Benchmarks look numbers up by the names of `CountedNumbers.value`; stored runs keep these names as keys.
"""

from __future__ import annotations

import re

PROPER_WORDS = {
    "auc": "AUC", "brier": "Brier", "qini": "Qini", "ks": "KS", "psi": "PSI", "wasserstein": "Wasserstein",
}  # fmt: skip
"""Abbreviations and names of people in names of numbers."""


def name_reading(name: str) -> str:
    """Return the name of a number as readers of a page see it.

    >>> name_reading("auc, first"), name_reading("uplift: qini area"), name_reading("difference of brier score")
    ('AUC, first model', 'uplift: Qini area', 'difference of Brier score')
    """
    named = re.sub(r"\b[a-z]+\b", lambda word: PROPER_WORDS.get(word[0], word[0]), name)
    return re.sub(r", (first|second)$", r", \1 model", named)
