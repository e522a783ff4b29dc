"""What is promised: who is protected, and how much a release may reveal."""

from .adjacency import EACH_RECORD, AddRemove, Adjacency, Neighbours, ReplaceOne, Unit
from .loss import Exact, PrivacyLoss

__all__ = ["EACH_RECORD", "AddRemove", "Adjacency", "Exact", "Neighbours", "PrivacyLoss", "ReplaceOne", "Unit"]
