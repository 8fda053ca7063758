"""Pictures show the numbers they are given."""

import numpy as np
import pytest

from krein.result import Certificate, History, Result

pytest.importorskip("matplotlib", reason="pictures need the extra krein[plot]")


@pytest.fixture(autouse=True)
def no_window():
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


def make_result(rows):
    history = History()
    for i in range(rows):
        history.record(value=4.0 - i, bound=-1.0 + i, relative=10.0**-i, seconds=i / 2)
    return Result(
        np.zeros(1), 2.0, Certificate("gap", 1.0, 0.01), "converged", rows, history
    )


@pytest.mark.parametrize(
    ("x", "expected"), [("iteration", [0, 1, 2]), ("seconds", [0, 0.5, 1])]
)
def test_history_is_drawn(x, expected):
    objective, certificate = make_result(3).plot(x=x)
    value, bound = objective.lines
    np.testing.assert_array_equal(value.get_xdata(), expected)
    np.testing.assert_array_equal(value.get_ydata(), [4, 3, 2])
    np.testing.assert_array_equal(bound.get_ydata(), [-1, 0, 1])
    np.testing.assert_allclose(certificate.lines[0].get_ydata(), [1, 0.1, 0.01])
    assert certificate.get_yscale() == "log"


def test_bad_calls_are_refused():
    with pytest.raises(ValueError, match="'iteration' or 'seconds', got 'hours'"):
        make_result(3).plot(x="hours")
    with pytest.raises(ValueError, match="no history"):
        make_result(0).plot()
