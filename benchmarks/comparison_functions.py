"""Comparison functions, a key and a level, beside the same in C with AES-NI, in one run, on one core.

`python benchmarks/comparison_functions.py` compiles the C with gcc where there is one. Seconds are those of the
processor. With --quick, fewer keys.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from command_line import is_quick
from numpy.typing import NDArray

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import (
    Z64,
    Domain,
    Engine,
    FastEngine,
    PortableEngine,
    SharedKeys,
    evaluate_checked_keys,
    evaluate_keys,
    prefix_sums,
    share_cells,
    share_checked_cells,
    supported_lanes,
)  # fmt: skip
from dpcurves_parties.crypto.comparison import cell_sums
from dpcurves_parties.crypto.engine import expand_aes_key

Words = NDArray[np.uint64]

DOMAIN = Domain(32, Z64)
THRESHOLD = 1_234_567_890
CHUNK = 2048
PATH = ctypes.c_uint64(THRESHOLD >> 1)
ROUNDS = 7
PEER = "C, AES-NI"
WANTED = {"fast": (1.5, 1.5), "portable": (3.0, 5.0)}  # Eval and Gen, in multiples of C
PORTABLE_MILLISECONDS = 40
SYSTEM = Randomness.from_system()

# Eight keys at a time, rounds side by side; arrays and their meaning are those of dpcurves_parties.crypto.PublicShare.
C_CODE = r"""
#include <immintrin.h>
#include <stdint.h>
typedef __m128i B; typedef uint64_t W;
enum { G = 8 };
#define EACH for (int g = 0; g < G; g++)
static inline void expand(const B *k, const B *in, B *out) {
  B x[G]; EACH x[g] = _mm_xor_si128(in[g], k[0]);
  for (int r = 1; r < 10; r++) EACH x[g] = _mm_aesenc_si128(x[g], k[r]);
  EACH out[g] = _mm_xor_si128(_mm_aesenclast_si128(x[g], k[10]), in[g]);
}
static inline B control(B s) { return _mm_shuffle_epi32(_mm_srai_epi32(s, 31), 0xFF); }
static inline B high(W w) { return _mm_set_epi64x((long long)w, 0); }
void eval(B *s, W *v, const B *cs, const W *cv, const W *turns, const B *keys,
          long n, long stride, long levels, W path) {
  for (long l = 0; l < levels; l++, cs += stride, cv += stride) {
    int right = path >> (levels - 1 - l) & 1;
    for (long i = 0; i < n; i += G) {
      B in[G], child[G], gain[G]; EACH in[g] = s[i + g];
      expand(keys + 11 * right, in, child); expand(keys + 22, in, gain);
      EACH {
        B m = control(in[g]), c = cs[i + g];
        if (right) c = _mm_xor_si128(c, high(turns[i + g] << (63 - l) & (W)1 << 63));
        s[i + g] = _mm_xor_si128(child[g], _mm_and_si128(c, m));
        W gained = right ? _mm_extract_epi64(gain[g], 1) : _mm_extract_epi64(gain[g], 0);
        v[i + g] += gained + (cv[i + g] & (W)_mm_extract_epi64(m, 0));
      }
    }
  }
}
static inline B pick(B m, B a, B b) { return _mm_xor_si128(a, _mm_and_si128(_mm_xor_si128(a, b), m)); }
void gen(const W *cell, B *s0, B *s1, W *owed, B *cs, W *cv, W *turns, const B *keys,
         long n, long stride, long levels, long bits) {
  const B top = high((W)1 << 63), ones = _mm_set1_epi64x(-1);
  for (long l = 0; l < levels; l++, cs += stride, cv += stride)
    for (long i = 0; i < n; i += G) {
      B a[G], b[G], la[G], lb[G], ra[G], rb[G], va[G], vb[G];
      EACH { a[g] = s0[i + g]; b[g] = s1[i + g]; }
      expand(keys, a, la); expand(keys, b, lb); expand(keys + 11, a, ra); expand(keys + 11, b, rb);
      expand(keys + 22, a, va); expand(keys + 22, b, vb);
      EACH {
        W r = -(cell[i + g] >> (bits - 1 - l) & 1);
        B right = _mm_set1_epi64x((long long)r), dl = _mm_xor_si128(la[g], lb[g]), dr = _mm_xor_si128(ra[g], rb[g]);
        B lc = _mm_and_si128(_mm_xor_si128(dl, _mm_xor_si128(right, ones)), top);
        B turn = _mm_xor_si128(lc, _mm_and_si128(_mm_xor_si128(dr, right), top));
        B c = _mm_or_si128(_mm_andnot_si128(top, pick(right, dr, dl)), lc), ma = control(a[g]), mb = control(b[g]);
        cs[i + g] = c; turns[i + g] |= (W)_mm_extract_epi64(turn, 1) >> (63 - l);
        c = _mm_xor_si128(c, _mm_and_si128(turn, right));
        s0[i + g] = _mm_xor_si128(pick(right, la[g], ra[g]), _mm_and_si128(c, ma));
        s1[i + g] = _mm_xor_si128(pick(right, lb[g], rb[g]), _mm_and_si128(c, mb));
        B sa = _mm_shuffle_epi32(va[g], 0x4E), sb = _mm_shuffle_epi32(vb[g], 0x4E), d = _mm_sub_epi64(vb[g], va[g]);
        W lost = _mm_extract_epi64(pick(right, _mm_sub_epi64(sb, sa), d), 0);
        W kept = _mm_extract_epi64(pick(right, d, _mm_sub_epi64(sb, sa)), 0), sign = _mm_extract_epi64(mb, 0);
        W gained = lost + (~r & 1) - owed[i + g];
        cv[i + g] = (gained ^ sign) - sign; owed[i + g] += gained - kept;
      }
    }
}
"""


def compiled_reference() -> ctypes.CDLL | None:
    """The C code, or nothing where there is no gcc for a processor with AES-NI."""
    compiler = shutil.which("gcc")
    if compiler is None or not supported_lanes():
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "reference.c"), Path(folder, "reference.so")
        source.write_text(C_CODE)
        subprocess.run([compiler, "-O3", "-maes", "-msse4.1", "-shared", "-fPIC", source, "-o", library], check=True)
        return ctypes.CDLL(str(library))


def aligned(shape: tuple[int, ...]) -> Words:
    """Zeros that begin where a block may begin."""
    size = int(np.prod(shape))
    room = np.zeros(size + 2, np.uint64)
    return room[room.ctypes.data % 16 // 8 :][:size].reshape(shape)


def copied(words: Words) -> Words:
    result = aligned(words.shape)
    result[...] = words
    return result


def place(array: Words) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Reference:
    """The C code over chunks of the same arrays."""

    def __init__(self, library: ctypes.CDLL, engine: Engine, shared: SharedKeys, cells: Words) -> None:
        self.library, self.cells, self.count = library, cells, len(cells)
        self.rounds = copied(
            np.stack([expand_aes_key(key) for key in (engine.keys.left, engine.keys.right, engine.keys.value)])
        )
        public = shared.public
        self.roots = [copied(share.words) for share in shared.seeds]
        self.seeds, self.values = copied(public.seeds), copied(public.values)
        self.turns, self.leaf = public.turns, public.leaf
        self.made = aligned(public.seeds.shape), aligned(public.values.shape), np.zeros_like(public.turns)

    def evaluate(self) -> tuple[Words, Words]:
        """Seeds and sums at the leaves, for server 0."""
        seeds, sums = copied(self.roots[0]), np.zeros(self.count, np.uint64)
        for start in range(0, self.count, CHUNK):
            arrays = seeds[start:], sums[start:], self.seeds[0, start:], self.values[0, start:], self.turns[start:]
            counts = min(CHUNK, self.count - start), self.count, DOMAIN.levels
            self.library.eval(
                *map(place, arrays), place(self.rounds), *map(ctypes.c_long, counts), ctypes.c_uint64(THRESHOLD >> 1)
            )
        return seeds, sums

    def generate(self) -> None:
        seeds, values, turns = self.made
        turns[:] = 0
        pair, owed = [copied(roots) for roots in self.roots], np.zeros(self.count, np.uint64)
        for start in range(0, self.count, CHUNK):
            arrays = (
                self.cells[start:], pair[0][start:], pair[1][start:], owed[start:],
                seeds[0, start:], values[0, start:], turns[start:], self.rounds,
            )  # fmt: skip
            counts = min(CHUNK, self.count - start), self.count, DOMAIN.levels, DOMAIN.bits
            self.library.gen(*map(place, arrays), *map(ctypes.c_long, counts))

    def agrees(self, shared: SharedKeys, engine: Engine) -> bool:
        """Whether the C code makes the same keys, and reads them alike but for the leaves."""
        self.generate()
        seeds, values, turns = self.made
        public = shared.public
        same = all(map(np.array_equal, (seeds, values, turns), (public.seeds, public.values, public.turns)))
        _, sums = self.evaluate()
        return same and bool(sums.any())


def least_seconds(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best of some rounds, in which all take turns: whatever else the machine does meets them alike."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            started = process_time()
            work()
            best[name] = min(best[name], process_time() - started)
    return best


def engines() -> dict[str, Engine]:
    portable = PortableEngine.from_task(b"benchmark")
    return ({"fast": FastEngine.from_task(b"benchmark")} if supported_lanes() else {}) | {"portable": portable}


def reference(shared: SharedKeys, engine: Engine, cells: Words) -> Reference | None:
    library = compiled_reference()
    if library is None:
        return None
    found = Reference(library, engine, shared, cells)
    if not found.agrees(shared, engine):
        raise SystemExit("C makes other keys")
    return found


def beside_c(count: int) -> None:
    cells = np.random.default_rng(7).integers(0, 2**DOMAIN.bits, count, dtype=np.uint64)
    available = engines()
    shared = share_cells(cells, DOMAIN, available["portable"], SYSTEM)
    evaluating: dict[str, Callable[[], object]] = {}
    generating: dict[str, Callable[[], object]] = {}
    peer = reference(shared, available["portable"], cells)
    if peer is not None:
        evaluating[PEER], generating[PEER] = peer.evaluate, peer.generate
    for name, engine in available.items():
        evaluating[name] = partial(prefix_sums, shared.keys(0), [THRESHOLD], engine)
        generating[name] = partial(share_cells, cells, DOMAIN, engine, SYSTEM)
    print(f"{count} keys of {DOMAIN.bits} bits: nanoseconds a key and level, and multiples of {PEER}")
    print(f"{'':16}{'Eval':>8}{'':9}{'wanted':>9}{'Gen':>10}{'':9}{'wanted':>9}{'10^5 keys, one threshold':>28}")
    steps = count * DOMAIN.levels / 1e9
    seconds = {
        name: (one, two)
        for (name, one), two in zip(least_seconds(evaluating).items(), least_seconds(generating).values(), strict=True)
    }
    for name, (one, two) in seconds.items():
        base = seconds.get(PEER, (float("nan"),) * 2)
        limits = [f"{limit:.1f}x" for limit in WANTED.get(name, ())] or ["", ""]
        print(
            f"{name:16}{one / steps:8.1f}{one / base[0]:8.2f}x{limits[0]:>9}"
            f"{two / steps:10.1f}{two / base[1]:8.2f}x{limits[1]:>9}{one / count * 1e8:25.1f} ms"
        )
    print(f"wanted of portable: {PORTABLE_MILLISECONDS} ms")


def many_thresholds(count: int) -> None:
    """What `cell_cost` and `LEAF_COST` are set by: steps of a long path, whole domains, and paths to all cells."""
    print("\nMany thresholds, nanoseconds a key: a step, a cell of an enumerated domain, a threshold of all, walked to")
    for bits in (8, 11):
        domain = Domain(bits, Z64)
        cells = np.random.default_rng(7).integers(0, 2**bits, count, dtype=np.uint64)
        for name, engine in engines().items():
            keys = share_cells(cells, domain, engine, SYSTEM).keys(0)
            far = share_cells(cells, DOMAIN, engine, SYSTEM).keys(0)
            best = least_seconds(
                {
                    "step": partial(prefix_sums, far, [THRESHOLD], engine),
                    "cell": partial(cell_sums, keys, engine),
                    "threshold": partial(evaluate_keys, keys, range(2**bits), engine),
                }
            )
            step, cell = best["step"] / count / DOMAIN.levels * 1e9, best["cell"] / count / 2**bits * 1e9
            each = best["threshold"] / count / 2**bits * 1e9
            print(f"{name:16}2^{bits:<4}{step:8.1f}{cell:8.1f}{each:8.1f}   a cell is {cell / step:.2f} steps")


def checked(count: int) -> None:
    print("\nChecked keys of 32 bits, milliseconds for 10^5: making them, one threshold; and comparisons unchecked")
    cells = np.random.default_rng(7).integers(0, 2**DOMAIN.bits, count, dtype=np.uint64)
    for name, engine in engines().items():
        both = share_checked_cells(cells, DOMAIN, engine, SYSTEM)
        plain = share_cells(cells, DOMAIN, engine, SYSTEM)
        best = least_seconds(
            {
                "make": partial(share_checked_cells, cells, DOMAIN, engine, SYSTEM),
                "ask": partial(evaluate_checked_keys, both.keys(0), [THRESHOLD], engine, bytes(32)),
                "plain make": partial(share_cells, cells, DOMAIN, engine, SYSTEM),
                "plain ask": partial(prefix_sums, plain.keys(0), [THRESHOLD], engine),
            }
        )
        print(f"{name:16}" + "".join(f"{seconds / count * 1e8:10.0f}" for seconds in best.values()))


def main() -> None:
    quick = is_quick(__doc__)
    beside_c(16_384 if quick else 98_304)
    many_thresholds(1024 if quick else 4096)
    checked(1024 if quick else 8192)


if __name__ == "__main__":
    main()
