from .canvas import (
    LANDSCAPE,
    POPULATION,
    RECORDS,
    SQUARE,
    Shade,
    covering,
    entitle,
    headless_axes,
    save_figure,
    save_to,
    svg_text,
)
from .columns import (
    CrossedShade,
    draw_bars,
    draw_bounds,
    draw_cdf,
    draw_cdf_of_values,
    draw_contingency,
    draw_plane,
    draw_plane_bounds,
    draw_quantile_quantile,
    draw_quantiles,
)
from .curve_json import (
    BY_NAME,
    COLUMN,
    EDGES,
    FORMS,
    NUMBER,
    NUMBERS,
    ROWS,
    SEVERAL,
    TEXT,
    Opened,
    bundle,
    check_document,
    columns_of,
    curve_schema,
    envelope,
    opened,
    privacy_object,
    stack_frames,
    to_frame,
)
from .expected import draw_forecast
from .groups import MOST_TOGETHER, draw_curves, draw_means, draw_small
from .html import INTRODUCTION, account_summary, html_summary, report, summary_facts
from .numerals import MOST_LABELLED, is_dated, letter_apart, lettering, numeral, numerals, span, standing
from .office import (
    PRINTED,
    SUPPRESSED,
    csv_text,
    escape_formula,
    facts_of,
    hidden,
    require_workbooks,
    too_wide,
    unescape_formula,
    workbook,
)
from .scores import (
    DrawnArea,
    Region,
    area_rows,
    draw_binned_residuals,
    draw_calibration,
    draw_confusion,
    draw_decision,
    draw_gain,
    draw_hosmer_lemeshow,
    draw_numbers,
    draw_residual_density,
    draw_residual_points,
    draw_roc,
)
from .styles import styled
from .tables import LabelColumns, find_declared_numbers, join_columns, name_label_columns, put_dates
from .text import (
    SEEDED,
    BalanceReport,
    ChargeRow,
    RefusalRow,
    Spender,
    allowance_table,
    curve_table,
    footer,
    ledger_table,
    mechanism_of,
    trusted,
)

__all__ = [
    "BY_NAME", "COLUMN", "EDGES", "FORMS", "INTRODUCTION", "LANDSCAPE", "MOST_LABELLED", "MOST_TOGETHER", "NUMBER",
    "NUMBERS", "POPULATION", "PRINTED", "RECORDS", "ROWS", "SEEDED", "SEVERAL", "SQUARE", "SUPPRESSED", "TEXT",
    "BalanceReport", "ChargeRow", "CrossedShade", "DrawnArea", "LabelColumns", "Opened", "RefusalRow", "Region",
    "Shade", "Spender", "account_summary", "allowance_table", "area_rows", "bundle", "check_document", "columns_of",
    "covering", "csv_text", "curve_schema", "curve_table", "draw_bars", "draw_binned_residuals", "draw_bounds",
    "draw_calibration", "draw_cdf", "draw_cdf_of_values", "draw_confusion", "draw_contingency", "draw_curves",
    "draw_decision", "draw_forecast", "draw_gain", "draw_hosmer_lemeshow", "draw_means", "draw_numbers", "draw_plane",
    "draw_plane_bounds", "draw_quantile_quantile", "draw_quantiles", "draw_residual_density", "draw_residual_points",
    "draw_roc", "draw_small", "entitle", "envelope", "escape_formula", "facts_of", "find_declared_numbers", "footer",
    "headless_axes", "hidden", "html_summary", "is_dated", "join_columns", "ledger_table", "letter_apart", "lettering",
    "mechanism_of", "name_label_columns", "numeral", "numerals", "opened", "privacy_object", "put_dates", "report",
    "require_workbooks", "save_figure", "save_to", "span", "stack_frames", "standing", "styled", "summary_facts",
    "svg_text", "to_frame", "too_wide", "trusted", "unescape_formula", "workbook",
]  # fmt: skip
