"""The logistic regression whose scores the paper looks at."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from data import Scored, Table
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

TRAINED_ON = 0.2  # of the records; the curves are of the others, so the model is public to them


def scored(records: Table) -> Scored:
    """Predictions of a logistic regression that was fitted on a fifth of the records, for the others."""
    features = records.features.drop(columns=["encounter_id", "patient_nbr"], errors="ignore")
    seen, unseen, seen_label, unseen_label = train_test_split(
        features, records.label, train_size=TRAINED_ON, random_state=0, stratify=records.label
    )
    model = _model(features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(seen, seen_label)
    return Scored(np.asarray(model.predict_proba(unseen)[:, 1]), np.asarray(unseen_label))


def _model(features: pd.DataFrame) -> Any:
    numeric = list(features.select_dtypes("number").columns)
    others = [column for column in features.columns if column not in numeric]
    scale = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.02, sparse_output=False)
    return make_pipeline(
        make_column_transformer((scale, numeric), (categories, others)), LogisticRegression(max_iter=200)
    )
