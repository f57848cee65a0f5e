"""What people see is what the store has, and what `kabc study result` says."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest

import kabc
from kabc.core.evidence.pairs import Evidence
from kabc.results.files import loaded
from kabc.results.schema import Document
from kabc.results.values import Assumption, Result
from kabc.results.words import headline
from kabc.server import hub, views, working
from kabc.server import lines as lines_module
from kabc.server.errors import RefusedError
from kabc.server.lines import Lines, view_of
from kabc.server.models.answers import ArmsView, Changes, Pairs, SamplesView, Snapshot
from kabc.server.models.studies import Studies, StudyView
from kabc.server.models.work import WorkQuery
from kabc.storage.contract import NewTicket
from kabc.storage.memory import MemoryStorage
from kabc.storage.opening import open_storage
from tests.running.crew import MEANS, arms
from tests.server.served import Served, refusal, serving


def computed(client: httpx.Client, path: str, **query: Any) -> Any:
    """What the server says once it is computed."""
    while True:
        answer = client.get(path, params=query)
        if answer.status_code != 503 and not (answer.status_code == 200 and answer.json().get("computing")):
            assert answer.status_code == 200, answer.text
            return answer.json()
        time.sleep(0.1)


def test_the_list_has_every_study_in_figures(served: Served) -> None:
    with served.client(served.token) as client:
        found = Studies.model_validate_json(client.get("/api/studies").text)
    assert [(one.id, one.name, one.state, one.status) for one in found.studies] == [
        (1, "ended", "ended", "decided"), (2, "goes on", "running", None)
    ]  # fmt: skip
    for one in found.studies:
        seen = served.storage.summary(one.id)
        assert (one.n_arms, one.n_rounds, one.n_samples) == (4, seen.n_rounds, seen.n_samples)
        assert one.revision == seen.study.revision


def test_the_list_knows_the_groups_of_an_answer_and_of_a_study_that_was_looked_at(served: Served) -> None:
    answer = kabc.load_study("ended", storage=served.place).result()
    with served.client(served.token) as client:
        computed(client, "/api/studies/2/snapshot")
        ended, goes_on = Studies.model_validate_json(client.get("/api/studies").text).studies
    assert ended.so_far is not None and goes_on.so_far is not None
    assert (ended.so_far.n_groups, ended.so_far.certified, ended.so_far.forecast) == (2, True, None)
    assert ended.so_far.n_samples == answer.n_samples
    so_far = kabc.load_study("goes on", storage=served.place).result()
    assert (goes_on.so_far.n_groups, goes_on.so_far.certified) == (len(so_far.groups), False)
    assert goes_on.so_far.forecast == (sum((so_far.needs or {}).values()) or None)


def test_what_something_else_than_kabc_wrote_is_not_shown() -> None:
    store = MemoryStorage()
    study = kabc.create_study("odd", arms=["a", "b"], n_clusters=2, seed=0, storage=store)
    store.end(study.record.id, 0, {"status": "decided", "groups": "many", "n_samples": -3})
    (line,) = Lines().studies(store).studies
    assert (line.status, line.so_far) == ("decided", None)


def test_a_list_that_takes_long_to_read_comes_in_parts_the_latest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStorage()
    for i in range(4):
        kabc.create_study(f"night {i}", arms=["a", "b"], n_clusters=2, seed=0, storage=store)
    monkeypatch.setattr(lines_module, "_PATIENCE", -1.0)
    lines = Lines()
    found = lines.studies(store)
    assert (found.studies, found.unread) == ([], 4)
    ticks = count(0.0, 0.4)  # one look at the clock each, and one at the start
    monkeypatch.setattr(lines_module, "_PATIENCE", 1.0)
    monkeypatch.setattr(lines_module, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    found = lines.studies(store)
    assert ([one.name for one in found.studies], found.unread) == (["night 2", "night 3"], 2)
    found = lines.studies(store)
    assert ([one.name for one in found.studies], found.unread) == ([f"night {i}" for i in range(4)], 0)


def test_the_list_takes_the_figures_with_the_most_samples() -> None:
    store = MemoryStorage()
    study = kabc.create_study("goes on", arms=["a", "b"], n_clusters=2, seed=0, storage=store).record.id
    lines = Lines()
    known = {"n_groups": 2, "n_groups_at_least": 1, "certified": False, "forecast": 90}
    store.register_worker(study, "w", {"so_far": {**known, "n_samples": 30}})
    assert [one.so_far and one.so_far.n_samples for one in lines.studies(store).studies] == [30]
    lines.learn(study, {**known, "n_samples": 40})
    assert [one.so_far and one.so_far.n_samples for one in lines.studies(store).studies] == [40]
    store.register_worker(study, "w", {"so_far": {**known, "n_samples": 50}})
    assert [one.so_far and one.so_far.n_samples for one in lines.studies(store).studies] == [50]
    store.delete_study(study)
    assert lines.studies(store).studies == []


def test_changes_since_the_run_before_are_those_that_compare_prints(folder: Path) -> None:
    place = str(folder / "kabc.db")
    asked: dict[str, Any] = {"arms": list(MEANS), "n_clusters": 2, "check_k": False, "storage": place}
    moved = arms() | {"b": arms()["c"]}
    old = kabc.create_study("nightly 2026-11-16", seed=1, **asked).run(arms(), progress=False)
    new = kabc.create_study("nightly 2026-11-17", seed=2, **asked).run(moved, progress=False)
    said = kabc.compare(old, new)
    assert [one.arm for one in said.changes] == ["b"]
    with serving(folder, place=place) as served, served.client(served.token) as client:
        first = Changes.model_validate_json(json.dumps(computed(client, "/api/studies/1/changes")))
        second = Changes.model_validate_json(json.dumps(computed(client, "/api/studies/2/changes")))
    assert (first.before, first.lines) == (None, [])
    assert second.before is not None and second.before.name == "nightly 2026-11-16"
    assert (second.same, second.alarm, second.lines) == (False, said.alarm, str(said).splitlines())


def test_answers_about_different_columns_are_not_compared() -> None:
    def result(n_columns: int) -> Result:
        rng = np.random.default_rng(0)
        given = {"a": rng.normal(size=(200, n_columns)), "b": rng.normal(9.0, size=(200, n_columns))}
        return kabc.cluster(given, n_clusters=2, seed=0, progress=False)

    store = MemoryStorage()
    study = kabc.create_study("before", arms=["a", "b"], n_clusters=2, seed=0, storage=store).record
    found = views.changes(result(1), 7, study, result(2))
    assert found.lines == [] and "column" in found.refused


def test_one_study_has_its_question_arms_and_workers(served: Served) -> None:
    with served.client(served.token) as client:
        found = StudyView.model_validate_json(client.get("/api/studies/2").text)
        assert refusal(client.get("/api/studies/99"))[0] == 404
    assert (found.question["strategy"], found.question["n_clusters"], found.question["seed"]) == ("anytime", 2, 1)
    assert (found.arms, found.tickets.done) == (list(MEANS), served.storage.summary(2).tickets["done"])
    assert [(one.n_arms, one.n_leases) for one in found.workers] == [(4, 0)]
    assert found.notes["paused"] == found.notes["running"] == 1


def test_the_answer_of_a_study_that_has_ended_is_the_one_in_the_store(served: Served) -> None:
    with served.client(served.token) as client:
        found = Snapshot.model_validate_json(json.dumps(computed(client, "/api/studies/1/snapshot")))
        full = client.get("/api/studies/1/export", params={"form": "json"})
    answer = kabc.load_study("ended", storage=served.place).result()
    assert (found.certainty, found.sentence) == ("certified", headline(answer))
    assert found.answer is not None and found.answer.effects is not None
    assert [one.arms for one in found.answer.groups] == [["a", "b"], ["c", "d"]]
    assert answer.effects.arms and not found.answer.effects.arms
    assert found.certificate.startswith("CERTIFICATE of Anytime KABC")
    assert Document.model_validate_json(full.text).evidence is not None
    assert loaded(full.json(), "the export") == answer


def test_the_answer_of_a_study_that_goes_on_is_that_of_its_whole_rounds(served: Served) -> None:
    with served.client(served.token) as client:
        found = Snapshot.model_validate_json(json.dumps(computed(client, "/api/studies/2/snapshot")))
    answer = kabc.load_study("goes on", storage=served.place).result()
    assert (found.state, found.certainty) == ("running", "guess")
    assert found.answer is not None
    assert found.answer.labels == {name: label + 1 for name, label in zip(answer.names, answer.labels, strict=True)}
    assert found.answer.n_told_apart == answer.evidence.n_told_apart
    assert found.revision == served.storage.load_study("goes on").revision


def test_all_pairs_are_there_with_what_is_proven_of_them(served: Served) -> None:
    answer = kabc.load_study("ended", storage=served.place).result()
    with served.client(served.token) as client:
        found = Pairs.model_validate_json(json.dumps(computed(client, "/api/studies/1/pairs")))
        part = Pairs.model_validate_json(
            json.dumps(computed(client, "/api/studies/1/pairs", arm="c", limit=2, offset=1))
        )
        assert refusal(client.get("/api/studies/1/pairs", params={"arm": "nobody"}))[0] == 404
    assert (found.total, found.void, found.conditional_on) == (6, False, "there are exactly 2 groups")
    assert [(one.a, one.b) for one in found.pairs] == list(combinations("abcd", 2))
    for one in found.pairs:
        apart = {one.a, one.b} not in ({"a", "b"}, {"c", "d"})
        assert one.verdict == ("different" if apart else "open")
        i, j = ("abcd".index(name) for name in (one.a, one.b))
        assert (one.told_in_round, one.strength) == (
            answer.evidence.told_in_round[i, j],
            answer.evidence.strength[i, j],
        )
    assert (part.total, [(one.a, one.b) for one in part.pairs]) == (3, [("c", "b"), ("c", "d")])


def test_arms_are_searched_and_come_in_pages(served: Served) -> None:
    with served.client(served.token) as client:
        whole = ArmsView.model_validate_json(json.dumps(computed(client, "/api/studies/1/arms")))
        page = ArmsView.model_validate_json(json.dumps(computed(client, "/api/studies/1/arms", limit=1, offset=1)))
        found = ArmsView.model_validate_json(json.dumps(computed(client, "/api/studies/1/arms", search="B")))
    assert sorted(one.arm for one in whole.arms) == list(MEANS) and whole.certified
    assert page.arms == whole.arms[1:2] and page.total == 4
    assert [(one.arm, one.group) for one in found.arms] == [("b", 1)]
    oddness = [one.oddness for one in whole.arms]
    assert oddness == sorted(oddness, key=lambda one: -float(one or 0))


def test_two_arms_stand_side_by_side(served: Served) -> None:
    answer = kabc.load_study("ended", storage=served.place).result()
    with served.client(served.token) as client:
        found = SamplesView.model_validate_json(json.dumps(computed(client, "/api/studies/1/samples", a="a", b="c")))
        assert refusal(client.get("/api/studies/1/samples", params={"a": "a", "b": "a"}))[0] == 400
    assert found.a.samples is not None and found.trace is not None and answer.trace is not None
    assert np.reshape(found.a.samples.data or [], found.a.samples.shape).tolist() == answer.samples["a"].tolist()
    assert found.trace.strength == answer.trace.strength[:, 0, 2].tolist()
    assert (found.pair.verdict, found.a.group, found.b.group) == ("different", 1, 2)


@pytest.mark.parametrize("form", ["csv", "kabcstudy"])
def test_a_study_can_be_taken_out_as_a_file(served: Served, form: str, tmp_path: Path) -> None:
    with served.client(served.token) as client:
        answer = client.get("/api/studies/1/export", params={"form": form})
    assert (answer.status_code, answer.headers["content-disposition"]) == (
        200,
        f'attachment; filename="study-1.{form}"',
    )
    n_samples = served.storage.summary(1).n_samples
    if form == "csv":
        assert len(answer.text.splitlines()) == n_samples + 1
        return
    path = tmp_path / "copy.kabcstudy"
    path.write_bytes(answer.content)
    copy = open_storage(path)
    assert copy.summary(copy.load_study("ended").id).n_samples == n_samples
    assert copy.tokens() == []  # they stay where they are
    copy.close()


def test_notes_come_in_pages(served: Served) -> None:
    with served.client(served.token) as client:
        first = client.get("/api/studies/2/notes", params={"limit": 1}).json()
        rest = client.get("/api/studies/2/notes", params={"after": first["notes"][0]["id"]}).json()
    assert (first["more"], rest["more"]) == (True, False)
    assert [one["kind"] for one in [*first["notes"], *rest["notes"]]][:2] == ["paused", "running"]


# ---------------------------------------------------------------- without a server


def test_nothing_is_proven_of_pairs_where_an_assumption_is_refuted() -> None:
    result = kabc.cluster({"a": [0.1] * 60, "b": [0.9] * 60}, n_clusters=2, seed=0, progress=False)
    assert [one.verdict for one in views.pairs(result, 1, None, 0, 10).pairs] == ["different"]
    doubted = replace(result, status="doubtful", assumptions=(Assumption("a", "samples depend on each other", 900.0),))
    found = views.pairs(doubted, 1, None, 0, 10)
    assert found.void and [one.verdict for one in found.pairs] == ["open"]
    assert views.pairs(replace(result, status="stopped"), 1, None, 0, 10).void


def test_a_pair_within_a_tolerance_has_its_margins() -> None:
    arms = {name: lambda n, rng, mean=mean: rng.normal(mean, 1.0, n) for name, mean in (("a", 9), ("b", 9), ("c", 30))}
    result = kabc.cluster(arms, tolerance="2 sd", seed=0, progress=False)
    found = views.pairs(result, 1, None, 0, 10)
    assert [one.verdict for one in found.pairs] == ["same", "different", "different"]
    assert found.unit == "standard deviations"
    within = result.tolerance
    assert within is not None and found.pairs[0].same_within == within.same_within[0, 1] < np.inf
    assert [one.apart_at_least for one in found.pairs] == within.apart_at_least[np.triu_indices(3, 1)].tolist()


def many_arms(n: int, evidence: Evidence) -> Result:
    """A result with this evidence."""
    one = kabc.cluster({"a": [0.1] * 60, "b": [0.9] * 60}, n_clusters=2, seed=0, progress=False)
    names = tuple(f"arm {i}" for i in range(n))
    drawn: dict[Hashable, int] = dict.fromkeys(names, 1)
    return replace(one, names=names, labels=(0,) * n, evidence=evidence, samples_per_arm=drawn, samples={}, trace=None)


def test_pairs_of_arms_that_were_compared_with_some_are_those_of_the_dense_evidence() -> None:
    """A pair may stand in the block one way round or the other, or not at all."""
    rng, n, compared = np.random.default_rng(0), 9, np.array([6, 2])
    told = rng.integers(0, 3, (n, 2))
    told[6, 1] = told[2, 0]  # the pair of both stands twice
    values = np.where(told > 0, 2.0, 0.5)
    evidence = Evidence.of_bets(told, np.ones(n, np.int64), values, np.ones((n, 2)), compared)
    result = many_arms(n, evidence)
    everyone = views.pairs(result, 1, None, 0, 100).pairs
    assert [one.told_in_round for one in everyone] == evidence.told_in_round[np.triu_indices(n, 1)].tolist()
    for arm in range(n):
        found = [one.told_in_round for one in views.pairs(result, 1, f"arm {arm}", 0, 100).pairs]
        assert found == np.delete(evidence.told_in_round[arm], arm).tolist()
    assert {one.strength for one in everyone} == {None, 0.5, 2.0}


def test_all_pairs_of_a_fleet_are_too_many() -> None:
    result = many_arms(1_001, Evidence.none(1_001))
    with pytest.raises(RefusedError, match="1,001 arms: ask for the pairs of one"):
        views.pairs(result, 1, None, 0, 10)
    assert views.pairs(result, 1, "arm 3", 0, 10).total == 1_000


class ReadsNoTickets(MemoryStorage):
    def refuse(self, *_: object) -> Any:
        raise AssertionError("a look reads all tickets of a round")

    tickets = samples_per_arm = unfinished = refuse  # type: ignore[assignment]


def test_a_look_at_a_study_reads_no_tickets_however_many_its_round_has() -> None:
    store = ReadsNoTickets()
    study = kabc.create_study("long", arms=["a", "b"], n_clusters=2, seed=0, storage=store).record.id
    store.open_round(study, 1, [NewTicket(i % 2, i // 2, i // 2, 1) for i in range(50)])
    store.exchange(study, "ann", want=3)
    counts = {"open": 47, "leased": 3, "done": 0, "failed": 0}
    assert view_of(store, study).tickets.model_dump() == counts
    assert hub.changes(store, [(study, -1)])[study].tickets.model_dump() == counts
    assert working._look(store, WorkQuery(study="long")).tickets.model_dump() == counts
    assert [one.n_rounds for one in Lines().studies(store).studies] == [1]
