"""Those who steer: each thing that they do is a note in the study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kabc
from tests.running.crew import MEANS, arms
from tests.server.served import Served, refusal


@pytest.fixture
def study(served: Served) -> Iterator[kabc.Study]:
    """A study that was interrupted after its second round."""
    asked: dict[str, Any] = {"n_clusters": 2, "seed": 1, "check_k": False, "max_samples": 1_000}
    made = kabc.create_study("steered", arms=list(MEANS), storage=served.storage, **asked)
    made.run(arms(), on_round=lambda seen: made.pause() if seen.number == 2 else None, progress=False)
    made.resume()
    yield made
    if "steered" in served.storage.study_names():
        served.storage.delete_study(made.record.id)


def act(served: Served, study: kabc.Study, **body: Any) -> Any:
    with served.client(served.token) as client:
        return client.post(f"/api/studies/{study.record.id}/actions", json=body)


def last(study: kabc.Study) -> tuple[str, Any]:
    note = study.storage.notes(study.record.id)[-1]
    return note.kind, note.body


def test_a_study_is_paused_and_resumed_and_the_ledger_says_by_whom(served: Served, study: kabc.Study) -> None:
    assert act(served, study, action="pause").json()["state"] == "paused"
    assert (study.status, last(study)) == ("paused", ("paused", {"by": "printed"}))
    assert act(served, study, action="resume").json()["state"] == "running"
    assert last(study) == ("running", {"by": "printed"})


def test_a_budget_is_raised_and_not_below_what_was_drawn(served: Served, study: kabc.Study) -> None:
    assert act(served, study, action="raise-budget", max_samples=2_000).json()["max_samples"] == 2_000
    kind, body = last(study)
    assert (kind, body["now"], body["by"]) == ("limits", {"max_samples": 2_000}, "printed")
    assert refusal(act(served, study, action="raise-budget", max_samples=1))[0] == 409
    assert refusal(act(served, study, action="raise-budget"))[0] == 400
    assert refusal(act(served, study, action="pause", max_samples=7))[0] == 400
    assert act(served, study, action="raise-budget", max_samples=None).json()["max_samples"] is None


def test_a_study_that_is_stopped_has_the_answer_so_far_and_can_go_on(served: Served, study: kabc.Study) -> None:
    n_samples = study.result().n_samples
    while (answer := act(served, study, action="stop")).status_code == 503:  # it is being computed
        pass
    assert (answer.json()["state"], answer.json()["status"]) == ("ended", "interrupted")
    assert last(study) == ("stopped", {"by": "printed"})
    assert (study.status, study.result().n_samples) == ("ended", n_samples)
    assert refusal(act(served, study, action="resume"))[0] == 409
    assert act(served, study, action="raise-budget", max_samples=None).status_code == 200
    result = study.run(arms(), progress=False)
    whole = kabc.cluster(arms(), 2, seed=1, check_k=False, progress=False)
    assert (result.status, result.labels, result.n_samples) == ("decided", whole.labels, whole.n_samples)


def test_a_study_is_deleted_if_its_name_is_typed(served: Served, study: kabc.Study) -> None:
    with served.client(served.token) as client:
        path = f"/api/studies/{study.record.id}"
        assert refusal(client.request("DELETE", path, json={"name": "steered "}))[0] == 409
        assert "steered" in served.storage.study_names()
        assert client.request("DELETE", path, json={"name": "steered"}).json() == {"done": True}
        assert refusal(client.request("DELETE", path, json={"name": "steered"}))[0] == 404
    assert "steered" not in served.storage.study_names()
    assert "'steered', was deleted by printed" in served.log
