"""Edited models: the referee notices what moves an output on the training items."""

from tests.referee.test_edited_models import ALL, missed

from . import TrialError


def edits(seed):
    """All edits of one model; what is not determined by a claim is left out."""
    case = ALL[seed % len(ALL)]
    try:
        unnoticed = missed(case, seed, weighted=bool(seed // len(ALL) % 2))
    except Exception as error:
        raise TrialError(f"{case.name}: {type(error).__name__}: {error}") from error
    if unnoticed:
        raise TrialError(f"{case.name}: not noticed: {unnoticed}")
