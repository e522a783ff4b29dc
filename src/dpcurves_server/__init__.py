"""The verification server: questions about confidential tables under access control, budgets and an audit log."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
