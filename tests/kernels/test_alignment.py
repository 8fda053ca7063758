"""Which substitution matrix sequences are aligned with, and how it is said."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from krein import (
    Kernel,
    SpectrumSVC,
    compare,
    kernel_matrix,
    load_dataset,
    needleman_wunsch_kernel,
    smith_waterman_kernel,
)
from krein.cli import main

pytest.importorskip("parasail", reason="alignment needs the extra krein[bio]")

DNA = ["ACGTTGCAAC", "acgttgcatt", "GGGTNRCCAT", "TTGACCATGA"]
PROTEINS = ["MKVLAAGIVG", "GATTACAGAT", "HEAGAWGHEE"]


@pytest.mark.parametrize(
    ("items", "matrix"),
    [
        (DNA, "dnafull"),
        (["ACGUUGCAAC", "GGGUCCAUUU"], "dnafull"),
        (PROTEINS, "blosum62"),
        (["ACGTTGCAAC", "ACGTTGCAACL"], "blosum62"),  # one letter decides
        (["GSTAGRKDMW", "SKYWHVRDMN"], "blosum62"),  # codes, and hardly a base
        (["ACGT", "ACGTA"], "blosum62"),  # nine letters are too few to tell
        (["ACGTA", "ACGTA"], "dnafull"),
        (["ACGTACGTAR", "ACGTACGTAY"], "dnafull"),  # nine of ten are plain bases
        (["ACGTACGTAR", "ACGTACGTRY"], "blosum62"),
    ],
)
@pytest.mark.filterwarnings("ignore:the sequences are DNA")
def test_the_kind_of_sequences_is_recognised(items, matrix):
    for name in ("smith_waterman", "needleman_wunsch"):
        assert Kernel(name, matrix="auto").fit(items).params["matrix"] == matrix


def test_the_choice_is_said_and_can_be_made():
    with pytest.warns(UserWarning, match=r"DNA or RNA.*matrix='dnafull'"):
        model = SpectrumSVC(kernel="smith_waterman").fit(DNA, [0, 0, 1, 1])
    assert model.kernel_.params == {"matrix": "dnafull"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpectrumSVC(kernel="smith_waterman").fit(PROTEINS, [0, 1, 1])
        given = {"matrix": "blosum62"}
        SpectrumSVC(kernel="smith_waterman", kernel_params=given).fit(DNA, [0, 0, 1, 1])
        smith_waterman_kernel(DNA, matrix="blosum62")
        smith_waterman_kernel(PROTEINS)


@pytest.mark.parametrize("kernel", [smith_waterman_kernel, needleman_wunsch_kernel])
def test_the_plain_function_has_one_default_and_warns(kernel):
    with pytest.warns(UserWarning, match=r"blosum62, a matrix for proteins"):
        K = kernel(DNA)
    np.testing.assert_array_equal(K, kernel(DNA, matrix="blosum62"))
    with pytest.raises(ValueError, match=r"'auto' needs a krein\.Kernel"):
        kernel(DNA, matrix="auto")


@pytest.mark.filterwarnings("ignore:the sequences are DNA")
def test_blocks_of_a_settled_kernel_equal_the_whole():
    items = [*DNA, "GSTAGRKDMW"]  # the last alone would be taken for a protein
    kernel = Kernel("smith_waterman", matrix="auto").fit(items[:4] * 3)
    K = smith_waterman_kernel(items, matrix="dnafull")
    np.testing.assert_array_equal(kernel_matrix(kernel, items, memory_limit=260), K)
    np.testing.assert_array_equal(kernel(items[4:], items), K[4:])


def test_match_and_mismatch_of_bases_and_codes():
    bases = "ACGT"
    K = smith_waterman_kernel(list(bases), matrix="dnafull")
    np.testing.assert_array_equal(K, 5 * np.eye(4))
    K = needleman_wunsch_kernel(list(bases), matrix="dnafull")
    np.testing.assert_array_equal(K, np.where(np.eye(4), 5, -4))
    assert needleman_wunsch_kernel(["A"], ["R"], matrix="dnafull")[0, 0] == 1  # A or G


def test_rna_is_scored_as_dna():
    rna = [item.upper().replace("T", "U") for item in DNA]
    for kernel in (smith_waterman_kernel, needleman_wunsch_kernel):
        K = kernel(DNA, matrix="dnafull", normalize=True)
        np.testing.assert_array_equal(kernel(rna, matrix="dnafull", normalize=True), K)
        np.testing.assert_array_equal(
            kernel(rna, DNA, matrix="dnafull", normalize=True), K
        )


def test_compare_decides_once_for_all_items():
    with pytest.warns(UserWarning, match="dnafull") as said:
        found = compare(
            DNA * 2, [0, 0, 1, 1] * 2, "smith_waterman", methods=["clip"], cv=2
        )
    assert len(said) == 1
    assert found.problem.kernel.params == {"matrix": "dnafull"}
    assert found.problem.K is not None  # one evaluation for all splits


@pytest.mark.filterwarnings("ignore:the sequences are DNA")
def test_promoters_gain_by_their_own_matrix():
    promoters = load_dataset("promoters")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = {}
    for matrix in ("auto", "blosum62"):
        model = SpectrumSVC("clip", kernel="smith_waterman")
        model.set_params(kernel_params={"matrix": matrix, "normalize": True})
        scores[matrix] = cross_val_score(
            model, promoters.data, promoters.target, cv=folds
        ).mean()
    assert scores["auto"] > 0.95
    assert scores["blosum62"] < 0.91


@pytest.mark.filterwarnings("default:the sequences are DNA")
def test_the_command_line_says_it(tmp_path, capsys):
    path = tmp_path / "genes.fasta"
    path.write_text("".join(f">g{k}\n{item}\n" for k, item in enumerate(DNA)))
    out = str(tmp_path / "K.csv")
    assert main(["kernel", "smith_waterman", str(path), "-o", out]) == 0
    assert "matrix='dnafull'" in capsys.readouterr().err
