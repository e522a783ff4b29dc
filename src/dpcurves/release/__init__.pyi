from .plan import Plan, Plans, UnsupportedQuery
from .privacy_statement import MISSING_RULE, OPEN, PrivacyStatement
from .release import Evidence, Release
from .step import ALL, Setting, Step

__all__ = [
    "ALL", "MISSING_RULE", "OPEN", "Evidence", "Plan", "Plans", "PrivacyStatement", "Release", "Setting", "Step",
    "UnsupportedQuery",
]  # fmt: skip
