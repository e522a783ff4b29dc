"""Who sees what: interchangeable ways to turn records into a release."""

from .base import TrustModel
from .central import Central

__all__ = ["Central", "TrustModel"]
