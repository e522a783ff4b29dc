"""How far private distribution functions are from those of the records: the parts of `cdf_accuracy.py`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "papers"))  # methods to compare with
