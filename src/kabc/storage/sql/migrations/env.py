"""Runs migrations in the transaction of the store that is being opened."""

from alembic import context

from kabc.storage.sql.schema import VERSION_TABLE
from kabc.storage.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
context.run_migrations()
