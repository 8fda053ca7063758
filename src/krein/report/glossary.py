"""The words of the report, explained once."""

__all__ = ["GLOSSARY"]

GLOSSARY = (
    (
        "Similarity, kernel",
        "A number for each pair of items: large means similar. A kernel is a function "
        "that computes it.",
    ),
    (
        "Positive semidefinite (PSD)",
        "No eigenvalue of the matrix is negative: similarities are inner products in "
        "some space, which is what a support vector machine takes for granted.",
    ),
    (
        "Indefinite",
        "Some eigenvalues are negative. Many good similarities are: alignment scores, "
        "elastic distances of series, human judgements.",
    ),
    (
        "Negative mass",
        "Sum of the sizes of negative eigenvalues over the sum of the sizes of all: 0 "
        "for a PSD matrix.",
    ),
    (
        "Signature (p, q)",
        "Number of positive and of negative eigenvalues, zero ones left out.",
    ),
    (
        "Pseudo-Euclidean space, Krein space",
        "A space in which an indefinite similarity is an inner product: along q of its "
        "axes squared distances count negatively.",
    ),
    (
        "Noise band",
        "Range of eigenvalues that random errors of the measured size would produce; "
        "negative eigenvalues outside of it are structure.",
    ),
    (
        "Clip, flip, shift, square, diffusion",
        "What becomes of an eigenvalue l: max(l, 0), |l|, l minus the smallest, "
        "l squared, exp(l) (scaled). New items are mapped the same way.",
    ),
    (
        "Accuracy, balanced accuracy",
        "Share of test items classified rightly; the mean of that share over classes.",
    ),
    (
        "Log-loss",
        "Mean of minus the logarithm of the probability given to the true class; "
        "smaller is better.",
    ),
    (
        "AUC",
        "Probability that an item of a class is scored above one that is not of it; "
        "for several classes the mean.",
    ),
    (
        "Corrected resampled t-test",
        "Test of a difference between two methods on repeated splits that allows for "
        "overlapping training sets (Nadeau and Bengio, 2003).",
    ),
    (
        "No clear winner",
        "The differences are within what another choice of splits could turn round; "
        "the simplest of the equals is recommended.",
    ),
)
