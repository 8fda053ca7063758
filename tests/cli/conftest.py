"""Commands run in this process, which starts in no time."""

import pytest

from krein.cli import main


@pytest.fixture
def krein(capsys):
    """Run a command that must end with a code; its (out, err)."""

    def run(*words, code=0):
        ended = main([str(word) for word in words])
        captured = capsys.readouterr()
        assert ended == code, captured.err
        return captured

    return run
