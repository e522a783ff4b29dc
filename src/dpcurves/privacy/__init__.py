"""Privacy guarantees: the protected unit, and the bound on what a release may reveal."""

from ..arguments import Exact
from .adjacency import (
    DISJOINT_RECORDS,
    EACH_RECORD,
    PRIVATE_MODEL,
    PUBLIC_MODEL,
    AddRemove,
    Adjacency,
    AnyRows,
    Model,
    Neighbours,
    ReplaceOne,
    Unit,
    declared,
)
from .loss import PrivacyLoss, delta_of_zcdp, epsilon_of_zcdp, loss_numeral, rho_for

__all__ = [
    "DISJOINT_RECORDS", "EACH_RECORD", "PRIVATE_MODEL", "PUBLIC_MODEL", "AddRemove", "Adjacency", "AnyRows", "Exact",
    "Model", "Neighbours", "PrivacyLoss", "ReplaceOne", "Unit", "declared", "delta_of_zcdp", "epsilon_of_zcdp",
    "loss_numeral", "rho_for",
]  # fmt: skip
