from .front import Gate
from .remote import Remote
from .visitors import MACHINE, Right, Role, Subject, Visitor, may

__all__ = [
    "MACHINE", "Gate", "Remote", "Right", "Role", "Subject", "Visitor", "may",
]  # fmt: skip
