from .principals import MACHINE, Principal, Right, Role, Subject, may
from .remote import Remote
from .services import Services

__all__ = [
    "MACHINE",
    "Principal",
    "Remote",
    "Right",
    "Role",
    "Services",
    "Subject",
    "may",
]  # fmt: skip
