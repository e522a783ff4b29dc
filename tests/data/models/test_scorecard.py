"""Scorecards: total arithmetic, record by record, and the numbers of the libraries they were fitted with."""

import json
from collections.abc import Mapping
from math import exp, inf, log1p, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray
from dpcurves.models import Level, Link, NumericColumn, Power, Scorecard, Term, Transform, predictor_from_json

WIDE = {"age": (-1e4, 1e4), "stay": (0.0, 1e4), "fare": (-1e4, 1e4)}
SEX = dp.Categories("sex", ("f", "m"))


def card() -> Scorecard:
    """Powers, a logarithm, an interaction and categories."""
    terms = (
        Term(0.03, (Power("age", centre=50.0, spread=12.0),)),
        Term(-0.4, (Power("age", 3, centre=50.0, spread=12.0),)),
        Term(0.7, (Power("stay", transform=Transform.LOG1P),)),
        Term(0.2, (Level("sex", "m"), Power("stay", transform=Transform.LOG1P))),
    )
    return Scorecard(
        "risk", -1.5, (NumericColumn("age", 18, 90), NumericColumn("stay", 0, 300), SEX), terms, Link.LOGIT
    )


def people(size: int = 3001) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": draw.normal(50, 15, size), "stay": draw.exponential(20, size), "fare": draw.normal(0, 3, size),
            "sex": draw.choice(["f", "m"], size), "late": draw.integers(0, 2, size),
        }
    )  # fmt: skip


def test_a_score_does_not_depend_on_other_records_nor_on_batches_nor_on_places() -> None:
    table = people()
    model = card()
    whole = model.predict(table)
    for size in (1, 2, 3, 7, 64, 1000):
        end = min(200 * size, len(table))
        parts = [model.predict(table.iloc[start : min(start + size, end)]) for start in range(0, end, size)]
        assert np.concatenate(parts).tobytes() == whole[:end].tobytes()
    order = np.random.default_rng(2).permutation(len(table))
    assert model.predict(table.iloc[order]).tobytes() == whole[order].tobytes()
    strided: list[FloatArray] = [np.repeat(table[name].to_numpy(), 3)[::3] for name in ("age", "stay")]
    men: FloatArray = np.array([float(each == "m") for each in table["sex"]])
    assert model.compute_values([*strided, men]).tobytes() == whole.tobytes()


def test_a_score_is_what_its_formula_says() -> None:
    age, stay = (60.0 - 50.0) / 12.0, log1p(7.0)
    linear = -1.5 + 0.03 * age - 0.4 * age * age * age + 0.7 * stay + 0.2 * stay
    assert card().linear.predict({"age": [60], "stay": [7], "sex": ["m"]}) == pytest.approx([linear], abs=1e-15)
    found = card().predict({"age": [60], "stay": [7], "sex": ["m"]})
    assert found == pytest.approx([1 / (1 + exp(-linear))], abs=1e-15)


def test_missing_infinite_huge_and_textual_values_have_a_declared_outcome() -> None:
    given = {"age": [inf, -inf, 1e308, nan, None, "x", 30], "stay": [1] * 7, "sex": ["f"] * 6 + ["x"]}
    found = card().predict(given)
    ends = card().predict({"age": [90, 18, 90], "stay": [1] * 3, "sex": ["f"] * 3})
    assert found[:3].tolist() == ends.tolist()
    assert np.isnan(found[3:]).all()


def test_other_categories_have_no_coefficient_where_that_is_declared() -> None:
    bonus = (Term(2.0, (Level("sex", "m"),)),)
    assert Scorecard("b", 1.0, (SEX,), bonus, others=("sex",)).predict({"sex": ["m", "x", None]}).tolist() == [3, 1, 1]


def test_links_neither_overflow_nor_fall() -> None:
    linear = np.concatenate([[-inf, -1e300, -800.0], np.linspace(-750, 750, 4001), [800.0, 1e300, inf]])
    for link in Link:
        found = link.response(linear)
        assert (np.diff(found[1:-1]) >= 0).all()
        assert np.isnan(link.response(np.array([nan]))).all()
    assert np.isfinite(Link.LOG.response(linear)[1:]).all()
    assert Link.LOGIT.response(linear)[[0, -1]].tolist() == [0, 1]


def test_a_card_is_read_again_bit_for_bit_and_its_digest_tells_it_from_others() -> None:
    again = predictor_from_json(card().to_json())
    assert again == card()
    assert hash(again) == hash(card())
    assert repr(again) == repr(card())
    stored = json.loads(card().to_json())
    stored["intercept"] = np.nextafter(-1.5, 0)
    assert predictor_from_json(json.dumps(stored)) != card()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"columns": {}}, "columns"), ({"terms": [{"coefficient": 1, "of": ["age"]}]}, "columns"),
        ({"intercept": "1"}, "intercept"), ({"intercept": 1e301}, "terms"), ({"link": "probit"}, "link"),
        ({"name": ""}, "name"), ({"name": "a\nb"}, "name"), ({"dpcurves": "onnx"}, "model"), ({"code": "x"}, "code"),
        ({"columns": {"age": {"lower": 5, "upper": 5}}}, "ranges"), ({"terms": [{"coefficient": 1}]}, "model"),
        ({"columns": {"age": {"lower": 0, "upper": float("inf")}}}, "ranges"), ({"terms": 3}, "model"),
    ],
)  # fmt: skip
def test_what_is_no_card_is_refused_by_name(change: Mapping[str, Any], word: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        predictor_from_json(json.dumps({**json.loads(card().to_json()), **change}))
    assert refused.value.argument == word


def test_a_logarithm_and_a_category_need_what_is_declared() -> None:
    logarithm = (Term(1.0, (Power("age", transform=Transform.LOG1P),)),)
    with pytest.raises(InvalidArgument, match="above -1"):
        Scorecard("a", 0.0, (NumericColumn("age", -1, 2),), logarithm)
    with pytest.raises(InvalidArgument, match="declares no category"):
        Scorecard("a", 0.0, (SEX,), (Term(1.0, (Level("sex", "x"),)),))


def test_predictions_are_those_of_scikit_learn() -> None:
    table = people()
    numbers = make_pipeline(StandardScaler(), PolynomialFeatures(3, include_bias=False))
    encoded = ColumnTransformer(
        [("n", numbers, ["age", "fare"]), ("l", FunctionTransformer(np.log1p), ["stay"]),
         ("s", OneHotEncoder(drop="first"), ["sex"])]
    )  # fmt: skip
    logistic = make_pipeline(encoded, LogisticRegression(max_iter=500)).fit(table, table["late"])
    found = dp.Scorecard.from_sklearn(logistic, name="late", ranges=WIDE).predict(table)
    assert np.abs(found - logistic.predict_proba(table)[:, 1]).max() < 1e-12
    for plain in (make_pipeline(MinMaxScaler(), LinearRegression()), PoissonRegressor(max_iter=1000)):
        plain.fit(table[["age", "stay", "fare"]], table["late"])
        found = dp.Scorecard.from_sklearn(plain, name="late", ranges=WIDE).predict(table)
        assert np.abs(found - plain.predict(table[["age", "stay", "fare"]])).max() < 1e-12


def test_models_that_cannot_be_read_are_refused() -> None:
    table = people(60)
    with pytest.raises(InvalidArgument, match="names of its columns"):
        Scorecard.from_sklearn(LinearRegression().fit(table[["age"]].to_numpy(), table["late"]), name="a", ranges=WIDE)
    with pytest.raises(InvalidArgument, match="declare the range of 'age'"):
        Scorecard.from_sklearn(LinearRegression().fit(table[["age"]], table["late"]), name="a", ranges={})
    three = LogisticRegression().fit(table[["age"]], np.arange(60) % 3)
    with pytest.raises(InvalidArgument, match="two classes"):
        Scorecard.from_sklearn(three, name="a", ranges=WIDE)


def test_tables_of_r_are_read_by_the_names_of_their_coefficients(tmp_path: Any) -> None:
    file = tmp_path / "fit.csv"
    file.write_text(
        'term,estimate\n(Intercept),-1.5\nage,0.25\nI(age^2),-0.01\nlog1p(stay),0.7\nsexm,0.2\nage:sexm,0.5\n"factor(day)2",3\n'
    )
    days: dict[str, tuple[str | int, ...]] = {"sex": ("f", "m"), "day": (1, 2)}
    model = dp.Scorecard.from_r_table(file, name="r", link="identity", ranges=WIDE, categories=days)
    found = model.predict({"age": [40, 40], "stay": [3, 3], "sex": ["m", "f"], "day": [2, 1]})
    base = -1.5 + 10 - 16 + 0.7 * log1p(3)
    assert found == pytest.approx([base + 0.2 + 20 + 3, base], abs=1e-12)
    with pytest.raises(InvalidArgument, match="has no meaning"):
        dp.Scorecard.from_r_table({"poly(age, 2)1": 1}, name="r", link="logit", ranges=WIDE)


def test_results_of_statsmodels_are_read_by_their_names() -> None:
    patsy = {"Intercept": 0.5, "C(sex)[T.m]": 1.0, "age": 0.1, "np.log1p(stay)": 2.0, "age:C(sex)[T.m]": 0.5}
    family = SimpleNamespace(link=type("Logit", (), {})())
    result = SimpleNamespace(params=pd.Series(patsy), model=SimpleNamespace(family=family))
    model = dp.Scorecard.from_statsmodels(result, name="s", ranges=WIDE, categories={"sex": ("f", "m")})
    assert model.link is Link.LOGIT
    found = model.linear.predict({"age": [10], "stay": [1], "sex": ["m"]})
    assert found == pytest.approx([0.5 + 1 + 1 + 2 * log1p(1) + 5], abs=1e-12)


def test_predictions_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.formula.api")
    table = people()
    for fit in (
        api.logit("late ~ age + I(age**2) + np.log1p(stay) * C(sex)", table).fit(disp=0),
        api.ols("late ~ age:sex + fare", table).fit(),
    ):
        model = dp.Scorecard.from_statsmodels(fit, name="s", ranges=WIDE, categories={"sex": ("f", "m")})
        assert np.abs(model.predict(table) - fit.predict(table)).max() < 1e-12
