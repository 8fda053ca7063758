"""
Time series: inside aeon and sktime
===================================

The classifiers of krein take what `aeon <https://www.aeon-toolkit.org>`_ passes on,
arrays ``(n_series, n_channels, length)``, so they can end its pipelines as they are::

    from aeon.pipeline import make_pipeline
    from aeon.transformations.collection import Normalizer
    from krein import Kernel, SimilarityClassifier

    dtw = Kernel("dtw", window=0.1, gamma="median")
    pipeline = make_pipeline(Normalizer(), SimilarityClassifier(dtw, random_state=0))

The classes below are for code that wants a classifier of aeon or of `sktime
<https://www.sktime.net>`_: their ensembles, searches, benchmarks and checks. Copy what
you need; each passes the estimator checks of its package.
"""

from importlib.util import find_spec

from sklearn.base import clone

from krein import Kernel, KreinSVC, SimilarityClassifier


class KreinSeries:
    """What a classifier of series needs, for aeon and for sktime.

    Parameters
    ----------
    estimator : classifier of krein, optional
        By default `SimilarityClassifier` with time warping.
    """

    def __init__(self, estimator=None):
        self.estimator = estimator
        super().__init__()

    def _fit(self, X, y):
        kernel = Kernel("dtw", gamma="median")
        default = SimilarityClassifier(kernel, random_state=0)
        self.estimator_ = clone(self.estimator or default).fit(X, y)
        return self

    def _predict(self, X):
        return self.estimator_.predict(X)

    def _predict_proba(self, X):
        return self.estimator_.predict_proba(X)


# %%
# For aeon; series may differ in length.

if find_spec("aeon"):
    from aeon.classification.base import BaseClassifier as AeonClassifier

    class KreinAeonClassifier(KreinSeries, AeonClassifier):
        _tags = {
            "X_inner_type": ["numpy3D", "np-list"],
            "capability:multivariate": True,
            "capability:unequal_length": True,
            "algorithm_type": "distance",
        }


# %%
# For sktime; its checks ask for an example and for two settings to try.

if find_spec("sktime"):
    from sktime.classification.base import BaseClassifier as SktimeClassifier

    class KreinSktimeClassifier(KreinSeries, SktimeClassifier):
        """Classifier of krein, at the end of a pipeline of sktime.

        Examples
        --------
        >>> from aeon_and_sktime import KreinSktimeClassifier
        >>> from sktime.datasets import load_unit_test
        >>> from sktime.transformations.series.exponent import ExponentTransformer
        >>> X, y = load_unit_test("train")
        >>> pipeline = ExponentTransformer() * KreinSktimeClassifier()
        >>> pipeline.fit(X, y).predict(X).shape
        (20,)
        """

        _tags = {
            "X_inner_mtype": "numpy3D",
            "capability:multivariate": True,
            "capability:predict_proba": True,
            "python_dependencies": ["krein"],
        }

        @classmethod
        def get_test_params(cls, parameter_set="default"):
            return [{}, {"estimator": KreinSVC(kernel="msm", probability=True)}]
