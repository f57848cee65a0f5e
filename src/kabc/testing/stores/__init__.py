"""What every store of studies must do."""

from __future__ import annotations

from kabc.testing.stores.leases import LeaseTests
from kabc.testing.stores.others import OtherTests
from kabc.testing.stores.races import RaceTests
from kabc.testing.stores.rounds import RoundTests
from kabc.testing.stores.studies import StudyTests


class StorageConformance(StudyTests, RoundTests, LeaseTests, OtherTests, RaceTests):
    """What every store must do. Subclass it as `TestMyStorage` and write `make_storage`.

    `make_storage` must return a new, empty store each time. If your store is shared by processes, write `again` too: it
    must return the same store as another process would open it.
    """


__all__ = ["StorageConformance"]
