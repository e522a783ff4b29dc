"""Runs noisy comparisons by other programs of two parties beside these: times and their ratio.

`python benchmarks/pairs_peers.py` runs what `DPCURVES_PAIR_PEERS` names, as in
``emp-sh2pc=/path/to/one,yao-party=...``; none is needed, and none comes with this package. Each is a program that is
started twice, as ``PROGRAM PARTY PORT COUNT CUT``: party 1 or 2, which listens or calls on this machine, draws COUNT
even numbers of 32 bits and coins of 16, works out whether its number is less than the other's, turned round where the
XOR of both coins is less than CUT, opens all to both, and prints as its last line ``ones ONES cpu SECONDS wall
SECONDS``. Outputs are held against the chance that there is of them: beyond 5 standard deviations, they are of
another circuit.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from dataclasses import replace

from command_line import is_quick
from pairs_garbling import NOISE, measured, noisy_comparison

VARIABLE = "DPCURVES_PAIR_PEERS"
LINE = re.compile(r"ones (\d+) cpu ([\d.]+) wall ([\d.]+)")
LONGEST = 600


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def of_peer(program: str, count: int) -> tuple[int, float, float]:
    """Ones, seconds of both processors, and seconds."""
    place = [str(free_port()), str(count), str(NOISE.flip_numerator)]
    running = [
        subprocess.Popen([program, party, *place], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        for party in ("1", "2")
    ]
    told = [LINE.findall(each.communicate(timeout=LONGEST)[0])[-1] for each in running]
    ones = {int(line[0]) for line in told}
    if len(ones) != 1:
        raise SystemExit(f"{program}: both parties told different outputs")
    return ones.pop(), sum(float(line[1]) for line in told), max(float(line[2]) for line in told)


def even(ones: int, count: int) -> str:
    """Half of the outputs are 1, for numbers are even."""
    return "as expected" if abs(ones - count / 2) <= 5 * (count / 4) ** 0.5 else "ANOTHER CIRCUIT"


def main() -> None:
    count = 10_000 if is_quick(__doc__) else 100_000
    peers = [each.split("=", 1) for each in os.environ.get(VARIABLE, "").split(",") if "=" in each]
    print(f"{count} noisy comparisons of 32 bits on loopback: seconds of both processors, and until both have all")
    print(f"{'':24}{'seconds':>9}{'wall':>8}{'ratio':>8}  outputs")
    found = measured(replace(noisy_comparison(), count=count))
    print(f"{'here, over TLS':24}{found.cpu:9.2f}{found.wall:8.2f}{1:8.2f}  {even(int(found.shares[0].sum()), count)}")
    for name, program in peers:
        ones, cpu, wall = of_peer(program, count)
        print(f"{name:24}{cpu:9.2f}{wall:8.2f}{cpu / found.cpu:8.2f}  {even(ones, count)}")
    if not peers:
        print(f"no peers: name programs in {VARIABLE} (see the first lines of this file)")


if __name__ == "__main__":
    main()
