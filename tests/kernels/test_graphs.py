"""What nodes are compared by: labels, degrees, a named attribute, and warnings."""

import warnings

import numpy as np
import pytest

from krein import SpectrumSVC, kernel_matrix, optimal_assignment_kernel, wl_kernel

networkx = pytest.importorskip("networkx", reason="graphs of users")
BOTH = pytest.mark.parametrize("kernel", [wl_kernel, optimal_assignment_kernel])


def molecules(attribute):
    """Two paths of three atoms and a triangle, with an attribute on every node."""
    graphs = [networkx.path_graph(3), networkx.path_graph(3), networkx.cycle_graph(3)]
    for graph, atoms in zip(graphs, ("CCO", "CNO", "CCO"), strict=True):
        networkx.set_node_attributes(graph, dict(enumerate(atoms)), attribute)
    return graphs


def star_and_path():
    return (4, [(0, 1), (0, 2), (0, 3)]), (4, [(0, 1), (1, 2), (2, 3)])


def test_assignment_tells_graphs_without_labels_apart():
    star, path = star_and_path()
    K = optimal_assignment_kernel([star, path], normalize=True)
    np.testing.assert_allclose(np.diagonal(K), 1.0)
    assert K[0, 1] < 0.9


@BOTH
def test_without_labels_degrees_are_the_labels(kernel):
    star, path = star_and_path()
    named = [(*star, [3, 1, 1, 1]), (*path, [1, 2, 2, 1])]
    K = kernel(named)
    np.testing.assert_array_equal(kernel([star, path]), K)
    np.testing.assert_array_equal(kernel([(*star, None), (*path, None)]), K)
    np.testing.assert_array_equal(kernel(named, node_label="degree"), K)
    np.testing.assert_array_equal(
        kernel([networkx.star_graph(3), networkx.path_graph(4)]), K
    )


def test_degrees_are_no_labels_of_others():
    assert wl_kernel([(1, [], [0])], [(1, [])])[0, 0] == 0.0


@BOTH
def test_an_attribute_is_chosen_by_name(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = kernel(molecules("element"), node_label="element")
        np.testing.assert_array_equal(K, kernel(molecules("label")))
    assert K[0, 1] < K[0, 0]


@BOTH
def test_ignored_attributes_are_said(kernel):
    with pytest.warns(UserWarning, match=r"attributes element.*node_label=NAME"):
        K = kernel(molecules("element"))
    assert K[0, 1] == K[0, 0]  # degrees alone
    labelled = molecules("label")
    for graph in labelled:
        networkx.set_node_attributes(graph, 0.5, "charge")
    with pytest.warns(UserWarning, match="charge, which are ignored.*by their label"):
        kernel(labelled)


def test_estimators_take_the_attribute(recwarn):
    graphs = molecules("element") * 3
    model = SpectrumSVC(kernel="wl", kernel_params={"node_label": "element"})
    assert model.fit(graphs, [0, 1, 0] * 3).score(graphs, [0, 1, 0] * 3) == 1.0
    K = kernel_matrix("wl", molecules("label"), memory_limit=150)
    np.testing.assert_array_equal(K, wl_kernel(molecules("label")))
    assert not recwarn.list


def test_bad_attributes_are_named():
    with pytest.raises(ValueError, match=r"X\[0\].*'elem'.*nodes have element"):
        wl_kernel(molecules("element"), node_label="elem")
    with pytest.raises(ValueError, match="no node with the attribute 3"):
        wl_kernel(molecules("element"), node_label=3)
    some = networkx.path_graph(3)
    some.nodes[0]["label"] = "C"
    with pytest.raises(ValueError, match="has 1 labels for 3 nodes"):
        wl_kernel([some])
    some = networkx.path_graph(2)
    networkx.set_node_attributes(some, [1.0], "label")
    with pytest.raises(
        TypeError, match=r"X\[0\] has a label of a node that is neither"
    ):
        wl_kernel([some])
