"""Who sees what: interchangeable ways to turn records into a release."""

from .base import TrustModel
from .central import Central
from .curator import Curator

__all__ = ["Central", "Curator", "TrustModel"]
