"""`kabc study ...`: look at studies, steer them, take their samples out. Bodies import what they need."""

from __future__ import annotations

from typing import Annotated

import typer

from kabc.cli import options as common
from kabc.cli.stores import Name, StorageOption, expect_whole, file_as_list, opened, storage_named

study_app = typer.Typer(
    help="Studies: runs that are kept in a store, and go on after anything.",
    rich_markup_mode=None,
    add_completion=False,
)


@study_app.callback(invoke_without_command=True)
def _study(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@study_app.command("list")
def list_(storage: StorageOption = None, as_json: common.Json = False, debug: common.Debug = False) -> int:
    """All studies of a store, oldest first.

    Example: kabc study list --storage kabc.db
    """
    from kabc.cli.studies import list_them

    with opened(storage) as store:
        return list_them(store, as_json=as_json)


@study_app.command()
def status(
    study: Name, storage: StorageOption = None, as_json: common.Json = False, debug: common.Debug = False
) -> int:
    """How far a study is, who works on it, and what happened.

    Example: kabc study status nightly --storage kabc.db
    """
    from kabc.cli.studies import show_status

    with opened(storage) as store:
        return show_status(store, study, as_json=as_json)


@study_app.command()
def watch(study: Name, storage: StorageOption = None, as_json: common.Json = False, debug: common.Debug = False) -> int:
    """The same, live, until the study ends. Ctrl-C ends watching, not the study. Exit codes as of kabc run.

    Example: kabc study watch nightly --storage kabc.db
    """
    from kabc.cli.studies import watch_it

    with opened(storage) as store:
        return watch_it(store, study, as_json=as_json)


@study_app.command()
def result(
    ctx: typer.Context,
    study: Name,
    storage: StorageOption = None,
    save: Annotated[str | None, typer.Option(help="Write the answer to a file for kabc show and compare.")] = None,
    report: common.Report = None,
    title: common.Title = None,
    certificate: common.Certificate = False,
    everyone: common.Everyone = False,
    as_json: common.Json = False,
    evidence: common.Evidence = False,
    quiet: common.Quiet = None,
    debug: common.Debug = False,
) -> int:
    """The answer of a study, or the answer so far; printed as kabc run does, same exit codes.

    Example: kabc study result nightly --storage kabc.db --certificate
    """
    from kabc.cli.calls import Call
    from kabc.cli.outputs import Outputs
    from kabc.cli.show import Look
    from kabc.cli.studies import print_result

    look = Look.of(as_json=as_json, evidence=evidence, certificate=certificate, everyone=everyone)
    outputs = Outputs(save, report, title=title)
    outputs.expect_usable(file_as_list(storage))
    with opened(storage) as store:
        return print_result(store, study, outputs, look, ctx.obj or Call(), quiet=quiet)


@study_app.command()
def export(
    study: Name,
    file: Annotated[
        str, typer.Argument(metavar="FILE.parquet|.csv|.kabcstudy", help="Samples as a table, or the whole study.")
    ],
    storage: StorageOption = None,
    as_json: common.Json = False,
    quiet: common.Quiet = None,
    debug: common.Debug = False,
) -> int:
    """Write the samples of a study to a table, or all of it to one file that kabc study import reads.

    Example: kabc study export nightly samples.parquet --storage kabc.db
    """
    from kabc.cli.studies import export_it

    with opened(storage) as store:
        return export_it(store, study, file, as_json=as_json, quiet=quiet)


@study_app.command("import")
def import_(
    source: Annotated[
        str, typer.Argument(metavar="FILE.kabcstudy|FILE|URL", help="Written by kabc study export, or another store.")
    ],
    study: Annotated[str | None, typer.Option(help="Which study, if there are several.")] = None,
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Its name here. Default: the same.")] = None,
    storage: StorageOption = None,
    as_json: common.Json = False,
    quiet: common.Quiet = None,
    debug: common.Debug = False,
) -> int:
    """Take a study of another store, with its question, samples and notes. It can go on here.

    Example: kabc study import nightly.kabcstudy --storage kabc.db
    """
    from kabc.cli.studies import import_it

    storage_named(storage)  # refused before the other store is opened
    expect_whole(source)
    with opened(source) as other, opened(storage, new=True) as store:
        return import_it(store, other, study, name, as_json=as_json, quiet=quiet)


@study_app.command()
def pause(study: Name, storage: StorageOption = None, as_json: common.Json = False, debug: common.Debug = False) -> int:
    """Give out no more draws. Draws under way are finished and kept.

    Example: kabc study pause nightly --storage kabc.db
    """
    from kabc.cli.studies import pause_it

    with opened(storage) as store:
        return pause_it(store, study, as_json=as_json)


@study_app.command()
def resume(
    study: Name, storage: StorageOption = None, as_json: common.Json = False, debug: common.Debug = False
) -> int:
    """Give out draws again after a pause.

    Example: kabc study resume nightly --storage kabc.db
    """
    from kabc.cli.studies import resume_it

    with opened(storage) as store:
        return resume_it(store, study, as_json=as_json)


@study_app.command()
def stop(
    study: Name,
    storage: StorageOption = None,
    as_json: common.Json = False,
    quiet: common.Quiet = None,
    debug: common.Debug = False,
) -> int:
    """End a study now, with the answer so far. Draws under way are kept and not used; raise-budget lets it go on.

    Example: kabc study stop nightly --storage kabc.db
    """
    from kabc.cli.studies import stop_it

    with opened(storage) as store:
        return stop_it(store, study, as_json=as_json, quiet=quiet)


@study_app.command()
def discard(
    study: Name,
    ticket: Annotated[int, typer.Argument(metavar="TICKET", min=1, help="Its number, as kabc doctor says it.")],
    storage: StorageOption = None,
    as_json: common.Json = False,
    debug: common.Debug = False,
) -> int:
    """Take back a draw that keeps a study from going on: it is drawn again, and its rows are kept as late.

    Only of the latest round, and only what the strategy was not told.

    Example: kabc study discard nightly 7 --storage kabc.db
    """
    from kabc.cli.studies import discard_it

    with opened(storage) as store:
        return discard_it(store, study, ticket, as_json=as_json)


@study_app.command("raise-budget")
def raise_budget(
    study: Name,
    max_samples: Annotated[str, typer.Argument(metavar="SAMPLES|none", help="New limit of all samples together.")],
    storage: StorageOption = None,
    as_json: common.Json = False,
    debug: common.Debug = False,
) -> int:
    """Allow more samples in all. A study that has ended because its budget was spent can go on.

    Example: kabc study raise-budget nightly 5000 --storage kabc.db
    """
    from kabc.cli.studies import raise_it

    with opened(storage) as store:
        return raise_it(store, study, max_samples, as_json=as_json)


@study_app.command("add-arm")
def add_arm(
    study: Name,
    new: Annotated[str, typer.Option(metavar="NAME", help="Name of the new study.")],
    arm: Annotated[list[str] | None, typer.Option(metavar="ARM", help="An arm that is added. Can be repeated.")] = None,
    gone: Annotated[
        list[str] | None, typer.Option(metavar="ARM", help="An arm that cannot be drawn any more. Can be repeated.")
    ] = None,
    seed: common.Seed = None,
    storage: StorageOption = None,
    as_json: common.Json = False,
    debug: common.Debug = False,
) -> int:
    """Make a new study with further arms. It reads the samples of this one first, and draws what it still needs.

    Its answer assumes that arms and settings were not chosen by looking at those samples.

    Example: kabc study add-arm nightly --new nightly-2 --arm b13 --storage kabc.db
    """
    from kabc.cli.studies import add_arms

    with opened(storage) as store:
        return add_arms(store, study, new, arm or [], gone or [], seed, as_json=as_json)


@study_app.command()
def delete(
    study: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, delete it with all its samples.")] = False,
    storage: StorageOption = None,
    as_json: common.Json = False,
    debug: common.Debug = False,
) -> int:
    """Delete a study with all its samples.

    Example: kabc study delete nightly --yes --storage kabc.db
    """
    from kabc.cli.studies import delete_it

    with opened(storage) as store:
        return delete_it(store, study, sure=yes, as_json=as_json)
