"""What `kabc study` does, command by command. Bodies import what takes long: a look at a study is quick."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kabc.cli import exits
from kabc.cli.calls import Call
from kabc.cli.options import progress_of
from kabc.cli.status import Status
from kabc.cli.times import ago
from kabc.core.errors import SettingsError
from kabc.core.words import counted, named, shown
from kabc.storage.contract import Storage, StudyRecord, StudyState

if TYPE_CHECKING:
    from kabc.cli.outputs import Outputs
    from kabc.cli.show import Look


def list_them(storage: Storage, *, as_json: bool) -> int:
    """One line for each study."""
    found = [storage.load_study(name) for name in storage.study_names()]
    now = storage.now()
    seen = [Status(storage.summary(one.id), storage.workers(one.id), (), (), now) for one in found]
    if as_json:
        exits.print_json({"storage": storage.url, "studies": [_short(one) for one in seen]})
        return exits.DECIDED
    if not seen:
        print(shown(f"no studies in {storage.url}; kabc run ... --study NAME makes one"))
    width = max((len(named(one.study.name)) for one in seen), default=0)
    for one in seen:
        working = f", {counted(len(one.at_work), 'worker')}" if one.at_work else ""
        figures = f"{counted(one.summary.n_rounds, 'round')}, {counted(one.summary.n_samples, 'sample')}{working}"
        changed = f"changed {ago(one.now - one.summary.last_change)}"
        print(f"{named(one.study.name):<{width}}  {one.how}: {figures}, {changed}")
    return exits.DECIDED


def _short(seen: Status) -> dict[str, Any]:
    keys = ("study", "state", "status", "created", "last_change", "n_rounds", "n_samples", "n_paid", "spent")
    facts = seen.facts()
    return {key: facts[key] for key in keys} | {"n_workers": len(seen.at_work)}


def show_status(storage: Storage, name: str, *, as_json: bool) -> int:
    """Everything that is known without reading a sample."""
    _say(Status.of(storage, storage.load_study(name)), as_json=as_json)
    return exits.DECIDED


def watch_it(storage: Storage, name: str, *, as_json: bool) -> int:
    """Show it until it ends; then the exit code is that of its answer."""
    from kabc.cli.watch import Watching

    seen = Watching(storage, storage.load_study(name), as_json=as_json).to_the_end()
    if as_json:
        exits.print_json(seen.facts())
    return exits.DECIDED if seen.study.answer is None else exits.of_status(seen.study.answer.get("status"))


def _say(seen: Status, *, as_json: bool) -> None:
    if as_json:
        exits.print_json(seen.facts())
    else:
        print("\n".join(seen.lines()))


def print_result(storage: Storage, name: str, outputs: Outputs, look: Look, call: Call, *, quiet: bool | None) -> int:
    """Print the answer, or what is known so far."""
    from kabc.cli.show import deliver
    from kabc.running.interrupts import command_interrupts
    from kabc.running.progress import Ticker
    from kabc.running.study import Study

    study = Study(storage, storage.load_study(name))
    show = Ticker(progress_of(quiet))
    with command_interrupts(Ticker(not quiet), to_the_end=call.last) as interrupts:
        with show.during(f"reading the rounds of study {name}"):
            found = study.result()
        show.done()
        if not quiet and study.status != "ended":
            exits.warn([f"study {name!r} is {study.status}: this is the answer so far"])
        interrupts.over()
        return deliver(found, outputs, look, interrupts)


def raise_it(storage: Storage, name: str, given: str, *, as_json: bool) -> int:
    """A new budget."""
    from kabc.running.study import Study

    study = Study(storage, storage.load_study(name))
    if given != "none" and not given.replace("_", "").replace(",", "").isdecimal():
        raise SettingsError(f"the budget is a whole number of samples, or none for no limit, got {given!r}")
    ended = study.status == "ended"
    before = study.record.limits.get("max_samples")
    study.raise_budget(None if given == "none" else int(given.replace(",", "")))
    seen = Status.of(storage, study.record)
    limit = "no limit" if seen.max_samples is None else f"at most {counted(seen.max_samples, 'sample')}"
    was = "no limit" if before is None else f"{before:,}"
    goes_on = "; start kabc run or kabc worker to go on" if ended and seen.study.state == "running" else ""
    if as_json:
        facts = {"study": name, "state": seen.study.state, "max_samples": seen.max_samples, "before": before}
        exits.print_json(facts)
    else:
        print(f"{named(name)}: {limit}, before: {was}{goes_on}")
    return exits.DECIDED


def export_it(storage: Storage, name: str, path: str, *, as_json: bool, quiet: bool | None) -> int:
    """Write the samples to a table, or the study to a file."""
    from kabc.study.export import export_study

    study = storage.load_study(name)
    total = storage.summary(study.id).n_samples
    left_out: list[str] = []
    try:
        with _counting(f"writing {path}", total, quiet=quiet) as progress:
            written = export_study(storage, study, path, progress, left_out.append)
    except KeyboardInterrupt:
        return exits.fail(f"interrupted; {path} was not written", exits.UNDECIDED, as_json=as_json)
    exits.warn(left_out)
    if as_json:
        exits.print_json({"study": study.name, "file": path, "n_samples": written, "left_out": left_out})
    else:
        print(f"{counted(written, 'sample')}: {shown(path)}")
    return exits.DECIDED


@contextmanager
def _counting(what: str, total: int, *, quiet: bool | None) -> Iterator[Callable[[int], None]]:
    """Shows how many samples are done."""
    from kabc.running.progress import Ticker

    show = Ticker(progress_of(quiet))
    try:
        yield lambda done: show(f"{what}: {done:,} of {counted(total, 'sample')}")
    finally:
        show.done()


def import_it(
    storage: Storage, source: Storage, study: str | None, name: str | None, *, as_json: bool, quiet: bool | None
) -> int:
    """Take a study of another store."""
    from kabc.study.export import import_study

    names = source.study_names() if study is None else [study]
    if len(names) == 1:
        _expect_free(storage, name or names[0], "--as")
    total = sum(source.summary(source.load_study(one).id).n_samples for one in names)
    try:
        with _counting(f"copying from {source.url}", total, quiet=quiet) as progress:
            taken = import_study(source, storage, study, name, progress)
    except KeyboardInterrupt:
        return exits.fail("interrupted; nothing was imported", exits.UNDECIDED, as_json=as_json)
    written = storage.summary(taken.id).n_samples
    if as_json:
        exits.print_json({"study": taken.name, "storage": storage.url, "n_samples": written})
    else:
        print(f"{named(taken.name)}: imported, {counted(written, 'sample')}")
    return exits.DECIDED


def pause_it(storage: Storage, name: str, *, as_json: bool) -> int:
    """No more draws are given out."""
    study = storage.load_study(name)
    if study.state == "ended":
        raise SettingsError(f"study {name!r} has ended; there is nothing to pause")
    changed = _put(storage, study, "paused")
    seen = Status.of(storage, changed)
    under_way = len(seen.leases) - len(seen.left_behind)
    more = f"; {counted(under_way, 'draw')} under way will be kept" if under_way else ""
    return _changed(seen, f"paused{more}; kabc study resume goes on", as_json=as_json)


def resume_it(storage: Storage, name: str, *, as_json: bool) -> int:
    """Draws are given out again."""
    study = storage.load_study(name)
    if study.state == "ended":
        raise SettingsError(
            f"study {name!r} has ended; kabc study result prints its answer, and kabc study raise-budget lets a study "
            "go on whose budget is spent"
        )
    seen = Status.of(storage, _put(storage, study, "running"))
    who = "its workers go on" if seen.at_work else "no worker is there: start kabc run or kabc worker"
    return _changed(seen, f"running; {who}", as_json=as_json)


def stop_it(storage: Storage, name: str, *, as_json: bool, quiet: bool | None) -> int:
    """It ends with the answer so far."""
    from kabc.results.words import headline
    from kabc.running.progress import Ticker
    from kabc.running.study import Study

    study = Study(storage, storage.load_study(name))
    if study.status == "ended":
        raise SettingsError(f"study {name!r} has ended; there is nothing to stop, and kabc study result has its answer")
    show = Ticker(progress_of(quiet))
    try:
        with show.during(f"reading the rounds of study {name}"):
            found = study.stop()
        show.done()
    except KeyboardInterrupt:
        show.done()
        said = f"interrupted; study {name!r} is {study.status}"
        return exits.fail(f"{said}, kabc study status says more", exits.UNDECIDED, as_json=as_json)
    if as_json:
        exits.print_json({"study": name, "state": study.status, "status": found.status, "n_samples": found.n_samples})
    else:
        print(f"{named(name)}: stopped, with the answer so far; kabc study raise-budget lets it go on")
        print(shown(headline(found)))
    return exits.DECIDED


def discard_it(storage: Storage, name: str, ticket: int, *, as_json: bool) -> int:
    """A draw is taken back."""
    from kabc.running.study import Study

    study = Study(storage, storage.load_study(name))
    found = study.discard(ticket)
    arm = study.names[found.arm]
    if as_json:
        exits.print_json({"study": name, "ticket": ticket, "arm": str(arm), "n_samples": found.count})
    else:
        samples = counted(found.count, "sample")
        said = f"ticket {ticket} of arm {named(str(arm))} is open again, its {samples} kept as late"
        print(f"{named(name)}: {said}; start kabc run or kabc worker to go on")
    return exits.DECIDED


def _put(storage: Storage, study: StudyRecord, state: StudyState) -> StudyRecord:
    return study if study.state == state else storage.set_state(study.id, state, {})


def _changed(seen: Status, said: str, *, as_json: bool) -> int:
    if as_json:
        exits.print_json({"study": seen.study.name, "state": seen.study.state})
    else:
        print(f"{named(seen.study.name)}: {said}")
    return exits.DECIDED


def add_arms(
    storage: Storage, name: str, new: str, arms: list[str], gone: list[str], seed: int | None, *, as_json: bool
) -> int:
    """A new study that reads the samples of this one first."""
    from kabc.running.study import Study

    study = Study(storage, storage.load_study(name))
    if not arms:
        raise SettingsError("give --arm, the name of an arm that is added")
    for arm in arms:
        if arm in study.names:
            raise SettingsError(f"study {name!r} has an arm {arm!r} already; add another one")
    _expect_free(storage, new, "--new")
    grown = study.grow(new, arms, gone=gone, seed=seed)
    read = storage.summary(study.record.id).n_samples
    if as_json:
        exits.print_json({"study": grown.name, "arms": list(map(str, grown.names)), "n_recorded": read})
    else:
        arms_now = counted(len(grown.names), "arm")
        samples = counted(read, "sample")
        print(f"{named(new)}: {arms_now}, may read {samples} of {named(name)}; draw with kabc run or kabc worker")
    return exits.DECIDED


def _expect_free(storage: Storage, name: str, option: str) -> None:
    if name in storage.study_names():
        raise SettingsError(f"there is already a study {name!r} in {storage.url}; give another name with {option}")


def delete_it(storage: Storage, name: str, *, sure: bool, as_json: bool) -> int:
    """Delete it, if the user is sure."""
    study = storage.load_study(name)
    seen = Status.of(storage, study)
    samples = counted(seen.summary.n_samples, "sample")
    if not sure:
        working = f", and {counted(len(seen.at_work), 'worker')} at work" if seen.at_work else ""
        raise SettingsError(f"study {name!r} has {samples}{working}; add --yes to delete it for ever")
    storage.delete_study(study.id)
    if as_json:
        exits.print_json({"deleted": name, "n_samples": seen.summary.n_samples})
    else:
        print(f"{named(name)}: deleted, with {samples}")
    return exits.DECIDED
