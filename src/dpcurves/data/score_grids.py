"""Grids of scores that questions take where none is named: public, and the same for every table."""

from .grid import Grid
from .spacing import Outside

UNIT_INTERVAL = Grid(0, 1, cells=2**14, outside=Outside.APART)
"""For ROC curves of probabilities. Scores outside are counted apart, so that a note can say how many there are."""
HUNDREDTHS = Grid(0, 1, cells=100, outside=Outside.APART)
"""For all readings of probabilities; other scores are counted apart."""
SCORES = Grid(0, 1, cells=4096)
"""For groups of probabilities that are alike."""
