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
        "Conditionally positive semidefinite, order",
        "PSD as long as weights sum to zero (order 1), or also balance linear "
        "functions of the coordinates (order 2). Such a similarity needs no fix.",
    ),
    (
        "Halves agree",
        "The items are cut into two random halves; how alike are the negative "
        "directions that each half finds? Structure repeats, noise does not: compare "
        "with the number by chance.",
    ),
    (
        "Label alignment",
        "Do the negative directions follow the labels? p is the share of random "
        "orders of the labels that follow them as well: small means yes.",
    ),
    (
        "Triangle inequality",
        "No way round over a third item is shorter than the direct one; distances "
        "that break it often give indefinite similarities.",
    ),
    (
        "Nearly diagonal",
        "Every item is alike only to itself; nothing can be learnt from others. The "
        "usual reason is a scale parameter (gamma) that is too large.",
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
        "Raw matrix",
        "The similarity as it is, in a support vector machine that expects a PSD one.",
    ),
    (
        "Krein SVM, proxy SVM, DC SVM, indefinite logistic",
        "Four ways to keep an indefinite similarity: in a space with negative axes, "
        "by a PSD kernel near it, as a difference of convex problems, with logistic "
        "loss.",
    ),
    (
        "Yardstick",
        "A simple method that should be beaten: nearest neighbours, or logistic "
        "regression on the rows of the matrix.",
    ),
    (
        "Chance level, largest class",
        "What guessing would score with equal classes; what always naming the largest "
        "class would score.",
    ),
    (
        "Confidence",
        "Probability that the method gave to the label it named, from a sigmoid fitted "
        "on items that were not trained on.",
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
        "95 % interval",
        "Range in which the mean over splits lies with that confidence, widened "
        "because training sets of different splits overlap.",
    ),
    (
        "p, Holm",
        "How often chance alone would make so large a difference to the best method; "
        "adjusted for the number of methods by Holm's rule. Below 0.05 is clear.",
    ),
    (
        "Split, fold, hyperparameter",
        "A division into items to train and items to test on; a division inside of the "
        "training part; a setting such as C that is chosen there.",
    ),
    (
        "C, alpha, gamma",
        "How much a wrong training item costs; how strongly a model is smoothed; the "
        "scale of a distance in exp(-gamma d).",
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
