from .bands import (
    PILOT,
    Band,
    Sample,
    dvoretzky,
    interval,
    level_of_an_end,
    means_at_once,
    monotone_hull,
    outermost,
    population_band,
    scaled,
    seen,
    simultaneous_band,
    simultaneous_errors,
    upper_quantile,
    upper_quantiles,
)
from .design_effect import Ratios, kish, ratios_of
from .groups import GroupCounts, GroupNoise, hosmer_lemeshow, mean_residuals, simulated_p_value
from .moments import (
    KNOWN,
    LARGEST_VARIANCE,
    Moments,
    ReleasedMoments,
    Spread,
    mean_intervals,
    positive_intervals,
    residual_envelope,
    share_intervals,
)
from .quantiles import (
    Bracket,
    PathQuantile,
    Weighed,
    are_few,
    bisected,
    cell_at,
    ends_at,
    ends_by_tests,
    inside,
    tail_bound,
)
from .rates import RocBand, population_roc_band, roc_band, spread_out
from .simulation import (
    DRAWS,
    chance_of_as_much,
    draws_for,
    noise_of,
    numbered_generator,
    public_generator,
    sampling_errors,
    sampling_generator,
)
from .tails import TailCounts
from .two_samples import TwoSampleTest, chance_of_less

__all__ = [
    "DRAWS", "KNOWN", "LARGEST_VARIANCE", "PILOT", "Band", "Bracket", "GroupCounts", "GroupNoise",
    "Moments", "PathQuantile", "Ratios", "ReleasedMoments", "RocBand", "Sample", "Spread",
    "TailCounts", "TwoSampleTest", "Weighed", "are_few", "bisected", "cell_at", "chance_of_as_much", "chance_of_less",
    "draws_for", "dvoretzky", "ends_at", "ends_by_tests", "hosmer_lemeshow", "inside", "interval", "kish",
    "level_of_an_end", "mean_intervals", "mean_residuals", "means_at_once", "monotone_hull", "noise_of",
    "numbered_generator", "outermost", "population_band", "population_roc_band", "positive_intervals",
    "public_generator", "ratios_of", "residual_envelope", "roc_band", "sampling_errors", "sampling_generator",
    "scaled", "seen", "share_intervals", "simulated_p_value", "simultaneous_band", "simultaneous_errors",
    "spread_out", "tail_bound", "upper_quantile", "upper_quantiles",
]  # fmt: skip
