from .principals import MACHINE, Principal, Right, Role, Subject, has_right
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
    "has_right",
]  # fmt: skip
