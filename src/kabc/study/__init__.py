"""Durable memory of a strategy: the ledger of a study, its spec, and what replay needs."""
