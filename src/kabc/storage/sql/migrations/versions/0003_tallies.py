"""What each worker handed in for the latest round, and an index of leased and failed tickets.

So the figures of a study are known without counting the tickets of its open round.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_DONE = """
    SELECT t.worker AS id, t.round AS number, count(*) AS n_done, sum(t.count) AS n_samples,
           sum(CASE WHEN t.n_paid = 0 THEN t.count ELSE t.n_paid END) AS n_paid
    FROM kabc_tickets t JOIN kabc_studies s ON s.id = t.study AND s.latest = t.round
    WHERE t.state = 2 AND t.worker IS NOT NULL
    GROUP BY t.worker, t.round
"""
_SET = """
    UPDATE kabc_workers SET round = :number, n_done = :n_done, n_samples = :n_samples, n_paid = :n_paid WHERE id = :id
"""


def upgrade() -> None:
    """Make them, and count what is there."""
    for name, before in (("round", "-1"), ("n_done", "0"), ("n_samples", "0"), ("n_paid", "0")):
        op.add_column("kabc_workers", sa.Column(name, _ID, nullable=False, server_default=before))
    apart = sa.text("state IN (1, 3)")
    columns = ["study", "state", "round", "place"]
    op.create_index("kabc_tickets_apart", "kabc_tickets", columns, sqlite_where=apart, postgresql_where=apart)
    connection = op.get_bind()
    found = [dict(row) for row in connection.execute(sa.text(_DONE)).mappings()]
    if found:
        connection.execute(sa.text(_SET), [{name: int(value) for name, value in one.items()} for one in found])
