"""Honest commands for trials of the auditor: `python audited_command.py KIND DATA.csv` prints a count as JSON.

Each loses an epsilon of 1 under add-remove. Kinds: `plain`; `keyed` asks twice with the noise of one stored key; and
`failing` ends with status 3 in a fifth of all runs, whatever the data are.
"""

import hmac
import json
import random
import sys
import tempfile
from math import log
from pathlib import Path

from command_line import make_parser


def geometric(draw: random.Random) -> int:
    """Sample discrete Laplace noise of scale 1."""
    first, second = (int(log(1 - draw.random()) // -1) for _ in range(2))
    return first - second


def main() -> None:
    """Print the noisy number of rows."""
    parser = make_parser(__doc__)
    parser.add_argument("kind", choices=("plain", "keyed", "failing"), metavar="KIND")
    parser.add_argument("data", metavar="DATA.csv")
    given = parser.parse_args()
    kind, data = given.kind, given.data
    rows = len(Path(data).read_text(encoding="utf-8").splitlines()) - 1
    system = random.SystemRandom()
    if kind == "failing" and system.random() < 0.2:
        sys.exit(3)
    if kind != "keyed":
        print(json.dumps({"count": rows + geometric(system)}))
        return
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder, "key")
        key.write_bytes(system.randbytes(32))
        streams = (hmac.digest(key.read_bytes(), b"count", "sha256") for _ in range(2))
        print(json.dumps([rows + geometric(random.Random(stream)) for stream in streams]))


if __name__ == "__main__":
    main()
