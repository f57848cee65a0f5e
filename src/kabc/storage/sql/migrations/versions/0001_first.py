"""The tables of the first version."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.Float(53)


def upgrade() -> None:
    """Make them."""
    _studies()
    _tickets()
    _draws()
    _others()


def _key() -> sa.Column[Any]:
    return sa.Column("id", _ID, primary_key=True, autoincrement=True)


def _of(table: str, name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, _ID, sa.ForeignKey(f"kabc_{table}.id", ondelete="CASCADE"), nullable=False, **options)


def _columns(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _studies() -> None:
    op.create_table(
        "kabc_studies",
        _key(),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        *_columns(sa.Text, "spec", "state"),
        *_columns(_TIME, "created"),
        *_columns(_ID, "revision"),
        *_columns(_TIME, "changed"),
        sa.Column("facts", sa.Text, nullable=True),
        *_columns(sa.Text, "limits"),
        sa.Column("answer", sa.Text, nullable=True),
        *_columns(_ID, "n_rounds", "latest", "counted"),
        *_columns(sa.Text, "step_worker"),
        *_columns(_TIME, "step_expires"),
        *_columns(sa.Text, "token"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "kabc_rounds",
        _of("studies", "study", primary_key=True),
        sa.Column("number", _ID, primary_key=True),
        *_columns(_TIME, "opened"),
    )
    op.create_table(
        "kabc_totals",
        _of("studies", "study", primary_key=True),
        sa.Column("arm", _ID, primary_key=True),
        *_columns(_ID, "n_samples", "n_paid"),
    )


def _tickets() -> None:
    op.create_table(
        "kabc_tickets",
        _key(),
        _of("studies", "study"),
        *_columns(_ID, "round", "place", "arm", "piece", "start", "count", "state", "lease"),
        sa.Column("worker", _ID, nullable=True),
        *_columns(_TIME, "expires"),
        *_columns(_ID, "deaths", "n_paid"),
        sa.Column("token", sa.Text, nullable=True),
        sa.UniqueConstraint("study", "round", "place", name="kabc_tickets_place"),
        sqlite_autoincrement=True,
    )
    for name, columns, where in (
        ("kabc_tickets_unfinished", ["study", "round", "place"], "state < 2"),
        ("kabc_tickets_deaths", ["study", "arm"], "deaths > 0"),
    ):
        op.create_index(name, "kabc_tickets", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def _draws() -> None:
    op.create_table(
        "kabc_draws",
        _of("tickets", "ticket", primary_key=True, autoincrement=False),
        *_columns(_ID, "worker"),
        *_columns(sa.LargeBinary, "rows"),
        *_columns(_TIME, "started", "ended"),
    )
    op.create_table(
        "kabc_late",
        _key(),
        _of("tickets", "ticket"),
        *_columns(_ID, "lease", "worker"),
        *_columns(sa.LargeBinary, "rows"),
        *_columns(_TIME, "started", "ended"),
        *_columns(_ID, "n_paid"),
        sa.UniqueConstraint("ticket", "lease", name="kabc_late_lease"),
    )


def _others() -> None:
    op.create_table(
        "kabc_workers",
        _key(),
        _of("studies", "study"),
        *_columns(sa.Text, "name"),
        sa.Column("facts", sa.Text, nullable=True),
        *_columns(_TIME, "first_seen", "last_seen"),
        *_columns(_ID, "changes"),
        *_columns(_TIME, "changed"),
        sa.UniqueConstraint("study", "name", name="kabc_workers_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "kabc_notes",
        _key(),
        _of("studies", "study"),
        *_columns(sa.Text, "kind", "body"),
        *_columns(_TIME, "written"),
        *_columns(sa.Text, "token"),
        sqlite_autoincrement=True,
    )
    op.create_index("kabc_notes_study", "kabc_notes", ["study", "id"])
    op.create_table(
        "kabc_snapshots",
        _of("studies", "study", primary_key=True, autoincrement=False),
        *_columns(_ID, "number"),
        *_columns(sa.LargeBinary, "content"),
    )
