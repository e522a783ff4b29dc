"""The privacy line below every picture, summary and table."""

from __future__ import annotations

from ..release import OPEN, PrivacyStatement
from .safe_text import lettering

SEEDED = "SEEDED: NOT PRIVATE"


def footer(privacy: PrivacyStatement) -> str:
    """Loss, adjacency, protected unit and trust model; on a second line a warning, and the model, if any.

    >>> statement = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 1000, "a curator", "flat", True, "a", "elsewhere")
    >>> print(footer(statement))
    epsilon 1, replace-one; protects each record; trust: a curator
    SEEDED: NOT PRIVATE. Model: elsewhere
    """
    if privacy.trust == OPEN:
        return "counted openly, from public records"
    protected, trust = lettering(privacy.protected, 120), lettering(privacy.trust, 120)
    facts = f"{privacy.loss}, {privacy.adjacency}; protects {protected}; trust: {trust}"
    remarks = [SEEDED] if privacy.seeded else []
    if privacy.model:
        remarks.append(f"Model: {lettering(privacy.model, 240)}")
    return "\n".join(filter(None, [facts, ". ".join(remarks)]))
