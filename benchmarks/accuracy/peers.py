"""Other libraries on the same records, under the same adjacency. Their noise can not be drawn again.

OpenDP runs here. Those that clash with our versions run in `.venv-peers`: a process reads the counts from a file and
writes the curves to another one. Where that can not be set up, their rows are left out.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dpcurves.summaries import isotonic_projection

from .data import ROOT, FloatArray
from .methods import Job, Method, untuned

PLACE = ROOT / ".venv-peers"
PYTHON = PLACE / ("Scripts" if os.name == "nt" else "bin") / "python"
PACKAGES = "python-dp==1.1.5", "diffprivlib==0.6.6", "scikit-learn==1.5.2"  # newer ones break diffprivlib
PROCESS = Path(__file__).with_name("peer_process.py")
INSTALL_SECONDS = 600


def in_process() -> list[Method]:
    """The tree of OpenDP; none where OpenDP is not there."""
    try:
        import opendp  # noqa: F401
    except ImportError:
        return []
    return [untuned("OpenDP tree", opendp_tree)]


def apart() -> list[Method]:
    """Google's quantile tree and the histogram and the quantiles of diffprivlib, of which each has a pure loss."""
    found = {
        name: Method(title, {"": partial(_in_peers, name)}, most, zero_concentrated=False)
        for name, title, most in (
            ("google", "Google quantile tree", 10**6),
            ("histogram", "diffprivlib histogram", 10**6),
            ("quantiles", "diffprivlib quantiles", 50_000),
        )
    }
    return list(found.values())


def diffprivlib() -> bool:
    """Whether diffprivlib can be asked: `.venv-peers` is there, as `python benchmarks/cdf_accuracy.py` makes it."""
    return _worker() is not None


def histogram_of_diffprivlib(job: Job) -> FloatArray:
    """The curve of its noisy histogram, in a process that stays."""
    worker = _worker()
    if worker is None or worker.stdin is None or worker.stdout is None:
        raise RuntimeError(f"{PLACE.name} is not there")
    with tempfile.TemporaryDirectory() as folder:
        read, written = _handed_over([job], Path(folder))
        worker.stdin.write(f"histogram\t{read}\t{written}\n")
        worker.stdin.flush()
        said = worker.stdout.readline().strip()
        if said != "done":
            raise RuntimeError(f"diffprivlib: {said or 'the process ended'}")
        return np.asarray(np.load(written)[0])


@lru_cache(maxsize=1)
def _worker() -> subprocess.Popen[str] | None:
    if not _works():
        return None
    command = [str(PYTHON), str(PROCESS), "serve"]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(worker.kill)
    return worker


def set_up(say: Callable[[str], None]) -> bool:
    """Whether `.venv-peers` is there, made now if it was not."""
    if _works():
        return True
    say(f"Setting up {PLACE.name} for {', '.join(PACKAGES)}")
    try:
        venv.create(PLACE, with_pip=True)
        command = [str(PYTHON), "-m", "pip", "install", "--quiet", *PACKAGES]
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        say(f"Skipped: Google's quantile tree and diffprivlib. They can not be installed here: {type(error).__name__}")
        return False
    if _works():
        return True
    say("Skipped: Google's quantile tree and diffprivlib. They do not work with this Python")
    return False


def opendp_tree(job: Job) -> FloatArray:
    """Its b-ary tree of counts, under replace-one: the number of records is public; then isotonic regression."""
    return _shares(opendp_counts(job, moved=2), job.sample.records)


def opendp_counts(job: Job, moved: int) -> FloatArray:
    """Its b-ary tree of counts with the branching factor that it advises, made consistent.

    Args:
        moved: The sum of changes of cells between neighbours: a replaced record leaves one and enters another one.
    """
    cells = job.sample.grid.cells
    measurement, consistent = _opendp(cells, job.loss, moved)
    return np.asarray(consistent(measurement(job.sample.counts.tolist())), dtype=np.float64)[:cells]


@lru_cache(maxsize=64)
def _opendp(cells: int, loss: Any, moved: int) -> tuple[Any, Any]:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    branching = opendp.t.choose_branching_factor(cells)
    pure = loss.is_pure
    metric = opendp.l1_distance(T="i64") if pure else opendp.l2_distance(T="i64")
    domain = opendp.vector_domain(opendp.atom_domain(T="i64"), size=cells)
    tree = opendp.t.make_b_ary_tree(domain, metric, leaf_count=cells, branching_factor=branching)
    noise = opendp.m.then_laplace if pure else opendp.m.then_gaussian
    most = float(loss.epsilon if pure else loss.rho)  # roots of what is moved are rounded up to whole numbers
    measurement = opendp.binary_search_chain(lambda scale: tree >> noise(scale=scale), d_in=moved, d_out=most)
    return measurement, opendp.t.make_consistent_b_ary_tree(branching_factor=branching)


def _shares(counts: FloatArray, records: int) -> FloatArray:
    prefixes = np.clip(isotonic_projection(np.cumsum(counts)), 0, records) / records
    prefixes[-1] = 1.0  # their number is public
    return np.append(0.0, prefixes)


def _in_peers(name: str, jobs: Sequence[Job]) -> Iterator[FloatArray]:
    """Release jobs on one grid. Only counts that differ are handed over."""
    with tempfile.TemporaryDirectory() as folder:
        read, written = _handed_over(jobs, Path(folder))
        command = [str(PYTHON), str(PROCESS), name, str(read), str(written)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr else done.returncode}")
        yield from np.load(written)


def _handed_over(jobs: Sequence[Job], folder: Path) -> tuple[Path, Path]:
    """Write the counts and losses of jobs into a file; say where that is, and where curves are to be written."""
    distinct = {job.sample.counts.tobytes(): job.sample.counts for job in jobs}
    places = {key: number for number, key in enumerate(distinct)}
    epsilons = [float(job.loss.epsilon or 0) for job in jobs]
    grid = jobs[0].sample.grid
    read, written = folder / "counts.npz", folder / "curves.npy"
    np.savez(
        read, counts=np.stack(list(distinct.values())), ends=np.array([grid.lower, grid.upper]),
        sample=np.array([places[job.sample.counts.tobytes()] for job in jobs]), epsilon=np.array(epsilons),
        seed=np.array([job.seed for job in jobs]),
    )  # fmt: skip
    return read, written


def _works() -> bool:
    if not PYTHON.exists():
        return False
    return subprocess.run([str(PYTHON), str(PROCESS), "check"], capture_output=True, check=False).returncode == 0
