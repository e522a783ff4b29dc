from .choice import STREAMS, StreamChoice
from .counters import BufferedCounter, TreeCounter
from .hierarchy import Hierarchy, Perturber, Pruned
from .pegasus import Pegasus

__all__ = [
    "STREAMS", "BufferedCounter", "Hierarchy", "Pegasus", "Perturber", "Pruned", "StreamChoice", "TreeCounter",
]  # fmt: skip
