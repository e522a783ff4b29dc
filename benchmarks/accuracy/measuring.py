"""Releases of tasks by methods, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

from dpcurves.privacy import PrivacyLoss

from .data import Task
from .errors import Measured, errors_of
from .methods import Job, Method, Releases

W1 = 1  # the error by which papers are tuned


@dataclass(frozen=True)
class Size:
    """How much is done.

    Attributes:
        draws: How often the data is drawn, where it is.
        releases: In all, in equal numbers of each draw.
        epsilons: The epsilons of the table of regrets.
        cells: The number of cells of each speed.
    """

    draws: int
    releases: int
    epsilons: tuple[str, ...]
    exponents: tuple[int, ...]


FULL = Size(8, 40, ("0.1", "0.5", "1", "2"), (10, 12, 15, 17, 18, 19, 20))
USUAL = replace(FULL, releases=16)
QUICK = Size(2, 4, ("0.5", "1"), (10, 12, 15))
TINY = Size(1, 2, ("1",), (6, 7))


def measure(task: Task, method: Method, loss: PrivacyLoss, size: Size, step: Callable[[], None]) -> Measured | None:
    """Errors of all releases; of the variant with the least W1, if there are several. None: it does not answer."""
    jobs = jobs_of(task, loss, size)
    if not method.answers(jobs[0].sample, loss):
        step()
        return None
    measured = [_measured(variant, jobs) for variant in method.variants.values()]
    step()
    return min(measured, key=lambda found: found.mean[W1])


def jobs_of(task: Task, loss: PrivacyLoss, size: Size) -> list[Job]:
    """All methods get the same samples and seeds."""
    samples = [task.sample(number) for number in range(min(size.draws, task.draws))]
    return [Job(samples[number % len(samples)], loss, 1000 + number) for number in range(size.releases)]


def _measured(variant: Releases, jobs: list[Job]) -> Measured:
    started = process_time()
    errors = [errors_of(shares, job.sample) for job, shares in zip(jobs, variant(jobs), strict=True)]
    return Measured(np.array(errors), (process_time() - started) / len(jobs))
