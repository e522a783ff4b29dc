"""Means over pairs of people of whom each sent one randomised report about one cell: unbiased, with exact variances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.laws.law import LEAST_PEOPLE


@dataclass(frozen=True, eq=False)
class DebiasedReports:
    """Reports, each debiased to a vector of as many numbers as there are answers.

    A report is off by noise whose covariance over all answers is, once debiased vectors are made to add up to 1,
    ``P (common I + own e e') P``, where e is the true answer and P takes off the mean. So is that of every randomiser
    whose reports support all other answers alike: k-ary, unary, subset and Hadamard responses.

    Attributes:
        counts: Unbiased counts of all answers, which add up to `people`; the last is that the value is missing.
        people: How many reported.
        common_variance: The variance that all answers have in a report.
        extra_true_variance: What that of the true answer has more; it may be less.
    """

    counts: FloatArray
    people: int
    common_variance: float
    extra_true_variance: float

    def make_pair_form(self, kernel: FloatArray) -> PairForm:
        """The sum of a kernel (cells, cells) over ordered pairs of different people who have a value."""
        padded = np.zeros((len(self.counts),) * 2)
        padded[:-1, :-1] = kernel
        return PairForm(self, padded)

    def mean(self, kernel: FloatArray) -> float:
        """The U-statistic: over all pairs of different people who have a value (Bell et al. 2019, Algorithm 1).

        Where no value is missing it is unbiased: reports are noisy on their own, and no pair is of one report.
        """
        return self.make_pair_form(kernel).unbiased_sum / self.pair_count

    @property
    def pair_count(self) -> float:
        """About how many ordered pairs have a value, both; of fewer than 2 people as many as of 2."""
        present = max(self.present, LEAST_PEOPLE)
        return present * (present - 1)

    @property
    def present(self) -> float:
        """About how many people have a value."""
        return float(self.people - self.counts[-1])

    @property
    def deviation_of_missing(self) -> float:
        """The standard deviation of how many have none, by noise: about, where few have none."""
        return sqrt(max(self.people * self.common_variance, 0.0))

    def deviation_of_mean(self, kernel: FloatArray, population: bool) -> float:
        """The standard deviation of the U-statistic, if answers had these shares."""
        return self.make_centred_form(kernel, self.mean(kernel)).find_deviation(population) / self.pair_count

    def make_centred_form(self, kernel: FloatArray, mean: float) -> PairForm:
        """The kernel less its mean: by which the U-statistic is off, if numbers of pairs are off too."""
        return self.make_pair_form(kernel - mean)

    def likely(self, shares: FloatArray) -> DebiasedReports:
        """These reports, if answers had these shares."""
        return replace(self, counts=self.people * shares)


@dataclass(frozen=True, eq=False)
class PairForm:
    """A bilinear form of reports: sums over pairs of different ones, in as many steps as the kernel has numbers.

    Attributes:
        reports: What reports say.
        kernel: The kernel on all answers; that a value is missing has zeros.
    """

    reports: DebiasedReports
    kernel: FloatArray

    @property
    def doubly_centred_kernel(self) -> FloatArray:
        """The kernel with the means of rows and columns taken off: what noise that adds up to 0 sees of it."""
        rows, columns = self.kernel.mean(axis=1), self.kernel.mean(axis=0)
        return np.asarray(self.kernel - columns - rows[:, None] + rows.mean())

    @property
    def doubly_centred_diagonal(self) -> FloatArray:
        """The diagonal of `doubly_centred_kernel`."""
        rows, columns = self.kernel.mean(axis=1), self.kernel.mean(axis=0)
        return np.asarray(np.diag(self.kernel) - columns - rows + rows.mean())

    @property
    def unbiased_sum(self) -> float:
        """The unbiased sum: the form of the counts, less what pairs of one report with itself have in it."""
        told, inner = self.reports, self.doubly_centred_diagonal
        itself = np.diag(self.kernel) + told.common_variance * inner.sum() + told.extra_true_variance * inner
        return float(told.counts @ self.kernel @ told.counts - told.counts @ itself)

    def variance_for_records(self) -> float:
        """The variance of the sum if the people are these: of randomised reports alone.

        With noises e_i that are independent: ``4 sum_i Var(e_i' A sum_(j != i) x_j) + 2 sum_(i != j) Var(e_i' A e_j)``.
        """
        told, counts, inner = self.reports, self.reports.counts, self.doubly_centred_kernel
        others = (self.kernel @ counts)[:, None] - self.kernel  # a column for the answer of each person
        seen = others - others.mean(axis=0)
        linear = counts @ (told.common_variance * (seen**2).sum(axis=0) + told.extra_true_variance * np.diag(seen) ** 2)
        each = told.common_variance + told.extra_true_variance * counts / told.people
        all_pairs = told.people**2 * float(each @ inner**2 @ each)
        rows, own = (inner**2).sum(axis=1), np.diag(inner)
        itself = (
            told.common_variance**2 * rows.sum()
            + 2 * told.common_variance * told.extra_true_variance * rows
            + (told.extra_true_variance * own) ** 2
        )
        return max(4 * float(linear) + 2 * (all_pairs - float(counts @ itself)), 0.0)

    def variance_for_population(self) -> float:
        """The variance of the sum if people are drawn, too: Hoeffding's, of debiased reports (Bell et al., Lemma 1)."""
        told, people = self.reports, self.reports.people
        shares = told.counts / people
        expected = self.kernel @ shares
        seen, mean = expected - expected.mean(), float(shares @ expected)
        one = (
            shares @ expected**2
            - mean**2
            + told.common_variance * seen @ seen
            + told.extra_true_variance * shares @ seen**2
        )
        half = self.kernel - self.kernel.mean(axis=1)[:, None]  # the kernel times P
        noise = half * (told.common_variance + told.extra_true_variance * shares)
        second = noise - noise.mean(axis=1)[:, None] + self.kernel * shares  # the kernel times E z z'
        two = float((second * second.T).sum()) - mean**2
        return max(2.0 * people * (people - 1) * (2 * (people - 2) * float(one) + two), 0.0)

    def find_deviation(self, population: bool) -> float:
        """The standard deviation of the sum."""
        return sqrt(self.variance_for_population() if population else self.variance_for_records())
