"""Verification server: differentially private answers about confidential tables over HTTP.

Access control by role, privacy budgets and an audit log are included. `Services` is the server without HTTP, and
`Remote` its client.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
