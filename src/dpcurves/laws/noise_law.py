"""All laws that a release can have."""

from __future__ import annotations

from .haar_sums import HaarSums
from .haar_tensor_sums import HaarTensorSums
from .law import IntervalSums, PartitionDecisions, Selection
from .path_sums import PathSums
from .toeplitz_sums import ToeplitzSums

NoisySums = IntervalSums | HaarSums | ToeplitzSums
"""Linear in the counts: they have an unbiased reading, and noise that can be simulated."""

NoiseLaw = NoisySums | PathSums | HaarTensorSums | Selection | PartitionDecisions
