from .remote import Remote
from .services import Services
from .visitors import MACHINE, Right, Role, Subject, Visitor, may

__all__ = [
    "MACHINE",
    "Remote",
    "Right",
    "Role",
    "Services",
    "Subject",
    "Visitor",
    "may",
]  # fmt: skip
