"""Where studies are kept: one contract, in memory, SQLite or PostgreSQL. Knows nothing of arms and strategies."""
