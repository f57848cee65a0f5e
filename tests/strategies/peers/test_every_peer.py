"""What holds for all peers without a kernel."""

from __future__ import annotations

import pytest

from kabc.strategies.peers.acb import ACB, ACBDagger, ACBStar
from kabc.strategies.peers.bandit_clustering import BanditClustering
from kabc.strategies.peers.boc import BOC
from kabc.strategies.peers.single_linkage import ATBOC, LUCBBOC, BOCElim
from kabc.strategies.peers.tas_fw import TaSFW

WITHOUT_KERNEL = [ACB, ACBDagger, ACBStar, ATBOC, BOC, BOCElim, BanditClustering, LUCBBOC, TaSFW]


@pytest.mark.parametrize("peer", WITHOUT_KERNEL)
def test_rounds_of_small_matrices_take_one_blas_thread(peer: type) -> None:
    assert peer.kernel is None  # type: ignore[attr-defined]
    assert peer.one_blas_thread is True  # type: ignore[attr-defined]
