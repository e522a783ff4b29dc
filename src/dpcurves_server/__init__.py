"""The verification server: analysts ask a confidential table through a gate, under budgets, and all is logged."""

from .gate import Gate
from .visitors import MACHINE, Right, Role, Subject, Visitor, may

__all__ = ["MACHINE", "Gate", "Right", "Role", "Subject", "Visitor", "may"]
