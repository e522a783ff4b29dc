from .comparison_grids import ComparisonForecast, forecast_comparison
from .competing_risks import CompetingRisks, CompetingRisksQuestion
from .group_tests import median_difference, median_follow_up, multivariate_log_rank_test
from .incidence_tests import GrayTest, gray_test
from .kaplan_meier import Survival, SurvivalQuestion, log_rank_test
from .shortcuts import survival
from .survival_models import SurvivalModel, SurvivalModelQuestion
from .survival_readings import (
    CumulativeHazard,
    Estimate,
    SurvivalNumbers,
    cumulative_hazard_at,
    hazard_ratio,
    number_needed_to_treat,
    restricted_mean,
    restricted_mean_difference,
    survival_at,
    survival_difference,
    survival_figure,
    survival_numbers,
)
from .variants import (
    AutoRangeSurvivalQuestion,
    DelayedEntry,
    DelayedEntryQuestion,
    IntervalCensoredQuestion,
    IntervalCensoredSurvival,
    WeightedSurvival,
    WeightedSurvivalQuestion,
)

__all__ = [
    "AutoRangeSurvivalQuestion",
    "ComparisonForecast",
    "CompetingRisks",
    "CompetingRisksQuestion",
    "CumulativeHazard",
    "DelayedEntry",
    "DelayedEntryQuestion",
    "Estimate",
    "GrayTest",
    "IntervalCensoredQuestion",
    "IntervalCensoredSurvival",
    "Survival",
    "SurvivalModel",
    "SurvivalModelQuestion",
    "SurvivalNumbers",
    "SurvivalQuestion",
    "WeightedSurvival",
    "WeightedSurvivalQuestion",
    "cumulative_hazard_at",
    "forecast_comparison",
    "gray_test",
    "hazard_ratio",
    "log_rank_test",
    "median_difference",
    "median_follow_up",
    "multivariate_log_rank_test",
    "number_needed_to_treat",
    "restricted_mean",
    "restricted_mean_difference",
    "survival",
    "survival_at",
    "survival_difference",
    "survival_figure",
    "survival_numbers",
]  # fmt: skip
