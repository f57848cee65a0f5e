"""Studies in SQLite and PostgreSQL, by SQLAlchemy Core."""
