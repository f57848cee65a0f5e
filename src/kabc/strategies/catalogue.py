"""What people should know of each strategy before they choose one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GuaranteeKind = Literal["proven", "heuristic", "oracle budget"]

_KABC_PAPER = "Thuot, Vogt, Ghoshdastidar, Verzelen (2026), arXiv 2601.07535"


@dataclass(frozen=True, slots=True)
class Entry:
    """One strategy: where it comes from, what it assumes and needs, and whether its error probability is proven."""

    name: str
    paper: str
    assumptions: tuple[str, ...]
    guarantee: GuaranteeKind
    needs: tuple[str, ...]


_IID = "samples of an arm are independent and identically distributed"
_INDEPENDENT = "arms are independent of each other"

_ENTRIES: tuple[Entry, ...] = (
    Entry(
        "anytime",
        "this package (docs/anytime.md): KABC's question answered by betting",
        (_IID, _INDEPENDENT),
        "proven",
        ("the number of groups, or a largest number of samples",),
    ),
    Entry(
        "kabc",
        _KABC_PAPER + ", as published",
        (_IID, "groups differ in the mean embedding of the kernel"),
        "proven",
        ("the number of groups, a largest number of samples, or a smallest separation", "a kernel (else a pilot)"),
    ),
    Entry(
        "kabc-tight",
        _KABC_PAPER + ", with every improvement that keeps its proof (docs/theory.md)",
        (_IID, _INDEPENDENT, "groups differ in the mean embedding of the kernel"),
        "proven",
        ("the number of groups, a largest number of samples, or a smallest separation", "a kernel (else a pilot)"),
    ),
)

_BOC_PAPER = "Yang, Zhong, Tan (2024), JMLR 25(186)"
_BOC_ASSUMES = (
    _IID,
    _INDEPENDENT,
    "normal with a known standard deviation, the same in all directions",
    "means differ",
)
_BOC_NEEDS = ("the number of groups", "sigma, the standard deviation (default 1)")

_ENTRIES += (
    Entry("boc", _BOC_PAPER, _BOC_ASSUMES, "proven", _BOC_NEEDS),
    Entry("boc-heuristic", _BOC_PAPER + ", the threshold of its experiments", _BOC_ASSUMES, "heuristic", _BOC_NEEDS),
    Entry("boc-uniform", _BOC_PAPER + ", all arms in turn", _BOC_ASSUMES, "proven", _BOC_NEEDS),
    Entry(
        "boc-linear",
        _BOC_PAPER + ", linear exploration",
        _BOC_ASSUMES,
        "proven",
        (*_BOC_NEEDS, "distance_ratio: a lower bound of the smallest over the largest distance of means"),
    ),
)

_ACB_PAPER = "Thuot, Carpentier, Giraud, Verzelen (2025), ALT, arXiv 2406.11485"
_ACB_NEEDS = ("the number of groups", "sigma, the standard deviation (default 1)", "min_share, if it is known")
_ATBOC_PAPER = "Chandran, Reddy, Bhashyam (2025), arXiv 2501.11421, a reconstruction"
_LINKAGE = (*_BOC_ASSUMES[:3], "groups are the single linkage of the means")

_ENTRIES += (
    Entry("acb", _ACB_PAPER + ", appendix A", _BOC_ASSUMES, "heuristic", (*_ACB_NEEDS, "min_gap")),
    Entry("acb-dagger", _ACB_PAPER + ", gaps unknown", _BOC_ASSUMES, "heuristic", _ACB_NEEDS),
    Entry(
        "acb-star",
        _ACB_PAPER + ", the rigorous form",
        (_IID, _INDEPENDENT, "sub-Gaussian noise of size sigma", "means differ", "hanson_wright is a valid constant"),
        "proven",
        (*_ACB_NEEDS[:2], "hanson_wright, the constant that the paper leaves open"),
    ),
    Entry("atboc", _ATBOC_PAPER, _LINKAGE, "proven", _BOC_NEEDS),
    Entry(
        "ebc",
        "Chandran, Reddy, Bhashyam (2026), arXiv 2601.09162, a reconstruction: ATBOC, one step uphill a round",
        _LINKAGE,
        "proven",
        _BOC_NEEDS,
    ),
    Entry("lucbboc", _ATBOC_PAPER, _LINKAGE, "proven", _BOC_NEEDS),
    Entry("boc-elim", _ATBOC_PAPER, (*_LINKAGE, "samples are single numbers"), "proven", _BOC_NEEDS),
)

_ENTRIES += (
    Entry(
        "tas-fw",
        "Yavas, Huang, Tan, Scarlett (2025), IEEE Trans. Inf. Theory 71(3), arXiv 2409.05072, a reconstruction",
        (_IID, _INDEPENDENT, "samples are symbols of a finite alphabet"),
        "proven",
        ("the number of groups", "alphabet: how many symbols there are, or which", "task, if not clustering"),
    ),
    Entry(
        "bandit-clustering",
        "Graf, Thuot, Verzelen (2025), ICML, arXiv 2503.11209",
        (_IID, _INDEPENDENT, "sub-Gaussian noise of size sigma in each column", "means differ", "there are two groups"),
        "proven",
        ("sigma, the standard deviation (default 1)",),
    ),
)

_EMBEDDINGS_DIFFER = "groups differ in the mean embedding of the kernel"
_BY_KERNEL = ("the number of groups", "a kernel (else a pilot)")
_ONE_ROUND = (*_BY_KERNEL, "samples_per_arm")
_PERMUTATION_PAPER = "Gretton et al. (2012), JMLR 13; Besag, Clifford (1991)"
_MANOLE_RAMDAS = "Manole, Ramdas (2023), arXiv 2103.09267"
_PAIRED = (_IID, _INDEPENDENT, _EMBEDDINGS_DIFFER)
_SINGLE = (_IID, _EMBEDDINGS_DIFFER)

_ENTRIES += (
    Entry("kabc-witness", "Shekhar, Ramdas (2024), arXiv 2112.09162, safe payoff", _PAIRED, "proven", _BY_KERNEL),
    Entry("kabc-manole-ramdas", _MANOLE_RAMDAS + ", constants of its proof", _PAIRED, "proven", _BY_KERNEL),
    Entry("kabc-bernstein", "Martinez-Taboada, Ramdas (2024), arXiv 2409.06060", _SINGLE, "proven", _BY_KERNEL),
    Entry("kabc-permutation", _PERMUTATION_PAPER, _PAIRED, "proven", _BY_KERNEL),
    Entry("mmd-permutation", _PERMUTATION_PAPER + ", in one round", _PAIRED, "proven", _ONE_ROUND),
    Entry(
        "kernel-kmeans",
        (
            "Dhillon, Guan, Kulis (2004), KDD; with start='k-means++' Baillo, Berrendero, Sanchez-Signorini (2025), "
            "arXiv 2509.18037"
        ),
        _SINGLE,
        "heuristic",
        _ONE_ROUND,
    ),
    Entry("spectral", "Ng, Jordan, Weiss (2001), NIPS", _SINGLE, "heuristic", _ONE_ROUND),
    Entry("mmd-linkage", "Vankadara et al. (2021), AISTATS, arXiv 2110.09476", _SINGLE, "heuristic", _ONE_ROUND),
    Entry("mmd-farthest", "Vankadara et al. (2021), AISTATS, arXiv 2110.09476", _SINGLE, "heuristic", _ONE_ROUND),
)

CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
