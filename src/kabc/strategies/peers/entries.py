"""The entries of these strategies in the list of strategies, and how a bench sets each of them up.

Strategies that group by means get samples in units of the largest standard deviation of each column. They also get
sigma, the largest standard deviation along any direction in these units, which their noise assumption needs. The bench
tells them the facts that they must know (gaps, shares, alphabets). Batch heuristics prove nothing, so they may choose
the kernel on their own samples.
"""

from __future__ import annotations

from functools import partial

from kabc.strategies.entry import BenchSetup, InstanceFacts, Options, StrategyEntry, UnfitError
from kabc.strategies.peers.acb import ACB, ACBDagger, ACBStar
from kabc.strategies.peers.bandit_clustering import BanditClustering
from kabc.strategies.peers.batch import BATCH
from kabc.strategies.peers.boc import BOC
from kabc.strategies.peers.pair_tests.bernstein import BernsteinKABC
from kabc.strategies.peers.pair_tests.manole_ramdas import ManoleRamdasKABC
from kabc.strategies.peers.pair_tests.permutation import PermutationKABC
from kabc.strategies.peers.pair_tests.witness import WitnessKABC
from kabc.strategies.peers.single_linkage import ATBOC, LUCBBOC, BOCElim
from kabc.strategies.peers.tas_fw import TaSFW
from kabc.strategies.registry import EMBEDDINGS_DIFFER, IID, INDEPENDENT

# ---------------------------------------------------------------- what a bench tells them


def _sigma(instance: InstanceFacts, seed: int) -> Options:
    if instance.sigma is None:
        raise UnfitError("there is no standard deviation")
    return {"sigma": instance.sigma}


def _smallest_gap(instance: InstanceFacts) -> float:
    if instance.gaps is None or instance.gaps.min() == 0:
        raise UnfitError("means do not differ, and it must be told by how much they do")
    return float(instance.gaps.min())


def _linear(instance: InstanceFacts, seed: int) -> Options:
    gap, gaps = _smallest_gap(instance), instance.gaps
    assert gaps is not None
    return _sigma(instance, seed) | {"distance_ratio": gap / float(gaps.max())}


def _acb(instance: InstanceFacts, seed: int) -> Options:
    return _dagger(instance, seed) | {"min_gap": _smallest_gap(instance)}


def _dagger(instance: InstanceFacts, seed: int) -> Options:
    return _sigma(instance, seed) | {"min_share": instance.min_share, "seed": seed}


def _star(instance: InstanceFacts, seed: int) -> Options:
    return _sigma(instance, seed) | {"hanson_wright": 1.0, "seed": seed}  # optimistic: a smaller one is not plausible


def _one_column(instance: InstanceFacts, seed: int) -> Options:
    if "one column" not in instance.facts:
        raise UnfitError("samples have several columns")
    return _sigma(instance, seed)


def _two_groups(instance: InstanceFacts, seed: int) -> Options:
    if "two groups" not in instance.facts:
        raise UnfitError("there are not two groups")
    return _sigma(instance, seed) | {"seed": seed}


def _alphabet(instance: InstanceFacts, seed: int) -> Options:
    if instance.symbols is None:
        raise UnfitError("samples are not of a finite alphabet")
    return {"alphabet": instance.symbols}


def _seed(instance: InstanceFacts, seed: int) -> Options:
    return {"seed": seed}


_MEANS = frozenset({"normal", "means differ"})
_SIGMA = BenchSetup(_MEANS, _sigma, by_means=True)
_HEURISTIC = BenchSetup(options=_seed, one_round=True, own_kernel=True)

# ---------------------------------------------------------------- tests of pairs

_PAIRED = (IID, INDEPENDENT, EMBEDDINGS_DIFFER)
_SINGLE = (IID, EMBEDDINGS_DIFFER)
_K_AND_KERNEL = ("the number of groups", "a kernel (else a pilot)")
_PERMUTATION_PAPER = "Gretton et al. (2012), JMLR 13; Besag, Clifford (1991)"

_by_pair_test = partial(StrategyEntry, needs_kernel=True, assumptions=_PAIRED, guarantee="proven", needs=_K_AND_KERNEL)

_PAIR_TESTS = (
    _by_pair_test("kabc-witness", WitnessKABC, paper="Shekhar, Ramdas (2024), arXiv 2112.09162, safe payoff"),
    _by_pair_test(
        "kabc-manole-ramdas",
        ManoleRamdasKABC,
        paper="Manole, Ramdas (2023), arXiv 2103.09267, constants of its proof; tight=False: as printed",
    ),
    _by_pair_test(
        "kabc-bernstein",
        BernsteinKABC,
        paper="Martinez-Taboada, Ramdas (2024), arXiv 2409.06060",
        assumptions=_SINGLE,
    ),
    _by_pair_test("kabc-permutation", PermutationKABC, paper=_PERMUTATION_PAPER, bench=BenchSetup(options=_seed)),
)

# ---------------------------------------------------------------- means

_NORMAL = (IID, INDEPENDENT, "normal with a known standard deviation, the same in all directions")
_SUB_GAUSSIAN = (IID, INDEPENDENT, "sub-Gaussian noise of size sigma")
_LINKAGE = (*_NORMAL, "groups are the single linkage of the means")
_NEEDS_SIGMA = ("the number of groups", "sigma, the standard deviation (default 1)")
_NEEDS_SHARE = (*_NEEDS_SIGMA, "min_share, if it is known")
_BOC_PAPER = "Yang, Zhong, Tan (2024), JMLR 25(186)"
_ACB_PAPER = "Thuot, Carpentier, Giraud, Verzelen (2025), ALT, arXiv 2406.11485"
_ATBOC_PAPER = "Chandran, Reddy, Bhashyam (2025), arXiv 2501.11421"

_by_means = partial(
    StrategyEntry, assumptions=(*_NORMAL, "means differ"), guarantee="proven", needs=_NEEDS_SIGMA, bench=_SIGMA
)
_by_linkage = partial(_by_means, assumptions=_LINKAGE, reconstruction=True)

_BY_MEANS = (
    _by_means("boc", BOC, paper=_BOC_PAPER),
    _by_means(
        "boc-heuristic",
        partial(BOC, threshold="heuristic"),
        paper=f"{_BOC_PAPER}, the threshold of its experiments",
        guarantee="heuristic",
    ),
    _by_means("boc-uniform", partial(BOC, sampling="uniform"), paper=f"{_BOC_PAPER}, all arms in turn"),
    _by_means(
        "boc-linear",
        partial(BOC, exploration="linear"),
        paper=f"{_BOC_PAPER}, linear exploration",
        needs=(*_NEEDS_SIGMA, "distance_ratio: a lower bound of the smallest over the largest distance of means"),
        bench=BenchSetup(_MEANS, _linear, by_means=True),
    ),
    _by_means(
        "acb",
        ACB,
        paper=f"{_ACB_PAPER}, appendix A",
        guarantee="heuristic",
        needs=(*_NEEDS_SHARE, "min_gap"),
        bench=BenchSetup(_MEANS, _acb, by_means=True),
    ),
    _by_means(
        "acb-dagger",
        ACBDagger,
        paper=f"{_ACB_PAPER}, gaps unknown",
        guarantee="heuristic",
        needs=_NEEDS_SHARE,
        bench=BenchSetup(_MEANS, _dagger, by_means=True),
    ),
    _by_means(
        "acb-star",
        ACBStar,
        paper=f"{_ACB_PAPER}, the rigorous form",
        assumptions=(*_SUB_GAUSSIAN, "means differ", "hanson_wright is a valid constant"),
        needs=(*_NEEDS_SIGMA, "hanson_wright, the constant that the paper leaves open"),
        bench=BenchSetup(_MEANS, _star, by_means=True),
    ),
    _by_linkage("atboc", ATBOC, paper=_ATBOC_PAPER, bench=BenchSetup(_MEANS, _sigma, by_means=True, most_arms=300)),
    _by_linkage(
        "ebc",
        partial(ATBOC, proportions="gradient"),
        paper="Chandran, Reddy, Bhashyam (2026), arXiv 2601.09162: ATBOC, one step uphill a round",
        bench=BenchSetup(_MEANS, _sigma, by_means=True, most_arms=300),
    ),
    _by_linkage("lucbboc", LUCBBOC, paper=_ATBOC_PAPER),
    _by_linkage(
        "boc-elim",
        BOCElim,
        paper=_ATBOC_PAPER,
        assumptions=(*_LINKAGE, "samples are single numbers"),
        bench=BenchSetup(_MEANS | {"one column"}, _one_column, by_means=True),
    ),
)

# ---------------------------------------------------------------- alphabets, single values

_OTHERS = (
    StrategyEntry(
        "tas-fw",
        TaSFW,
        paper="Yavas, Huang, Tan, Scarlett (2025), IEEE Trans. Inf. Theory 71(3), arXiv 2409.05072",
        assumptions=(IID, INDEPENDENT, "samples are symbols of a finite alphabet"),
        guarantee="proven",
        needs=("the number of groups", "alphabet: how many symbols there are, or which", "task, if not clustering"),
        reconstruction=True,
        bench=BenchSetup(frozenset({"finite alphabet"}), _alphabet),
    ),
    StrategyEntry(
        "bandit-clustering",
        BanditClustering,
        paper="Graf, Thuot, Verzelen (2025), ICML, arXiv 2503.11209",
        assumptions=(
            IID,
            INDEPENDENT,
            "sub-Gaussian noise of size sigma in each column",
            "means differ",
            "there are two groups",
        ),
        guarantee="proven",
        needs=_NEEDS_SIGMA[1:],
        bench=BenchSetup(_MEANS | {"two groups"}, _two_groups, by_means=True),
    ),
)

# ---------------------------------------------------------------- one round

_ONE_ROUND = (*_K_AND_KERNEL, "samples_per_arm")


def _batch(name: str, paper: str) -> StrategyEntry:
    return StrategyEntry(
        name, BATCH[name], needs_kernel=True, paper=paper, assumptions=_SINGLE, needs=_ONE_ROUND, bench=_HEURISTIC
    )


_BATCH = (
    _by_pair_test(
        "mmd-permutation",
        BATCH["mmd-permutation"],
        paper=f"{_PERMUTATION_PAPER}, in one round",
        needs=_ONE_ROUND,
        bench=BenchSetup(options=_seed, one_round=True),
    ),
    _batch(
        "kernel-kmeans",
        'Dhillon, Guan, Kulis (2004), KDD; start="k-means++": '
        "Baillo, Berrendero, Sanchez-Signorini (2025), arXiv 2509.18037",
    ),
    _batch("spectral", "Ng, Jordan, Weiss (2001), NIPS"),
    _batch("mmd-linkage", "Vankadara et al. (2021), AISTATS, arXiv 2110.09476"),
    _batch("mmd-farthest", "Vankadara et al. (2021), AISTATS, arXiv 2110.09476"),
)

PEERS: tuple[StrategyEntry, ...] = (*_PAIR_TESTS, *_BY_MEANS, *_OTHERS, *_BATCH)

# names that are options now -> what to write
RENAMED = {
    "distributional-kmeans": "'kernel-kmeans' with the option start='k-means++'",
    "boc-uniform-heuristic": "'boc-uniform' with the option threshold='heuristic'",
    "kabc-manole-ramdas-tight": "'kabc-manole-ramdas', which has the tight constants now",
}
