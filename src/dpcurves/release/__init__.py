"""The public nouns of a conversation: a step asks, a plan promises, a release answers."""

from .evidence import Evidence
from .plan import Plan, UnsupportedQuery
from .plans import Plans
from .privacy_statement import MISSING_RULE, OPEN, PrivacyStatement
from .release import Release
from .step import ALL, Setting, Step

__all__ = [
    "ALL", "MISSING_RULE", "OPEN", "Evidence", "Plan", "Plans", "PrivacyStatement", "Release", "Setting", "Step",
    "UnsupportedQuery",
]  # fmt: skip
