"""From images to symmetric positive definite matrices: covariance descriptors."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["covariance_descriptors"]

N_FEATURES = 9


def _pixel_features(image: np.ndarray) -> np.ndarray:
    """The nine features of every pixel, as an array (9, n_pixels)."""
    n_rows, n_columns = image.shape
    y, x = np.mgrid[0:n_rows, 0:n_columns].astype(float)
    Gy, Gx = np.gradient(image)
    Gyy, Gxx = np.gradient(Gy, axis=0), np.gradient(Gx, axis=1)
    features = [
        x,
        y,
        image,
        np.abs(Gx),
        np.abs(Gy),
        np.hypot(Gx, Gy),
        np.abs(Gxx),
        np.abs(Gyy),
        np.arctan2(np.abs(Gx), np.abs(Gy)),
    ]
    return np.stack([feature.ravel() for feature in features])


def covariance_descriptors(images: Any, *, shrinkage: float = 1e-6) -> np.ndarray:
    """Describe each grey image by the 9 x 9 covariance of its pixel features.

    The features of a pixel are ``x, y, I, |Gx|, |Gy|, sqrt(Gx^2 + Gy^2), |Gxx|,
    |Gyy|, arctan(|Gx| / |Gy|)``, G the derivatives of the intensity I (central
    differences; the angle of a pixel without gradient is 0).

    Parameters
    ----------
    images : array-like of shape (n, height, width), or list of 2-D arrays
        Grey values; the images may differ in size, at least 3 x 3 pixels each.
    shrinkage : float
        ``(1 - s) C + s (tr C / 9) I`` instead of C, so that an image with a constant
        feature has a positive definite descriptor. 0 leaves C alone.

    Returns
    -------
    ndarray of shape (n, 9, 9)

    References
    ----------
    Tuzel, Porikli, Meer (2006), "Region covariance"; Liu et al. (2018), "Indefinite
    kernel logistic regression with concave-inexact-convex procedure", Section VI.

    Examples
    --------
    >>> import numpy as np
    >>> from krein import covariance_descriptors
    >>> images = np.random.default_rng(0).random((2, 8, 8))
    >>> covariance_descriptors(images).shape
    (2, 9, 9)
    """
    if not 0 <= shrinkage <= 1:
        raise ValueError(f"shrinkage must be between 0 and 1, got {shrinkage!r}")
    descriptors = np.empty((len(images), N_FEATURES, N_FEATURES))
    for i, image in enumerate(images):
        image = np.asarray(image, dtype=np.float64)
        if image.ndim != 2 or min(image.shape) < 3:
            raise ValueError(
                f"images[{i}] has shape {image.shape}; expected a grey image (height, "
                "width) of at least 3 x 3 pixels. Turn colour into grey first"
            )
        if not np.isfinite(image).all():
            raise ValueError(f"images[{i}] contains NaN or infinity")
        covariance = np.cov(_pixel_features(image))
        level = shrinkage * np.trace(covariance) / N_FEATURES
        descriptors[i] = (1 - shrinkage) * covariance + level * np.eye(N_FEATURES)
    return descriptors
