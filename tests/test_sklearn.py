"""KernelClusterer behaves as estimators of scikit-learn do, and says what kabc.cluster says."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest
import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which is limited below only once it is loaded
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

import kabc
from kabc.report.html import report_html
from kabc.sklearn import KernelClusterer

NAMES = ["east", "north", "south", "west"]  # west differs
Data = tuple[NDArray[np.float64], NDArray[np.str_]]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Beside other tests, threads of BLAS would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def data() -> Data:
    """60 rows of each arm, mixed."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(NAMES, 60))
    return rng.normal(4.0 * (groups == "west")[:, None], 1.0, (240, 2)), groups


def test_each_row_gets_the_label_of_its_arm(data: Data) -> None:
    X, groups = data
    fitted = KernelClusterer(2, random_state=1).fit(X, groups=groups)
    np.testing.assert_array_equal(fitted.labels_, (groups == "west").astype(int))
    assert fitted.arm_labels_ == {"east": 0, "north": 0, "south": 0, "west": 1}
    assert fitted.classes_.tolist() == NAMES
    assert fitted.result_.groups == (("east", "north", "south"), ("west",))
    assert fitted.n_features_in_ == 2


def test_rows_of_an_arm_that_was_set_aside_have_label_minus_one(data: Data) -> None:
    X, groups = data
    fitted = KernelClusterer(2, random_state=1).fit(np.vstack([X, X[:2]]), groups=np.append(groups, ["tiny", "tiny"]))
    assert fitted.labels_[-2:].tolist() == [-1, -1]
    assert fitted.arm_labels_ == {"east": 0, "north": 0, "south": 0, "tiny": -1, "west": 1}
    assert fitted.result_.certified


def test_it_is_kabc_cluster_on_the_rows_of_each_arm(data: Data) -> None:
    X, groups = data
    result = KernelClusterer(2, delta=0.1, random_state=5).fit(X, groups=groups).result_
    direct = kabc.cluster({name: X[groups == name] for name in NAMES}, 2, 0.1, seed=5)
    assert (result.seed, result.delta) == (direct.seed, direct.delta) == (5, 0.1)
    assert result.samples_per_arm == direct.samples_per_arm
    np.testing.assert_array_equal(result.evidence.log_evidence, direct.evidence.log_evidence)


def test_fit_predict_gives_the_labels_and_the_order_of_rows_does_not_change_the_groups(data: Data) -> None:
    X, groups = data
    labels = KernelClusterer(2, random_state=1).fit_predict(X, groups=groups)
    turned = KernelClusterer(2, random_state=1).fit_predict(X[::-1], groups=groups[::-1])
    np.testing.assert_array_equal(labels, turned[::-1])


def test_a_frame_gives_the_same_as_an_array_and_its_columns_are_named(data: Data) -> None:
    X, groups = data
    plain = KernelClusterer(2, random_state=1).fit(X, groups=groups)
    for frame in (
        pd.DataFrame(X, columns=["pain", "days"]).assign(site=groups),
        pl.DataFrame({"pain": X[:, 0], "days": X[:, 1], "site": groups}),
    ):
        named = KernelClusterer(2, random_state=1).fit(frame[["pain", "days"]], groups=frame["site"])
        assert named.result_.samples_per_arm == plain.result_.samples_per_arm
        assert named.result_.columns == ("pain", "days")
        assert "pain" in report_html(named.result_)
    assert plain.result_.columns == ()


def test_numbers_are_names_as_well(data: Data) -> None:
    X, groups = data
    numbers = np.array([NAMES.index(name) * 10 for name in groups])
    fitted = KernelClusterer(2, random_state=1).fit(X, groups=numbers)
    assert fitted.arm_labels_ == {0: 0, 10: 0, 20: 0, 30: 1}


def test_clone_get_params_and_set_params_keep_every_setting() -> None:
    settings: dict[str, Any] = {
        "n_clusters": 3,
        "delta": 0.01,
        "strategy": "kabc-tight",
        "strategy_options": {"growth": 1.5},
        "kernel": kabc.Gaussian(2.0),
        "max_samples": 900,
        "random_state": 4,
    }
    made = KernelClusterer(**settings)
    assert made.get_params() == settings
    copy = clone(made)
    # clone copies what is no estimator, so objects are compared by what they are made of
    assert {name: repr(value) for name, value in copy.get_params().items()} == {
        name: repr(value) for name, value in settings.items()
    }
    assert copy.set_params(delta=0.2).get_params()["delta"] == 0.2
    assert made.delta == 0.01


def test_every_setting_reaches_the_run(data: Data) -> None:
    X, groups = data
    kernel = kabc.Gaussian(2.0)
    with pytest.warns(ConvergenceWarning, match="the budget is spent"):
        result = (
            KernelClusterer(
                2,
                delta=0.2,
                kernel=kernel,
                strategy="kabc-tight",
                strategy_options={"union": "arms"},
                max_samples=9,
                random_state=3,
            )
            .fit(X, groups=groups)
            .result_
        )
    direct = kabc.cluster(
        {name: X[groups == name] for name in NAMES},
        2,
        0.2,
        kernel=kernel,
        strategy="kabc-tight",
        strategy_options={"union": "arms"},
        max_samples=9,
        seed=3,
    )
    assert result.guarantee == direct.guarantee
    assert (result.status, result.kernel) == ("budget", repr(kernel))


def test_it_is_a_step_of_a_pipeline(data: Data) -> None:
    X, groups = data
    steps = Pipeline([("log", FunctionTransformer(np.exp)), ("arms", KernelClusterer(2, random_state=1))])
    labels = steps.fit_predict(X, arms__groups=groups)
    np.testing.assert_array_equal(labels, (groups == "west").astype(int))
    assert clone(steps).get_params()["arms__n_clusters"] == 2


def test_groups_can_be_routed_as_metadata(data: Data) -> None:
    X, groups = data
    with sklearn.config_context(enable_metadata_routing=True):
        arms = KernelClusterer(2, random_state=1).set_fit_request(groups=True)
        steps = Pipeline([("same", FunctionTransformer()), ("arms", arms)])
        steps.fit(X, groups=groups)
    np.testing.assert_array_equal(steps["arms"].labels_, (groups == "west").astype(int))


def test_without_a_number_of_groups_all_rows_give_a_lower_bound_and_a_warning(data: Data) -> None:
    X, groups = data
    with pytest.warns(ConvergenceWarning, match="undecided: .* guess"):
        fitted = KernelClusterer(random_state=1).fit(X, groups=groups)
    assert fitted.result_.n_groups_at_least == 2
    assert fitted.result_.n_samples > 0.8 * len(X)


def test_labels_that_are_a_guess_come_with_a_warning_and_certified_ones_do_not(data: Data) -> None:
    X, groups = data
    with pytest.warns(ConvergenceWarning, match="undecided: .* guess"):
        guessed = KernelClusterer(2, max_samples=12, random_state=1).fit(X, groups=groups)
    assert not guessed.result_.certified
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelClusterer(2, random_state=1).fit(X, groups=groups)


@pytest.mark.parametrize("state", [np.int64(7), np.random.RandomState(np.random.MT19937(7))])
def test_a_random_state_of_any_kind_repeats_the_run(data: Data, state: Any) -> None:
    X, groups = data
    first = KernelClusterer(2, random_state=clone(KernelClusterer(random_state=state)).random_state)
    second = clone(first)
    assert first.fit(X, groups=groups).result_.seed == second.fit(X, groups=groups).result_.seed


@pytest.mark.fresh_seed
def test_without_random_state_the_seed_is_fresh_and_recorded(data: Data) -> None:
    X, groups = data
    seeds = {KernelClusterer(2).fit(X, groups=groups).result_.seed for _ in range(2)}
    assert len(seeds) == 2


def test_fit_refuses_to_guess_the_arms(data: Data) -> None:
    with pytest.raises(kabc.SettingsError, match=r"needs groups=.*NAME__groups"):
        KernelClusterer(2).fit(data[0])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_a_row_without_an_arm_is_refused(data: Data, gap: object) -> None:
    X, groups = data
    names = groups.astype(object)
    names[5] = gap
    with pytest.raises(kabc.SampleError, match="groups has missing values"):
        KernelClusterer(2).fit(X, groups=names)


def test_a_number_that_is_missing_is_no_name(data: Data) -> None:
    X, _ = data
    with pytest.raises(kabc.SampleError, match="groups has missing values"):
        KernelClusterer(2).fit(X, groups=[np.nan, *[1.0] * 120, *[2.0] * 119])


def test_groups_of_another_length_and_missing_values_are_refused_as_scikit_learn_does(data: Data) -> None:
    X, groups = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelClusterer(2).fit(X, groups=groups[:-1])
    with pytest.raises(ValueError, match="NaN"):
        KernelClusterer(2).fit(np.where(np.arange(240)[:, None] == 3, np.nan, X), groups=groups)


def test_without_scikit_learn_the_cure_is_named() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import kabc\n"
        "try:\n    import kabc.sklearn\nexcept kabc.SettingsError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "kabc[sklearn]" in done.stdout
