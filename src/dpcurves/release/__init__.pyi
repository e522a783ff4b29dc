from .plan import Plan, Plans, UnsupportedQuery
from .release import MISSING_RULE, OPEN, AnsweredOtherwise, Evidence, PrivacyStatement, Release
from .step import ALL, Setting, Step

__all__ = [
    "ALL", "MISSING_RULE", "OPEN", "AnsweredOtherwise", "Evidence", "Plan", "Plans", "PrivacyStatement", "Release",
    "Setting", "Step", "UnsupportedQuery",
]  # fmt: skip
