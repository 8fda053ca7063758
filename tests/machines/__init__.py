"""Machines on a kernel, as tests ask for them."""

import numpy as np

from krein.machines.libsvm import solve_dual
from krein.machines.svm_dual import SVMDual


def svm_dual(K, domain, *, psd=True, **options):
    return solve_dual(SVMDual.classification(K, domain, psd=psd), **options)


def svr_dual(K, y, upper, *, epsilon, **options):
    return solve_dual(SVMDual.regression(K, y, upper, epsilon=epsilon), **options)


def one_class_dual(K, weight, *, nu, **options):
    upper = np.ones(len(K)) if weight is None else weight
    return solve_dual(SVMDual.one_class(K, upper, nu=nu), **options)
