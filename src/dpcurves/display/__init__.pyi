from .at_risk_table import AtRiskRow
from .balance import BalanceReport, ChargeRow, RefusalRow, Spender
from .bars_picture import draw_bars
from .binned_picture import draw_binned_residuals
from .bounds_picture import draw_bounds, draw_plane_bounds
from .calibration_picture import draw_calibration, draw_hosmer_lemeshow
from .canvas import LANDSCAPE, SQUARE, headless_axes
from .confusion_picture import draw_confusion
from .curve_json import Opened, bundle, envelope, opened, privacy_object
from .decision_picture import draw_decision
from .distribution_picture import draw_cdf, draw_cdf_of_values
from .frame import to_frame
from .gain_picture import draw_gain
from .html_summary import html_summary, summary_facts
from .means_picture import draw_means
from .numbers_picture import draw_numbers
from .numerals import numeral, numerals, span, standing
from .picture_file import save_figure, svg_text
from .plane_picture import draw_plane
from .privacy_line import SEEDED, footer
from .published_schema import check_document, curve_schema
from .quantile_quantile_picture import SteppedShade, draw_quantile_quantile
from .quantiles_picture import draw_quantiles
from .report import report
from .residual_picture import draw_residual_density, draw_residual_points
from .roc_picture import DrawnArea, Region, area_rows, draw_roc
from .shade import POPULATION, RECORDS, Shade, covering
from .small_multiples import MOST_TOGETHER, draw_small
from .terminal import allowance_table, curve_table, ledger_table

__all__ = [
    "LANDSCAPE",
    "MOST_TOGETHER",
    "POPULATION",
    "RECORDS",
    "SEEDED",
    "SQUARE",
    "AtRiskRow",
    "BalanceReport",
    "ChargeRow",
    "DrawnArea",
    "Opened",
    "RefusalRow",
    "Region",
    "Shade",
    "Spender",
    "SteppedShade",
    "allowance_table",
    "area_rows",
    "bundle",
    "check_document",
    "covering",
    "curve_schema",
    "curve_table",
    "draw_bars",
    "draw_binned_residuals",
    "draw_bounds",
    "draw_calibration",
    "draw_cdf",
    "draw_cdf_of_values",
    "draw_confusion",
    "draw_decision",
    "draw_gain",
    "draw_hosmer_lemeshow",
    "draw_means",
    "draw_numbers",
    "draw_plane",
    "draw_plane_bounds",
    "draw_quantile_quantile",
    "draw_quantiles",
    "draw_residual_density",
    "draw_residual_points",
    "draw_roc",
    "draw_small",
    "envelope",
    "footer",
    "headless_axes",
    "html_summary",
    "ledger_table",
    "numeral",
    "numerals",
    "opened",
    "privacy_object",
    "report",
    "save_figure",
    "span",
    "standing",
    "summary_facts",
    "svg_text",
    "to_frame",
]  # fmt: skip
