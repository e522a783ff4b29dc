from .buffered_counter import BufferedCounter
from .choice import STREAMS, StreamChoice
from .hierarchy import Hierarchy
from .pegasus import Pegasus
from .perturber import Perturber
from .pruned import Pruned
from .tree_counter import TreeCounter

__all__ = [
    "STREAMS",
    "BufferedCounter",
    "Hierarchy",
    "Pegasus",
    "Perturber",
    "Pruned",
    "StreamChoice",
    "TreeCounter",
]  # fmt: skip
