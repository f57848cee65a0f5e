"""Ray with two workers, where it is installed: the same answer as without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kabc import ArmError
from kabc.strategies.anytime import inference
from tests.running.engines.deadly import FEW, living, n_calls, n_calls_without_deaths, raises, with_a_deadly_one
from tests.running.engines.parts import ARMS, ASKED, HERE, equal, noted, pids_in
from tests.running.live import mixed_arms, picklable_arms, run, same


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    found: Any = pytest.importorskip("ray")
    found.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield found
    found.shutdown()


def test_ray_does_not_change_the_answer(ray: Any) -> None:
    assert same(run(mixed_arms(), executor=ray), run(mixed_arms()))
    assert ray.is_initialized()


def test_an_error_on_a_worker_names_its_arm(ray: Any) -> None:
    with pytest.raises(ArmError, match="arm 'c': its draw failed: ValueError: no sample today"):
        run(picklable_arms() | {"c": raises}, executor=ray)


def test_a_draw_that_kills_its_worker_is_drawn_again(ray: Any, tmp_path: Path) -> None:
    result = run(with_a_deadly_one(tmp_path, 1), **FEW, executor=ray)
    assert same(result, run(living(), **FEW))
    assert any("lost with a worker and drawn again" in note for note in result.notes)
    assert n_calls(tmp_path) == n_calls_without_deaths(tmp_path) + 1  # Ray itself did not draw it again


def test_or_the_run_ends(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(ArmError, match=r"worker .*died.*on_worker_loss="):
        run(with_a_deadly_one(tmp_path, 1), **FEW, executor=ray, on_worker_loss="raise")


@pytest.mark.usefixtures("small_parts")
def test_ray_computes_parts_and_the_answer_is_the_same(
    ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = run(ARMS, **ASKED)
    monkeypatch.setattr(inference, "won", partial(noted, tmp_path))
    assert equal(run(ARMS, **ASKED, executor=ray), usual)
    assert pids_in(tmp_path) and HERE not in pids_in(tmp_path)
