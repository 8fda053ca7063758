"""Layouts of series: other packages' axes, padding by NaN, exchanged axes."""

import numpy as np
import pytest

from krein import KreinSVC, msm_kernel, twe_kernel

RNG = np.random.default_rng(4)
X = RNG.standard_normal((6, 9)).cumsum(axis=1)


@pytest.mark.parametrize("kernel", [msm_kernel, twe_kernel])
def test_a_last_axis_of_length_one_is_turned_and_said(kernel):
    with pytest.warns(
        UserWarning, match=r"shape \(9, 1\) are read as 9 time points of"
    ):
        K = kernel(X[:, :, None])
    np.testing.assert_array_equal(K, kernel(X))
    with pytest.warns(UserWarning, match="time points of one channel"):
        np.testing.assert_array_equal(kernel([x[:, None] for x in X]), K)


def test_dtw_reads_the_same_layouts():
    pytest.importorskip("dtaidistance")
    from krein import dtw_kernel

    y = [0, 1] * 3
    with pytest.warns(UserWarning, match="time points of one channel"):
        model = KreinSVC(kernel="dtw").fit(X[:, :, None], y)
    with pytest.warns(UserWarning, match="time points of one channel"):
        values = model.decision_function(X[:, :, None])
    expected = KreinSVC(kernel="dtw").fit(X, y).decision_function(X)
    np.testing.assert_array_equal(values, expected)
    assert dtw_kernel(X).shape == (6, 6)


def test_nan_behind_the_end_is_a_shorter_series():
    padded = X.copy()
    padded[1, 6:] = np.nan
    short = [x[: 6 if i == 1 else 9] for i, x in enumerate(X)]
    np.testing.assert_array_equal(msm_kernel(padded), msm_kernel(short))
    channels = np.stack([padded, 2 * padded], axis=1)
    two = [np.stack([x, 2 * x]) for x in short]
    np.testing.assert_array_equal(msm_kernel(channels), msm_kernel(two))


def test_nan_inside_of_a_series_is_an_error():
    holed = X.copy()
    holed[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"X\[2\] contains NaN"):
        msm_kernel(holed)
    one_channel = np.stack([X, X], axis=1)
    one_channel[0, 1, 7:] = np.nan
    with pytest.raises(ValueError, match=r"X\[0\] contains NaN"):
        msm_kernel(one_channel)
    with pytest.raises(ValueError, match=r"X\[1\] contains NaN"):
        msm_kernel([X[0], np.full(4, np.nan)])


@pytest.mark.parametrize(("channels", "length", "warned"), [(4, 3, 1), (3, 3, 0)])
def test_more_channels_than_time_points_are_doubted(channels, length, warned, recwarn):
    msm_kernel(RNG.standard_normal((5, channels, length)))
    found = [w for w in recwarn if "more channels than time points" in str(w.message)]
    assert len(found) == warned
