"""Model files: a zip of .npy arrays and JSON; loading never runs code from the file.

The file holds ``model.json`` (a tree of plain values, see `krein.models.encode`) and
one member ``arrays/N.npy`` per array. Members are stored, not compressed, and each is
read once, so that what is read is never much larger than the file. What a fitted
estimator consists of is declared by its class (`krein.store.state`); which classes may
appear is settled in `krein.models.registry`, not by the file.
See docs/decisions/0019.
"""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import krein
from krein.models.decode import ModelFileError, ModelTooLargeError, Reader
from krein.models.encode import Writer
from krein.models.registry import FORMAT, checksum, first_unfitted
from krein.store.files import atomic_write

__all__ = ["ModelFileError", "load_model", "save_model"]


def save_model(est: Any, path: str | Path) -> Path:
    """Save a fitted estimator without pickles.

    Parameters
    ----------
    est : estimator
        A fitted estimator of krein, or a pipeline that ends with one.
    path : str or Path
        Where to write; an existing file is replaced when the new one is complete.

    Returns
    -------
    Path
        Where the model is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from krein import KreinSVC, load_model, save_model
    >>> K = [[1.0, 0.9, -0.8], [0.9, 1.0, 0.7], [-0.8, 0.7, 1.0]]
    >>> model = KreinSVC().fit(K, ["a", "a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, pathlib.Path(folder) / "model.krein")
    ...     load_model(path).predict(K)
    array(['a', 'a', 'b'], dtype='<U1')
    """
    if not isinstance(est, BaseEstimator):
        raise TypeError(
            f"save_model takes one fitted estimator, got {type(est).__name__}; save "
            "several models to several files"
        )
    unfitted = first_unfitted(est)
    if unfitted:
        raise NotFittedError(f"this {unfitted} is not fitted; fit it before saving it")
    writer = Writer()
    tree: dict[str, Any] = {
        "format": FORMAT,
        "krein": krein.__version__,
        "scikit-learn": sklearn.__version__,
        "model": writer.encode(est, "model"),
    }
    tree["checksum"] = checksum(tree, writer.arrays)
    text = json.dumps(tree, allow_nan=False, ensure_ascii=False).encode()
    path = Path(path)
    with atomic_write(path, overwrite=True) as file:
        writer.write_zip(file, text)
    return path


def load_model(path: str | Path, kernel: Callable | None = None) -> Any:
    """Load a model saved by `save_model`; nothing in the file is executed.

    Parameters
    ----------
    path : str or Path
        The model file.
    kernel : callable, optional
        The kernel function, for a model that was fitted with a callable: the file
        names it, but only the caller can bring it in.

    Returns
    -------
    estimator
        Fitted, as it was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or holds something unknown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from krein import KreinSVC, load_model, save_model
    >>> K = np.array([[1.0, -2.0], [-2.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.krein"
    ...     _ = save_model(KreinSVC().fit(K, [0, 1]), path)
    ...     load_model(path).predict(K)
    array([0, 1])
    """
    path = Path(path)
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ModelFileError(
            f"{path} is a device or a pipe; a model is read from an ordinary file"
        )
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return Reader(archive, kernel).model()
        except ModelFileError as error:
            raise ModelFileError(f"{path.name}: {error}") from error.__cause__
        except MemoryError as error:
            raise ModelTooLargeError(f"{path.name}: {error}") from None
        except Exception as error:
            # zipfile, json and numpy raise a dozen kinds on damaged input.
            raise ModelFileError(
                f"{path.name} is damaged or not a krein model "
                f"({type(error).__name__}: {error}). Save the model again"
            ) from error
