"""Who sees what: interchangeable ways to turn records into a release."""

from .base import TrustModel
from .central import Central
from .curator import Curator
from .function_shares import FunctionShares, Owners, ShareHolder
from .local import Local
from .person import Person

__all__ = ["Central", "Curator", "FunctionShares", "Local", "Owners", "Person", "ShareHolder", "TrustModel"]
