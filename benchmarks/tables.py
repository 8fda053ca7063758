"""Gower similarities of mixed tables against a random forest, on the same folds.

Run: python -m benchmarks.tables

Three credit and heart tables of the UCI repository; columns with few values are
categories. Each is judged whole and with one entry in ten removed at random: the Gower
similarity leaves such entries out, the forest gets the most frequent value or the
median.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from krein import SpectrumSVC, SpectrumSVCCV, load_dataset

MOST_CATEGORIES = {"heart_statlog": 4, "australian": 14, "ida_german": 10}


def table(name):
    """Return the data set as a frame with text for categories, and its labels."""
    data = load_dataset(name)
    frame = pd.DataFrame(
        data.data, columns=[f"c{k}" for k in range(data.data.shape[1])]
    )
    for column in frame:
        if frame[column].nunique() <= MOST_CATEGORIES[name]:
            frame[column] = "v" + frame[column].round(3).astype(str)
    return frame, data.target


def with_gaps(frame, share=0.1):
    """Remove entries at random."""
    gaps = np.random.default_rng(0).random(frame.shape) < share
    return frame.mask(gaps)


def forest():
    """Return a random forest behind one-hot encoding and imputation."""
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values=np.nan),
        OneHotEncoder(handle_unknown="ignore"),
    )
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include=float)),
        (categories, make_column_selector(dtype_exclude=float)),
    )
    return make_pipeline(columns, RandomForestClassifier(500, random_state=0))


def main():
    """Print the mean accuracy over the folds, in per cent."""
    models = {
        "gower, SpectrumSVC clip": SpectrumSVC("clip", kernel="gower"),
        "gower, SpectrumSVCCV": SpectrumSVCCV(kernel="gower"),
        "random forest": forest(),
    }
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0)
    for name in MOST_CATEGORIES:
        whole, y = table(name)
        numbers = whole.select_dtypes("number").shape[1]
        print(
            f"{name}: {len(y)} rows, {numbers} numbers, {whole.shape[1] - numbers} "
            "categories"
        )
        for words, frame in (("complete", whole), ("10 % missing", with_gaps(whole))):
            for title, model in models.items():
                score = cross_val_score(model, frame, y, cv=folds).mean()
                print(f"  {words:13s} {title:25s} {100 * score:.1f}", flush=True)


if __name__ == "__main__":
    main()
