"""U-statistics in local differential privacy: unbiased means of a kernel over pairs of people, with exact variances.

A kernel is a function of two people's values, here a table K over pairs of cells, such as the distance of their
middles. Each person sent one randomised report about a cell.

    DebiasedReports.mean                 counts of reports, kernel -> unbiased mean over pairs
    DebiasedReports.deviation_of_mean    its standard deviation, for these people or for a population

A report, once debiased, is a vector z. Its expectation is e, the unit vector of the true answer. Its covariance is
``P (common I + own e e') P``, where P subtracts the mean. Let c be the sum of n reports. Then

    sum over i != j of z_i' K z_j  =  c' K c - sum_i z_i' K z_i           U = estimate / (n (n - 1))

The second term is replaced by its expectation given the counts (`PairForm.unbiased_sum`), so counts suffice. The
variance has a closed form, both for these people and for a random sample of people (Hoeffding).

Formal guarantees: everything here is computed from randomised reports, without the true answers, so nothing is lost
beyond the reports' loss (post-processing).

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
    """The sum of all debiased reports, with the two variances that describe the noise of a single report.

    Each debiased vector is projected so that it adds up to 1. The noise of a report then has the covariance
    ``P (common I + own e e') P``, where e is the true answer and P subtracts the mean. This holds for k-ary, unary,
    subset and Hadamard responses, because their reports support all other answers alike.

    Attributes:
        counts: Unbiased counts of all answers; they add up to `people`. The last answer is "missing".
        people: Number of reports.
        common_variance: Variance of every answer in a report ("common" above).
        extra_true_variance: Additional variance of the true answer ("own" above); it can be negative.
    """

    counts: FloatArray
    people: int
    common_variance: float
    extra_true_variance: float

    def make_pair_form(self, kernel: FloatArray) -> PairForm:
        """Return the estimator of the sum of a kernel over ordered pairs of different people, both with a value.

        Args:
            kernel: Value of each pair of cells, (cells, cells). Pairs with a missing value count 0.
        """
        padded = np.zeros((len(self.counts),) * 2)
        padded[:-1, :-1] = kernel
        return PairForm(self, padded)

    def mean(self, kernel: FloatArray) -> float:
        """Return the mean of a kernel over ordered pairs of different people with a value (Bell et al. 2019, Algorithm
        1).

        The estimate is unbiased if no value is missing: noises of different reports are independent, and no pair has
        one person twice.

        Args:
            kernel: Value of each pair of cells, (cells, cells).
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
        """Standard deviation, due to noise, of the estimated number of missing values; accurate if few are missing."""
        return sqrt(max(self.people * self.common_variance, 0.0))

    def deviation_of_mean(self, kernel: FloatArray, population: bool) -> float:
        """Return the standard deviation of `mean`.

        The true answers are assumed to have the shares that these counts estimate.

        Args:
            kernel: Value of each pair of cells, (cells, cells).
            population: Whether to add the error of sampling people. False: the noise of the reports alone.
        """
        return self.make_centred_form(kernel, self.mean(kernel)).find_deviation(population) / self.pair_count

    def make_centred_form(self, kernel: FloatArray, mean: float) -> PairForm:
        """Return the estimator of the sum of a kernel minus its mean, whose error is the error of the estimated mean.

        The error is linearised, because the number of pairs is estimated too.

        Args:
            kernel: Value of each pair of cells, (cells, cells).
            mean: The estimate that is subtracted, from `mean`.
        """
        return self.make_pair_form(kernel - mean)

    def with_expected_counts(self, shares: FloatArray) -> DebiasedReports:
        """Return reports of as many people whose counts are those expected for given true shares.

        Args:
            shares: Share of each answer, with "missing" last; they add up to 1.
        """
        return replace(self, counts=self.people * shares)


@dataclass(frozen=True, eq=False)
class PairForm:
    """The sum of a kernel over ordered pairs of different people, estimated from debiased reports.

    All results take time linear in the number of entries of the kernel.

    Attributes:
        reports: The debiased reports.
        kernel: Value of each pair of answers, (answers, answers); 0 for missing values.
    """

    reports: DebiasedReports
    kernel: FloatArray

    @property
    def doubly_centred_kernel(self) -> FloatArray:
        """Kernel minus its row means and column means (plus the overall mean), (answers, answers).

        Noise that adds up to 0 over the answers enters the sum of the kernel through this matrix alone.
        """
        rows = self.kernel.mean(axis=1)
        columns = self.kernel.mean(axis=0)
        return np.asarray(self.kernel - columns - rows[:, None] + rows.mean())

    @property
    def doubly_centred_diagonal(self) -> FloatArray:
        """Diagonal of `doubly_centred_kernel`, of shape ``(answers,)``."""
        rows = self.kernel.mean(axis=1)
        columns = self.kernel.mean(axis=0)
        return np.asarray(np.diag(self.kernel) - columns - rows + rows.mean())

    @property
    def unbiased_sum(self) -> float:
        """Unbiased estimate of the sum of the kernel over pairs: ``c' K c`` for debiased counts c, minus the expected
        products of each report with itself.
        """
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
        """Return the variance of the sum if people are a random sample.

        This is Hoeffding's variance of a U-statistic of debiased reports (Bell et al. 2019, Lemma 1).
        """
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
        """Return the standard deviation of the estimated sum of the kernel over pairs.

        Args:
            population: Whether to add the error of sampling people. False: the noise of the reports alone.
        """
        return sqrt(self.variance_for_population() if population else self.variance_for_records())
