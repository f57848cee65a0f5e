"""A clusterer for scikit-learn: rows with the name of their arm go in, a label for each row comes out.

Other clusterers group rows. This one groups the arms that rows belong to, so `fit` needs `groups`. The checks of
estimators that scikit-learn ships do not pass `groups`, so they cannot be run on it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kabc.core.errors import SampleError, SettingsError
from kabc.results.values import Result
from kabc.results.words import STATUS_WORDS
from kabc.running.cluster import KernelChoice, cluster

try:
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data
except ImportError as error:
    raise SettingsError(
        "KernelClusterer needs scikit-learn 1.6 or newer; pip install --upgrade 'kabc[sklearn]'"
    ) from error

_SEEDS = 2**31 - 1


class KernelClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Groups arms by the distribution of their rows, wrong with probability at most delta.

    Rows of an arm are drawn in random order without replacement, no more of them than it takes. If there are too few,
    `fit` warns (ConvergenceWarning): labels are then a guess, and `result_` says what is certified. Steps of a pipeline
    before it must not learn from the rows that it groups, or delta is no longer proven. Fixed units and logarithms are
    fine; a scaler that is fitted to the same rows is not.

    Parameters
    ----------
    n_clusters : int, optional
        K, the number of groups. If it is left out, all rows are used, and a lower bound on it is certified.
    delta : float, default 0.05
        Largest probability of a wrong certified answer.
    strategy : str, optional
        As for `kabc.cluster`.
    strategy_options : mapping, optional
        As for `kabc.cluster`.
    kernel : Kernel or callable, optional
        As for `kabc.cluster`.
    max_samples : int, optional
        As for `kabc.cluster`.
    random_state : int or RandomState, optional
        Chooses the order of the rows. A whole number is the `seed` of `kabc.cluster`.

    Attributes
    ----------
    labels_ : array of int, shape (n,)
        For each row the label of its arm; -1 if the arm was set aside because it has too few rows.
    classes_ : array, shape (N,)
        Names of the arms, sorted.
    arm_labels_ : dict
        The label of each name.
    result_ : Result
        The whole answer: status, groups, evidence, certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.sklearn import KernelClusterer
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(mean, 1.0, (100, 1)) for mean in (0.0, 5.0, 0.0)])
    >>> names = np.repeat(["a", "b", "c"], 100)
    >>> KernelClusterer(2, random_state=0).fit(rows, groups=names).arm_labels_
    {'a': 0, 'b': 1, 'c': 0}
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        delta: float = 0.05,
        strategy: str | None = None,
        strategy_options: Mapping[str, Any] | None = None,
        kernel: KernelChoice = None,
        max_samples: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.delta = delta
        self.strategy = strategy
        self.strategy_options = strategy_options
        self.kernel = kernel
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, *, groups: ArrayLike | None = None) -> Self:  # (n, d), -, (n,)
        """Group the arms; `groups` names the arm of each row."""
        if groups is None:
            raise SettingsError(
                "fit needs groups=, the name of the arm of each row; in a pipeline: fit(X, NAME__groups=...), with "
                "NAME the name of this step"
            )
        rows: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        arms = column_or_1d(groups)
        check_consistent_length(rows, arms)
        self.classes_, places = _numbered(arms)
        names = self.classes_.tolist()
        result = self._clustered({name: rows[places == place] for place, name in enumerate(names)}, len(rows))
        self.result_ = replace(result, columns=tuple(getattr(self, "feature_names_in_", ())))
        self.arm_labels_ = dict(zip(names, result.labels, strict=True))
        self.labels_: NDArray[np.intp] = np.asarray(result.labels, dtype=np.intp)[places]
        if not result.certified:
            warnings.warn(f"{STATUS_WORDS[result.status]}; print result_ for more", ConvergenceWarning, stacklevel=2)
        return self

    def _clustered(self, pools: dict[Any, NDArray[np.float64]], n_rows: int) -> Result:
        everything = n_rows if self.n_clusters is None else None
        return cluster(
            pools,
            self.n_clusters,
            self.delta,
            kernel=self.kernel,
            strategy=self.strategy,
            strategy_options=self.strategy_options,
            max_samples=everything if self.max_samples is None else self.max_samples,
            seed=self._seed(),
            progress=False,
        )

    def _seed(self) -> int | None:
        if self.random_state is None:
            return None
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(_SEEDS))


def _numbered(arms: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:  # (n,) -> (N,), (n,)
    """The names of the arms, sorted, and for each row the place of its name."""
    try:
        names, places = np.unique(arms, return_inverse=True)
        missing = any(name != name for name in names.tolist())
    except TypeError:  # None and pandas' NA cannot be sorted
        missing = True
    if missing:
        raise SampleError(
            "groups has missing values, or numbers beside texts; every row needs the name of its arm, all of one type"
        )
    return names, places
