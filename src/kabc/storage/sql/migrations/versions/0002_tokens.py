"""Tokens for the server."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "kabc_tokens",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        *[sa.Column(name, sa.Text, nullable=False) for name in ("label", "scope")],
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("expires", sa.Float(53), nullable=True),
        sqlite_autoincrement=True,
    )
