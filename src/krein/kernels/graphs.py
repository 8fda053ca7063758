"""Kernels on graphs with labelled nodes.

A graph is ``(nodes, edges, labels)``, undirected: nodes a number or a list of names,
edges pairs of names (either direction or both), labels one per node, a mapping, or
None; or a networkx graph whose nodes have an attribute ``label``. Nodes without labels
are compared by their degrees. Decision 0022 says why this needs no further package.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_scalar

from krein.kernels import distances
from krein.kernels.registry import register_kernel
from krein.words import warn_user


class LabelledGraph(NamedTuple):
    """A graph as the kernels need it: labels, and neighbours by position."""

    labels: list[Hashable]
    neighbours: list[list[int]]


def _as_graph(node_label: str | None, item: Any) -> LabelledGraph:
    if hasattr(item, "nodes") and hasattr(item, "adj"):  # networkx
        nodes = list(item.nodes)
        edges = list(item.edges())
        labels = _attribute(item, node_label)
    elif isinstance(item, tuple | list) and len(item) in (2, 3):
        nodes = item[0]
        nodes = list(range(nodes)) if isinstance(nodes, int) else _plain(nodes)
        edges = item[1]
        labels = item[2] if len(item) == 3 else None
    else:
        raise TypeError(f"must be (nodes, edges, labels) or of networkx, got {item!r}")
    position = {node: k for k, node in enumerate(nodes)}
    if not nodes or len(position) < len(nodes):
        raise ValueError("has no nodes, or a name twice among its nodes")
    neighbours = _neighbours(edges, position)
    if labels is None or node_label == "degree":
        # Marked, so that a degree never equals a label of another graph.
        return LabelledGraph([("degree", len(n)) for n in neighbours], neighbours)
    return LabelledGraph(_node_labels(labels, nodes), neighbours)


def _attribute(graph: Any, node_label: str | None) -> dict | None:
    """Labels of the nodes of a networkx graph that have some, or None."""
    name = node_label or "label"
    labels = {n: facts[name] for n, facts in graph.nodes(data=True) if name in facts}
    if not labels and node_label not in (None, "degree"):
        raise ValueError(
            f"has no node with the attribute {name!r} (node_label); its nodes have "
            f"{', '.join(_attribute_names(graph)) or 'no attributes'}"
        )
    return labels or None


def _attribute_names(graph: Any) -> list[str]:
    return sorted({str(name) for _, facts in graph.nodes(data=True) for name in facts})


def _warn_of_ignored(X: Any) -> None:
    """Say once which attributes of nodes are not looked at, and what to do."""
    names: set[str] = set()
    for item in X:
        if hasattr(item, "adj"):  # networkx
            names.update(_attribute_names(item))
    used = "label" if "label" in names else "degree"
    ignored = sorted(names - {"label"})
    if ignored:
        warn_user(
            f"nodes have the attributes {', '.join(ignored)}, which are ignored; nodes "
            f"are compared by their {used}. Choose one with node_label=NAME, or "
            f"node_label={used!r} for what is done now"
        )


def _plain(values: Any) -> list:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _node_labels(labels: Any, nodes: list) -> list[Hashable]:
    if isinstance(labels, Mapping):
        labels = [labels[node] for node in nodes if node in labels]
    labels = _plain(labels)
    if len(labels) != len(nodes):
        raise ValueError(f"has {len(labels)} labels for {len(nodes)} nodes")
    if not all(isinstance(label, Hashable) for label in labels):
        raise TypeError("has a label of a node that is neither text nor a number")
    return labels


def _neighbours(edges: Any, position: Mapping) -> list[list[int]]:
    found: list[set[int]] = [set() for _ in position]
    for u, v in _plain(edges):
        if u not in position or v not in position:
            raise ValueError(f"has the edge ({u!r}, {v!r}) with a node not listed")
        found[position[u]].add(position[v])
        found[position[v]].add(position[u])
    return [sorted(others) for others in found]


def _check_pair(X: Any, Y: Any, node_label: Any) -> tuple[list, list]:
    graphs = distances.check_both(X, Y, partial(_as_graph, node_label))
    if node_label is None:
        _warn_of_ignored(X)
    return graphs


# ------------------------------------------------------------- Weisfeiler-Lehman


def _subtree_counts(graphs: list[LabelledGraph], n_iter: int) -> scipy.sparse.csr_array:
    """How often each label of each round occurs in each graph (graphs, labels)."""
    codes: dict[Hashable, int] = {}
    columns: list[int] = []
    for graph in graphs:
        current = [codes.setdefault((0, c), len(codes)) for c in graph.labels]
        columns += current
        for depth in range(1, n_iter + 1):
            following = []
            for own, others in zip(current, graph.neighbours, strict=True):
                signature = (depth, own, *sorted(current[k] for k in others))
                following.append(codes.setdefault(signature, len(codes)))
            current = following
            columns += current
    sizes = [(n_iter + 1) * len(graph.labels) for graph in graphs]
    rows = np.repeat(np.arange(len(graphs)), sizes)
    entries = np.ones(rows.size), (rows, columns)
    return scipy.sparse.csr_array(entries, (len(graphs), len(codes)))


@register_kernel("wl", input="graphs", definiteness="pd")
def wl_kernel(X, Y=None, *, n_iter=3, normalize=False, node_label=None):
    """Weisfeiler-Lehman subtree kernel.

    The inner product of label counts over the rounds 0, ..., n_iter of relabelling a
    node by its own label and the sorted labels of its neighbours.

    Parameters
    ----------
    X, Y : lists of graphs
        ``(nodes, edges, labels)`` or networkx graphs; Y defaults to X.
    n_iter : int
        Rounds of relabelling; 0 counts the labels themselves.
    normalize : bool
        Return ``k(g, h) / sqrt(k(g, g) k(h, h))``.
    node_label : str, optional
        Attribute of networkx nodes that is compared, or "degree" for the number of
        neighbours. When not given: labels (the attribute ``label``), degrees where a
        graph has none, and a warning if nodes have other attributes.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn, Borgwardt (2011),
    "Weisfeiler-Lehman graph kernels", JMLR 12, Section 3.2.

    Examples
    --------
    >>> from krein import wl_kernel
    >>> path = (3, [(0, 1), (1, 2)], ["a", "b", "a"])
    >>> triangle = (3, [(0, 1), (1, 2), (2, 0)], ["a", "b", "a"])
    >>> wl_kernel([path, triangle], n_iter=1)
    array([[10.,  6.],
           [ 6., 10.]])
    """
    check_scalar(n_iter, "n_iter", Integral, min_val=0)
    first, second = _check_pair(X, Y, node_label)
    counts = _subtree_counts(first if second is first else [*first, *second], n_iter)
    K = (counts[: len(first)] @ counts[-len(second) :].T).toarray()
    if not normalize:
        return K
    own = np.asarray(counts.multiply(counts).sum(axis=1), dtype=float).ravel()
    return distances.normalize_scores(K, own[: len(first)], own[-len(second) :])


# -------------------------------------------------------------- optimal assignment


# Numbers of the labels, and the adjacency with rows divided by the degree.
Prepared = tuple[np.ndarray, np.ndarray]


def _prepare(codes: dict[Hashable, int], graph: LabelledGraph) -> Prepared:
    numbers = [codes.setdefault(label, len(codes)) for label in graph.labels]
    P = np.zeros((len(numbers), len(numbers)))
    for node, others in enumerate(graph.neighbours):
        P[node, others] = 1.0 / max(1, len(others))
    return np.array(numbers), P


def _assignment_score(depth: int, decay: float, g: Prepared, h: Prepared) -> float:
    """Best total node similarity over one-to-one assignments of nodes."""
    codes_g, P = g
    codes_h, Q = h
    match = np.equal.outer(codes_g, codes_h).astype(float)
    node = match
    for level in range(1, depth + 1):
        match = P @ match @ Q.T
        node = node + decay**level * match
    return float(node[linear_sum_assignment(node, maximize=True)].sum())


@register_kernel(
    "optimal_assignment",
    input="graphs",
    definiteness="indefinite",
    parallel="processes",
    witness="all paths of 4 and 5 nodes with labels a and b",
)
def optimal_assignment_kernel(
    X, Y=None, *, depth=3, decay=0.5, normalize=False, node_label=None
):
    """Best one-to-one assignment of the nodes of one graph to those of the other.

    The similarity of nodes u, v is ``sum_l decay^l R_l(u, v)``: R_0 is 1 for equal
    labels, R_l the mean of R_(l-1) over all pairs of neighbours. scipy finds the
    assignment.

    Parameters
    ----------
    X, Y : lists of graphs
        ``(nodes, edges, labels)`` or networkx graphs; Y defaults to X.
    depth : int
        Largest distance of neighbours that are looked at.
    decay : float
        Weight of neighbours, between 0 and 1.
    normalize, node_label
        As in `wl_kernel`.

    Returns
    -------
    ndarray of shape (n_X, n_Y)

    References
    ----------
    Froehlich, Wegner, Sieker, Zell (2005), "Optimal assignment kernels for attributed
    molecular graphs", ICML, Section 3; Vert (2008), "The optimal assignment kernel is
    not positive definite".

    Examples
    --------
    >>> from krein import optimal_assignment_kernel
    >>> path = (3, [(0, 1), (1, 2)], ["a", "b", "a"])
    >>> edge = (2, [(0, 1)], ["a", "b"])
    >>> optimal_assignment_kernel([path], [edge], depth=1)
    array([[3.]])
    """
    check_scalar(depth, "depth", Integral, min_val=0)
    check_scalar(decay, "decay", Real, min_val=0, max_val=1)
    first, second = _check_pair(X, Y, node_label)
    prepare = partial(_prepare, {})
    A = list(map(prepare, first))
    B = A if second is first else list(map(prepare, second))
    score = partial(_assignment_score, depth, decay)
    K = distances.each_pair(A, B, score)
    if not normalize:
        return K
    own_A = np.array([score(g, g) for g in A])
    own_B = np.array([score(g, g) for g in B])
    return distances.normalize_scores(K, own_A, own_B)
