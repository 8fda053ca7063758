"""One eigendecomposition and the maps on it, against plain linear algebra."""

import re
import tracemalloc

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from krein import SpectrumSVC, memory
from krein.memory import available_memory, parse_bytes
from krein.similarity.matrix import Similarities
from krein.spectrum.decomposition import Spectrum, lowest_eigenvalue
from krein.spectrum.fixes import FIXES, Fix, power, weighted_flip

EIGENVALUES = [-3.0, -1.0, -0.2, 0.0, 0.5, 2.0, 7.0]
TARGETS = {
    "clip": lambda x: np.maximum(x, 0),
    "flip": np.abs,
    "square": np.square,
    "shift": lambda x: x - x.min(),
    "diffusion": lambda x: np.exp(x / np.abs(x).max()),
    "none": lambda x: x,
}


def dense(K, f):
    values, vectors = np.linalg.eigh(K)
    return (vectors * f(values)) @ vectors.T


def fixed_kernel(K, method, **options):
    return Similarities(K).fixed_kernel(method, **options)


@pytest.mark.parametrize("method", FIXES)
def test_training_kernel_has_the_eigenvalues_the_method_promises(method, with_spectrum):
    K = with_spectrum(EIGENVALUES)
    kernel = fixed_kernel(K, method).kernel()
    np.testing.assert_allclose(kernel, dense(K, TARGETS[method]), atol=1e-12)
    np.testing.assert_array_equal(kernel, kernel.T)


@pytest.mark.parametrize(
    "method", [name for name, record in FIXES.items() if record.keeps_zero]
)
def test_training_rows_are_mapped_to_the_training_kernel(method, with_spectrum):
    K = with_spectrum(EIGENVALUES)
    transform = fixed_kernel(K, method)
    np.testing.assert_allclose(transform.rows(K), transform.kernel(), atol=1e-12)


@pytest.mark.parametrize("name", FIXES)
def test_records_say_what_is_so(name, with_spectrum):
    K, record = with_spectrum(EIGENVALUES), FIXES[name]
    transform = fixed_kernel(K, name)
    smallest = np.linalg.eigvalsh(transform.kernel())[0]
    assert transform.psd == record.psd == (smallest > -1e-12)
    at_zero = TARGETS[name](np.array([-1.0, 0.0, 2.0]))[1]
    assert record.keeps_zero == (at_zero == 0.0)
    raw = np.allclose(transform.rows(K), K)
    assert (record.new_rows == "raw") == raw


def test_the_map_of_the_diffusion_is_bounded(with_spectrum):
    K = with_spectrum([-1.0, -1e-3, 1e-9, 0.02, 1.0])
    gain = fixed_kernel(K, "diffusion").gain
    np.testing.assert_allclose(
        gain, [-np.exp(-1), 0, 0, np.exp(0.02) / 0.02, np.e], rtol=1e-9
    )


def test_families_contain_the_named_methods():
    values, tol = np.array(EIGENVALUES), 1e-12
    for family, named in [
        (power(0.0, 1.0), "clip"),
        (power(1.0, 1.0), "flip"),
        (power(1.0, 2.0), "square"),
        (weighted_flip(1.0, 1.0), "flip"),
    ]:
        for ours, theirs in zip(
            family.apply(values, tol, 1.0),
            FIXES[named].apply(values, tol, 1.0),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    halved, _ = weighted_flip(1.0, 2.0).apply(values, tol, 1.0)
    np.testing.assert_array_equal(halved[values < 0], [1.5, 0.5, 0.1])


def test_a_record_that_promises_too_much_is_refused(with_spectrum):
    K = with_spectrum(EIGENVALUES)
    lie = Fix("lie", lambda values, tol, t: values, psd=True)
    with pytest.raises(ValueError, match=r"'lie' says psd=True, but gives .* -3"):
        fixed_kernel(K, lie)
    with pytest.raises(ValueError, match="one finite number for each of the 7"):
        fixed_kernel(K, Fix("cut", lambda values, tol, t: values[:2]))
    with pytest.raises(ValueError, match="'clop' is not known; choose one of clip"):
        fixed_kernel(K, "clop")
    with pytest.raises(ValueError, match="method=3 is not known"):
        fixed_kernel(K, 3)


@pytest.mark.parametrize("method", FIXES)
def test_coefficients_and_rows_are_one_map(method, with_spectrum, rng):
    K = with_spectrum(EIGENVALUES)
    new, v = rng.standard_normal((4, 7)), rng.standard_normal(7)
    for weight in (None, rng.uniform(0.5, 3.0, 7)):
        transform = fixed_kernel(K, method, weight=weight)
        np.testing.assert_allclose(
            transform.rows(new) @ v, new @ transform.to_raw(v), atol=1e-12
        )


@pytest.mark.parametrize("method", FIXES)
def test_weights_equal_repetition(method, with_spectrum, rng):
    K = with_spectrum(EIGENVALUES)
    weight = np.array([1, 2, 3, 1, 2, 1, 4])
    repeated = np.repeat(np.arange(7), weight)
    new = rng.standard_normal((3, 7))
    v = rng.standard_normal(7)
    weighted = fixed_kernel(K, method, weight=weight.astype(float))
    copies = fixed_kernel(K[np.ix_(repeated, repeated)], method)
    # The coefficient of an item is shared by its copies.
    shared = (v / weight)[repeated]
    np.testing.assert_allclose(
        weighted.rows(new) @ v, copies.rows(new[:, repeated]) @ shared, atol=1e-10
    )
    quadratic = shared @ copies.kernel() @ shared
    np.testing.assert_allclose(v @ weighted.kernel() @ v, quadratic, rtol=1e-10)


def test_an_existing_spectrum_is_not_computed_again(with_spectrum, monkeypatch):
    K = with_spectrum(EIGENVALUES)
    spectrum = Spectrum.exact(K)

    def fail(*args, **kwargs):
        raise AssertionError("decomposed again")

    monkeypatch.setattr("scipy.linalg.eigh", fail)
    for method in FIXES:
        transform = fixed_kernel(K, method, spectrum=spectrum)
        assert transform.to_raw(np.ones(7)).shape == (7,)


def test_spectrum_acts_as_the_matrix(with_spectrum, rng):
    K = with_spectrum(EIGENVALUES)
    weight = rng.uniform(0.5, 2.0, 7)
    for spectrum in (Spectrum.exact(K), Spectrum.exact(K, weight)):
        V = rng.standard_normal((7, 3))
        np.testing.assert_allclose(spectrum @ V, K @ V, atol=1e-12)
        np.testing.assert_allclose(spectrum @ V[:, 0], K @ V[:, 0], atol=1e-12)
        np.testing.assert_allclose(spectrum.matrix(), K, atol=1e-12)
    assert Spectrum.exact(K).signature == (3, 3, 1)


@given(st.integers(-150, 150), st.integers(2, 8))
@settings(max_examples=40, deadline=None)
def test_extreme_scales_do_not_overflow(exponent, n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    K = (A + A.T) * 10.0**exponent
    spectrum = Spectrum.exact(K)
    reference = np.linalg.eigvalsh(A + A.T)
    np.testing.assert_allclose(
        spectrum.eigenvalues / 10.0**exponent, reference, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        lowest_eigenvalue(K) / 10.0**exponent, min(0.0, reference[0]), atol=1e-11
    )


def test_too_large_a_matrix_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "1MB")
    with pytest.raises(MemoryError, match=r"of 300 items needs.*GB.*KreinNystroem"):
        Spectrum.exact(np.eye(300))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500MB", 500_000_000),
        ("2e3", 2000),
        (" 1.5gb", 1.5e9),
        ("2GiB", 2 * 2**30),
        ("10 MiB", 10 * 2**20),
    ],
)
def test_memory_limits_are_read(text, expected, monkeypatch):
    assert parse_bytes(text) == expected
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", text)
    assert available_memory() == expected


@pytest.mark.parametrize("text", ["lots", "1.2.3GB", "GB", "5 XB"])
def test_an_unreadable_memory_limit_is_named(text):
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("method", "values", "most"),
    [
        ("clip", [-0.1] * 2 + [1.0] * 6, 2),
        ("clip", [-1.0] * 6 + [1.5] * 2, 2),
        ("flip", [-1.0] * 2 + [1.0] * 6, 2),
        ("flip", [-1.0] * 6 + [1.0] * 2, 2),
        ("square", [-1.0] * 2 + [2.0] * 6, 8),
        ("diffusion", [-1.0] * 2 + [2.0] * 6, 8),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_few_eigenvectors_are_multiplied(
    method, values, most, weighted, with_spectrum, rng, monkeypatch
):
    """The similarity itself has those whose eigenvalues get one factor.

    With weights all are: see trial 1682 of the campaign.
    """
    K = with_spectrum(np.array(values) + 0.01 * np.arange(8))
    weight = rng.uniform(0.9, 1.1, 8) if weighted else None
    spectrum = Spectrum.exact(K, weight)
    target, _ = FIXES[method].apply(spectrum.eigenvalues, spectrum.tolerance, 1.0)
    expected = spectrum.map(lambda _: target).formed()
    columns, product = [], scipy.linalg.blas.dsyrk

    def counting(sign, B, **options):
        columns.append(B.shape[1])
        return product(sign, B, **options)

    monkeypatch.setattr("scipy.linalg.blas.dsyrk", counting)
    K.flags.writeable = False
    for ordered in (K, np.asfortranarray(K)):
        columns.clear()
        kernel = fixed_kernel(ordered, method, weight=weight).kernel()
        assert 0 < sum(columns) <= (8 if weighted else most)
        np.testing.assert_allclose(kernel, expected, atol=1e-13)
        np.testing.assert_array_equal(kernel, kernel.T)


def test_what_is_clipped_leaves_no_rounding_errors(with_spectrum):
    """Seven small eigenvalues beside one large negative one stay what they are."""
    for _ in range(10):
        K = with_spectrum([-1e9, *np.linspace(1e-3, 2e-3, 7)])
        kernel = fixed_kernel(K, "clip").kernel()
        assert np.linalg.eigvalsh(kernel)[0] > -1e-15


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_three_matrices_beside_the_similarity_are_in_memory(rng, method):
    """The copy that is decomposed and LAPACK's workspace; vectors and kernel later."""
    X = rng.standard_normal((900, 5))
    K, y = np.tanh(X @ X.T), X[:, 0] > 0.0
    K.flags.writeable = False
    model = SpectrumSVC(method)
    model.fit(K[:20, :20], y[:20])
    tracemalloc.start()
    try:
        model.fit(K, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.1 * K.nbytes


def test_little_memory_is_not_asked_for(monkeypatch):
    """The system is asked where it matters, a limit of the user always."""

    def asked():
        raise AssertionError("the system was asked")

    monkeypatch.delenv("KREIN_MEMORY_LIMIT", raising=False)
    monkeypatch.setattr(memory, "available_memory", asked)
    memory.require_memory(1e6, "a fit", "")
    with pytest.raises(AssertionError, match="asked"):
        memory.require_memory(1e8, "a fit", "")
    monkeypatch.undo()
    monkeypatch.setenv("KREIN_MEMORY_LIMIT", "1KB")
    with pytest.raises(MemoryError, match="a fit needs"):
        memory.require_memory(1e6, "a fit", "")
