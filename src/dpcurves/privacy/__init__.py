"""What is promised: who is protected, and how much a release may reveal."""

from .adjacency import EACH_RECORD, AddRemove, Adjacency, Neighbours, ReplaceOne, Unit
from .calibration import delta_of_gaussian, gaussian_variance
from .conversion import delta_of_zcdp, epsilon_of_zcdp, rho_for
from .loss import Exact, PrivacyLoss

__all__ = [
    "EACH_RECORD", "AddRemove", "Adjacency", "Exact", "Neighbours", "PrivacyLoss", "ReplaceOne", "Unit",
    "delta_of_gaussian", "delta_of_zcdp", "epsilon_of_zcdp", "gaussian_variance", "rho_for",
]  # fmt: skip
