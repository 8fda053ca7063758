"""From what was read to what is learnt: kernels, methods, distances, groups."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from krein import DistanceTransformer, HitSimilarity
from krein.cli import Options
from krein.cli.console import TWINS, Inputs, check_symmetry, print_note, read_inputs
from krein.comparison.contenders import TASKS
from krein.comparison.problem import Problem, make_problem
from krein.diagnostics.twins import duplicate_groups
from krein.files.sources import FormatError, Named
from krein.kernels import KERNELS, as_kernel, list_kernels
from krein.kernels.registry import ALIASES, other_kernel
from krein.numbers_or_classes import is_continuous
from krein.retired import GONE_CONTENDERS
from krein.selection.splitting import similarity_groups
from krein.similarity.sparse import as_matrix
from krein.validation import wrong_direction
from krein.words import did_you_mean

_CONSTANTS = {"true": True, "false": False, "none": None}
_FEWEST = 4  # items from which "every item is a class of its own" is suspicious


def make_kernels(args: Options) -> dict[str, Any]:
    """Kernels by name, None for a matrix; a wrong name fails before a long read."""
    if args.transform and args.kind is None:
        args.kind = "distance"
    names = [name.strip() for name in args.kernel.split(",")]
    if names == ["precomputed"]:
        return {"precomputed": None}
    if args.kind:
        raise ValueError(
            "--kind and --transform are for a matrix; a kernel has --param "
            "similarity=NAME"
        )
    if len(names) > 1 and (args.param or args.command != "compare"):
        raise ValueError(
            f"--kernel {args.kernel} names several kernels, which only krein compare "
            "takes; --param is for one kernel"
        )
    return {name: make_kernel(name, args.param) for name in names}


def check_methods(names: str | None, task: str) -> list[str] | None:
    """Split and check a list of methods; None means all that apply."""
    if names is None:
        return None
    tasks = TASKS if task == "any" else [task]  # "any" while labels are not read
    known = dict.fromkeys(name for some in tasks for name in TASKS[some].methods)
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        other = [task for task in TASKS if name in TASKS[task].methods]
        if name not in known and other:
            raise ValueError(
                f"method {name!r} is for a {other[0]} (--task {other[0]}), and this is "
                f"a {task}; its methods are {', '.join(known)}"
            )
        if name not in known:
            near = did_you_mean(name, known, GONE_CONTENDERS)
            raise ValueError(
                f"there is no method {name!r}{near} (there are {', '.join(known)})"
            )
    return chosen


# --------------------------------------------------------------- what was typed


def as_value(text: str) -> Any:
    """Return the constant, number or sequence that a text stands for, or the text."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def parse_pairs(
    pairs: Iterable[str], known: Collection[str], *, option: str, owner: str
) -> dict[str, Any]:
    """Turn ``["gamma=0.5"]`` into ``{"gamma": 0.5}``.

    Parameters
    ----------
    pairs : iterable of str
        What was typed.
    known : collection of str
        Names of the parameters that there are.
    option, owner : str
        For messages: the option's name, and whose parameters they are.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"{option} must look like name=value, got {pair!r}")
        if name not in known:
            there = ", ".join(known) or "none"
            raise ValueError(
                f"{option}: {owner} has no parameter {name!r}; it has {there}"
                f"{did_you_mean(name, known)}"
            )
        values[name] = as_value(text)
    return values


def make_kernel(name: str, pairs: Iterable[str] = ()) -> Any:
    """Return the kernel with its parameters, or say what there is."""
    if name not in list_kernels() and name not in ALIASES:
        raise ValueError(
            f"there is no kernel {name!r}{other_kernel(name)} ('krein kernel list' "
            "shows all)"
        )
    known = kernel_defaults(name)
    values = parse_pairs(pairs, known, option="--param", owner=f"kernel {name!r}")
    for key, value in values.items():
        if isinstance(known[key], bool):
            if value not in (0, 1):  # any text would count as true
                raise ValueError(f"--param: {key} must be true or false, got {value!r}")
            values[key] = bool(value)
    return as_kernel(name, values)


def kernel_defaults(name: str) -> dict[str, Any]:
    """Parameters of a registered kernel, as a kernel given by name has them."""
    defaults = as_kernel(name, None).get_params()
    return {key: defaults[key] for key in KERNELS[name].parameters}


# ---------------------------------------------------------------------- what is read


def read_problem(args: Options, kernel: Any = None) -> Inputs:
    """Read the files of a command that learns; hits become similarities.

    Parameters
    ----------
    args : Options
        The options of the command; those that it does not have are None.
    kernel : Kernel, optional
        What compares the items; without it the file holds a square matrix.
    """
    read = replace(read_inputs(args, kernel), task=args.task or "classification")
    if read.target is not None:
        read = _settle_task(read, args)
    if scipy.sparse.issparse(read.data):
        read = _hits_as_similarity(read, args)
    return read


def _settle_task(read: Inputs, args: Options) -> Inputs:
    """Find out whether labels are classes or numbers; leave out rare classes."""
    numbers = as_numbers(read.target)
    path = args.labels or args.file
    if args.task is None and numbers is not None and is_continuous(numbers):
        read = replace(read, task="regression")
        print_note(
            args,
            f"{np.unique(numbers).size} different numbers as labels: taken as numbers "
            "to be predicted (--task classification: as classes)",
        )
    if read.task == "classification":
        _check_classes(np.asarray(read.target), path)
        return leave_out_rare(read, args)
    if numbers is None:
        raise FormatError(path, "has labels that are no numbers; expected numbers")
    return replace(read, target=numbers)


def as_numbers(labels: Any) -> np.ndarray | None:
    """Labels as numbers, if all of them are finite ones."""
    try:
        numbers = np.asarray(labels).astype(float)
    except ValueError:
        return None
    if not np.isfinite(numbers).all():
        return None
    return numbers


def _check_classes(labels: np.ndarray, path: str) -> None:
    """Refuse one class per item: the separator or the column is another."""
    n = labels.size
    if n >= _FEWEST and len(np.unique(labels)) == n:
        raise FormatError(
            path,
            f"has {n} classes for {n} items, one each: {str(labels[0])!r}, "
            f"{str(labels[1])!r}, ... Are these labels? Another separator "
            "(--separator) or column (--label-column) may be meant",
        )


def leave_out_rare(read: Inputs, args: Options) -> Inputs:
    """Leave out items of classes that are too small to train and test on.

    Of a table of hits that is also done without --min-members: classes of less than
    10 items, or less than 5 where 10 would leave out most items.
    """
    _, codes = np.unique(np.asarray(read.target), return_inverse=True)
    counts = np.bincount(codes)
    sizes = counts[codes]  # of the class of each item
    least = args.min_members
    if least is None:
        least = 1
        if scipy.sparse.issparse(read.data):
            least = 10 if np.mean(sizes >= 10) > 0.5 else 5
    kept = np.flatnonzero(sizes >= least)
    if kept.size == codes.size:
        return read
    large = int((counts >= least).sum())
    if large < 2:
        raise ValueError(
            f"{large} classes have {least} items or more; at least two are needed. "
            "Choose a smaller --min-members"
        )
    few = counts.size - large
    classes = "1 class" if few == 1 else f"{few} classes"
    print_note(
        args,
        f"left out: {codes.size - kept.size} items of {classes} with fewer than "
        f"{least} members (--min-members)",
    )
    return read.part(kept)


def _hits_as_similarity(read: Inputs, args: Options) -> Inputs:
    """Make a similarity of hits; how that was done stays with it, for new items."""
    has_self_scores = bool((read.data.diagonal() > 0).any())
    rule = HitSimilarity(normalize=has_self_scores)
    K = rule.fit_transform(Named(read.data, read.names))
    how = "scores as they are: there are no self scores"
    if has_self_scores:
        how = f"scores over the roots of self scores, {rule.n_imputed_} of them missing"
    print_note(args, f"the better direction of a pair counts; {how}")
    return replace(read, data=K, rule=rule)


# -------------------------------------------------------------------- what is learnt


def problem_of(args: Options, read: Inputs, kernel: Any) -> Problem:
    """Return the data of a comparison or a fit, checked."""
    if read.target is None:
        raise ValueError("the input has no labels; give them with --labels FILE")
    if read.rule is not None and read.task != "classification":
        raise ValueError(f"{args.file} is a table of hits: classes can be learnt of it")
    conversion = None
    if kernel is None:
        check_symmetry(read, args)
        labels = read.target if read.task == "classification" else None
        conversion = conversion_of(args, read.data, labels)
    problem = make_problem(
        read.data,
        read.target,
        kernel=kernel or "precomputed",
        groups=read.groups,
        symmetrize=args.symmetrize,
        task=read.task,
        conversion=conversion,
    )
    return _grouped(replace(problem, labels_matched=read.by_name), args)


def conversion_of(args: Options, K: Any, labels: Any = None) -> Any:
    """Return the DistanceTransformer that the arguments ask for, or None.

    Labels help to tell similarities from distances.
    """
    if args.kind == "similarity" and args.transform:
        raise ValueError("--transform is for --kind distance")
    check_direction(args, K, labels)
    if args.kind != "distance":
        if args.param:
            raise ValueError("--param needs --kernel NAME or --kind distance")
        return None
    values = parse_pairs(args.param, ["gamma"], option="--param", owner="--transform")
    return DistanceTransformer(args.transform or "exponential", **values)


def check_direction(args: Options, K: Any, labels: Any = None) -> None:
    """Refuse numbers of the wrong direction.

    --kind insists on what can be doubted (estimators warn of it); that a distance is
    largest between an item and itself cannot.
    """
    found = wrong_direction(K, args.kind or "similarity", labels)
    if found and (args.kind is None or found.key == "looks-like-similarities"):
        raise ValueError(
            f"{args.file} looks like {found.seems}: {found.reason}. Is it --kind "
            "distance or --kind similarity?"
        )


def _grouped(problem: Problem, args: Options) -> Problem:
    """Keep twins or relatives together if asked to."""
    if args.groups != TWINS and args.split_by_similarity is None:
        return problem
    K = problem.on(problem.everything)
    if args.groups == TWINS:
        what = "equal items"
        groups = duplicate_groups(as_matrix(K).dense())
    else:
        what = f"relatives at similarity {args.split_by_similarity:g}"
        groups = similarity_groups(K, args.split_by_similarity)
    print_note(
        args,
        f"{np.unique(groups).size} groups of {what}, the largest has "
        f"{np.bincount(groups).max()} items",
    )
    return replace(problem, groups=groups)
