"""Means over pairs of people, each of whom sent one randomised report about a cell: unbiased, with exact variances.

A debiased report z has the expectation e, the unit vector of the true answer, and the covariance ``P (common I + own e
e') P``. With the sum c of n reports and a kernel K, the sum over ordered pairs of different people is c'Kc minus what a
report would contribute with itself, and the U-statistic is its mean:

    sum over i != j of z_i' K z_j  =  c' K c - sum_i z_i' K z_i           U = estimate / (n (n - 1))

The second term is replaced by its expectation given the counts (`PairForm.unbiased_sum`), so the estimate needs counts
alone. Its variance for these people, or for a sample of people (Hoeffding), has a closed form.

Formal guarantees: post-processing of randomised reports.

References: Hoeffding 1948; Bell, Bellet, Gascon and Kulkarni 2019, Algorithm 1 and Lemma 1.

>>> reports = DebiasedReports(np.array([2.0, 2.0, 0.0]), 4, 0.0, 0.0)  # two people in each cell, no noise
>>> round(reports.mean(np.array([[0.0, 1.0], [1.0, 0.0]])), 4)  # share of ordered pairs in different cells
0.6667
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.distributions.output_distribution import LEAST_PEOPLE


@dataclass(frozen=True, eq=False)
class DebiasedReports:
    """Reports, each debiased to a vector with one number per answer.

    Debiased vectors are projected to add up to 1. The noise of a report then has the covariance
    ``P (common I + own e e') P``, where e is the true answer and P subtracts the mean. This holds for every randomiser
    whose reports support all other answers alike: k-ary, unary, subset and Hadamard responses.

    Attributes:
        counts: Unbiased counts of all answers, which add up to `people`; the last answer is "missing".
        people: Number of reports.
        common_variance: Variance of every answer in a report (common in the covariance).
        extra_true_variance: Additional variance of the true answer (own in the covariance); it can be negative.
    """

    counts: FloatArray
    people: int
    common_variance: float
    extra_true_variance: float

    def make_pair_form(self, kernel: FloatArray) -> PairForm:
        """Return the bilinear form whose sum is that of a kernel ``(cells, cells)`` over ordered pairs of different
        people with a value.
        """
        padded = np.zeros((len(self.counts),) * 2)
        padded[:-1, :-1] = kernel
        return PairForm(self, padded)

    def mean(self, kernel: FloatArray) -> float:
        """Return the U-statistic over all pairs of different people with a value (Bell et al. 2019, Algorithm 1).

        It is unbiased if no value is missing: the noises of reports are independent, and no pair repeats a report.
        """
        return self.make_pair_form(kernel).unbiased_sum / self.pair_count

    @property
    def pair_count(self) -> float:
        """Estimated number of ordered pairs in which both people have a value, at least the 2 pairs of two people."""
        present = max(self.present, LEAST_PEOPLE)
        return present * (present - 1)

    @property
    def present(self) -> float:
        """Estimated number of people with a value."""
        return float(self.people - self.counts[-1])

    @property
    def deviation_of_missing(self) -> float:
        """Standard deviation of the number of missing values due to noise, approximate if few are missing."""
        return sqrt(max(self.people * self.common_variance, 0.0))

    def deviation_of_mean(self, kernel: FloatArray, population: bool) -> float:
        """Return the standard deviation of the U-statistic of a kernel for people whose true answers have the shares
        that these counts estimate; with `population`, sampling of people included.
        """
        return self.make_centred_form(kernel, self.mean(kernel)).find_deviation(population) / self.pair_count

    def make_centred_form(self, kernel: FloatArray, mean: float) -> PairForm:
        """Return the form of the kernel minus its mean: the linearised error of a U-statistic with an estimated number
        of pairs.
        """
        return self.make_pair_form(kernel - mean)

    def likely(self, shares: FloatArray) -> DebiasedReports:
        """Return answers of the same people, with the counts expected if the true answers had these shares."""
        return replace(self, counts=self.people * shares)


@dataclass(frozen=True, eq=False)
class PairForm:
    """A bilinear form of reports: a sum over pairs of different people, computed in time linear in the kernel's
    entries.

    Attributes:
        reports: The debiased reports.
        kernel: The kernel on all answers, zero for missing values.
    """

    reports: DebiasedReports
    kernel: FloatArray

    @property
    def doubly_centred_kernel(self) -> FloatArray:
        """The kernel minus the means of its rows and columns, to which noise that adds up to 0 is sensitive."""
        rows = self.kernel.mean(axis=1)
        columns = self.kernel.mean(axis=0)
        return np.asarray(self.kernel - columns - rows[:, None] + rows.mean())

    @property
    def doubly_centred_diagonal(self) -> FloatArray:
        """Diagonal of `doubly_centred_kernel`."""
        rows = self.kernel.mean(axis=1)
        columns = self.kernel.mean(axis=0)
        return np.asarray(np.diag(self.kernel) - columns - rows + rows.mean())

    @property
    def unbiased_sum(self) -> float:
        """The unbiased sum: the form of the counts, minus the expectation of pairs of a report with itself."""
        debiased, inner = self.reports, self.doubly_centred_diagonal
        itself = np.diag(self.kernel) + debiased.common_variance * inner.sum() + debiased.extra_true_variance * inner
        return float(debiased.counts @ self.kernel @ debiased.counts - debiased.counts @ itself)

    def variance_for_records(self) -> float:
        """Return the variance of the sum for fixed people, from randomisation alone.

        With independent noises e_i: ``4 sum_i Var(e_i' A sum_(j != i) x_j) + 2 sum_(i != j) Var(e_i' A e_j)``.
        """
        debiased = self.reports
        counts = self.reports.counts
        inner = self.doubly_centred_kernel
        other_sums = (self.kernel @ counts)[:, None] - self.kernel  # a column for the answer of each person
        centred = other_sums - other_sums.mean(axis=0)
        common_part = debiased.common_variance * (centred**2).sum(axis=0)
        linear = counts @ (common_part + debiased.extra_true_variance * np.diag(centred) ** 2)
        noise_variances = debiased.common_variance + debiased.extra_true_variance * counts / debiased.people
        all_pairs = debiased.people**2 * float(noise_variances @ inner**2 @ noise_variances)
        rows = (inner**2).sum(axis=1)
        diagonal = np.diag(inner)
        itself = (
            debiased.common_variance**2 * rows.sum()
            + 2 * debiased.common_variance * debiased.extra_true_variance * rows
            + (debiased.extra_true_variance * diagonal) ** 2
        )
        return max(4 * float(linear) + 2 * (all_pairs - float(counts @ itself)), 0.0)

    def variance_for_population(self) -> float:
        """Return the variance of the sum for random people: Hoeffding's, of debiased reports (Bell et al., Lemma 1)."""
        debiased = self.reports
        people = self.reports.people
        shares = debiased.counts / people
        expected = self.kernel @ shares
        centred = expected - expected.mean()
        mean = float(shares @ expected)
        linear_variance = (
            shares @ expected**2
            - mean**2
            + debiased.common_variance * centred @ centred
            + debiased.extra_true_variance * shares @ centred**2
        )
        centred_kernel = self.kernel - self.kernel.mean(axis=1)[:, None]  # the kernel times P
        noise = centred_kernel * (debiased.common_variance + debiased.extra_true_variance * shares)
        quadratic = noise - noise.mean(axis=1)[:, None] + self.kernel * shares  # the kernel times E z z'
        two = float((quadratic * quadratic.T).sum()) - mean**2
        return max(2.0 * people * (people - 1) * (2 * (people - 2) * float(linear_variance) + two), 0.0)

    def find_deviation(self, population: bool) -> float:
        """Return the standard deviation of the sum, for these people or, with `population`, for randomly
        sampled ones.
        """
        return sqrt(self.variance_for_population() if population else self.variance_for_records())
