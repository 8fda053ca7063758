"""A seeded, resumable campaign of random trials: ``make fuzz MINUTES=30``.

A trial is ``kind:seed`` and depends on nothing else; ``python -m tests.fuzz kind:seed``
repeats one. Kinds: ``certificates`` (fits at extreme scales, judged by the referee),
``invariants`` (scale, order, weights, names, repetition), ``calls`` (bad input),
``files`` (damaged files), ``refits`` (settings and data changed between two fits,
failing fits), ``forms`` (dense, sparse, landmarks and tiles are one model), ``storages``
(so are all layouts of its numbers in memory). What ever failed is in the corpus and replayed by the tests.
"""


class TrialError(AssertionError):
    """A trial found something: the message is the line that is kept."""
