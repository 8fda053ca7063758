"""A seeded, resumable campaign of random trials: ``make fuzz MINUTES=30``.

A trial is ``kind:seed`` and depends on nothing else; ``python -m tests.fuzz kind:seed``
repeats one. What ever failed is in the corpus and replayed by the tests. Kinds:

- ``certificates``: fits at extreme scales, judged by the referee
- ``invariants``: scale, order, weights, names, repetition
- ``calls``: bad input
- ``files``: damaged files
- ``refits``: settings and data that change between two fits, and fits that fail
- ``forms``: dense, sparse, landmarks of full rank and tiles are one model
- ``storages``: so are all layouts of its numbers in memory
- ``stores``: kernels that enclose different values have different fingerprints
- ``edits``: changes of fitted models that the referee must notice
- ``parameters``: parameters of odd numeric types
- ``scores``: searches with scores that are not defined on some folds
"""


class TrialError(AssertionError):
    """A trial found something: the message is the line that is kept."""
