"""Privacy guarantees: the protected unit, the neighbouring relation, and the privacy loss of a release.

- `Unit`: what is protected, for instance a person, and how many of its records are used.
- `AddRemove`, `ReplaceOne`: which data sets are neighbours.
- `PrivacyLoss`: an epsilon of pure DP or a rho of zCDP, with exact composition and conversion.
"""

from ..arguments import Exact
from .adjacency import (
    DISJOINT_RECORDS,
    EACH_RECORD,
    PRIVATE_MODEL,
    PUBLIC_MODEL,
    AddRemove,
    Adjacency,
    AdjacencyWithoutBound,
    ModelOrigin,
    Neighbours,
    ReplaceOne,
    Unit,
    require_model_origin,
)
from .loss import PrivacyLoss, delta_of_zcdp, epsilon_of_zcdp, format_loss, format_remaining, rho_for

__all__ = [
    "DISJOINT_RECORDS",
    "EACH_RECORD",
    "PRIVATE_MODEL",
    "PUBLIC_MODEL",
    "AddRemove",
    "Adjacency",
    "AdjacencyWithoutBound",
    "Exact",
    "ModelOrigin",
    "Neighbours",
    "PrivacyLoss",
    "ReplaceOne",
    "Unit",
    "delta_of_zcdp",
    "epsilon_of_zcdp",
    "format_loss",
    "format_remaining",
    "require_model_origin",
    "rho_for",
]  # fmt: skip
