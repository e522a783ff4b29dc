"""Trust models: who holds the records, who adds the noise, and which party sees what.

- `base`: the interface of all trust models, and the rounds between a question and a trust model.
- `central`: one trusted curator, who sees all records and adds the noise once.

Other packages add the local model, secure sums of sites, and counts of two servers.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
