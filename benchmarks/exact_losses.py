"""What mechanisms that choose really lose, over what they claim: all tiny neighbours, exactly.

`python benchmarks/exact_losses.py [RECORDS [CELLS]]`: up to so many records (3), on about so many cells (3); 4 and 4
take some minutes. Columns: a unit of 1, 2 and 3 records that comes or goes, and one that is replaced.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "mechanisms"))

from choice_laws import table

import dpcurves as dp

LOSSES = dp.PrivacyLoss.pure("1.2"), dp.PrivacyLoss.zcdp("0.3")


def main() -> None:
    """Print the worst over what is claimed of each."""
    records, cells = (int(word) for word in [*sys.argv[1:3], "3", "3"][:2])
    begun, worst = time.process_time(), 0.0
    print(f"{'worst over claimed, up to ' + str(records) + ' records':<52}" + "".join(
        f"{kind} {unit:<4}" for kind in ("add", "move") for unit in (1, 2, 3)
    ))  # fmt: skip
    for name, shares in table(LOSSES, records, cells):
        worst = max(worst, *shares)
        print(f"{name:<52}" + "".join(f"{share:<8.4f}" for share in shares), flush=True)
    print(f"worst of all: {worst:.6f}; {time.process_time() - begun:.0f} CPU seconds")


if __name__ == "__main__":
    main()
