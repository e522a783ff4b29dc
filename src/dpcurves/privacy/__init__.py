"""Privacy guarantees: the protected unit, and the bound on what a release may reveal."""

from ..arguments import Exact
from .adjacency import EACH_RECORD, AddRemove, Adjacency, Neighbours, ReplaceOne, Unit
from .conversion import delta_of_zcdp, epsilon_of_zcdp, rho_for
from .loss import PrivacyLoss
from .model import DISJOINT_RECORDS, PRIVATE_MODEL, PUBLIC_MODEL, Model, declared

__all__ = [
    "DISJOINT_RECORDS", "EACH_RECORD", "PRIVATE_MODEL", "PUBLIC_MODEL", "AddRemove", "Adjacency", "Exact", "Model",
    "Neighbours", "PrivacyLoss", "ReplaceOne", "Unit", "declared", "delta_of_zcdp", "epsilon_of_zcdp", "rho_for",
]  # fmt: skip
