"""Files that krein 0.1.0 wrote load, and say what they said."""

import numpy as np
import pytest

from krein import load_model
from tests.models.make_old_models import FOLDER, answers, asked_about

SAID = np.load(FOLDER / "answers.npz")


@pytest.mark.parametrize("name", SAID.files)
def test_old_models_answer_as_they_did(name):
    model = load_model(FOLDER / f"{name}.krein")
    np.testing.assert_allclose(
        answers(model, asked_about(name)), SAID[name], rtol=1e-9, atol=1e-12
    )
