"""What every picture, card and table says below itself."""

from __future__ import annotations

from ..release import Face
from .lettering import lettering

SEEDED = "SEEDED: NOT PRIVATE"


def footer(face: Face) -> str:
    """Loss, adjacency, protected unit and trust model; on a second line a warning, and the model, if any.

    >>> print(footer(Face(1.0, 0.5, "replace-one", "", 1, 1000, "a curator", "flat", True, "a", "fitted elsewhere")))
    epsilon 1, replace-one; protects each record; trust: a curator
    SEEDED: NOT PRIVATE. Model: fitted elsewhere
    """
    facts = (
        f"{face.loss}, {face.adjacency}; protects {lettering(face.protected, 120)}; trust: {lettering(face.trust, 120)}"
    )
    remarks = [SEEDED] if face.seeded else []
    if face.model:
        remarks.append(f"Model: {lettering(face.model, 240)}")
    return "\n".join(filter(None, [facts, ". ".join(remarks)]))
