"""Which of my N sources of data are the same - proven, with as few samples as possible."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kabc.core.embeddings.features import RandomFeatures
    from kabc.core.errors import (
        ArmError,
        KabcError,
        KernelBoundsError,
        ProtocolError,
        SampleError,
        SettingsError,
        StrategyError,
    )
    from kabc.core.evidence.pairs import Evidence
    from kabc.core.kernels import (
        Function,
        Gaussian,
        Hamming,
        InverseMultiquadric,
        Kernel,
        Laplace,
        Linear,
        Matern,
        Product,
        RationalQuadratic,
        Sum,
    )
    from kabc.core.partitions import Partition
    from kabc.core.tolerances import KernelDistance
    from kabc.planning.plan import plan
    from kabc.planning.rehearsal import SimulatedPlan
    from kabc.planning.schedule import Plan
    from kabc.results.compare import Comparison, compare
    from kabc.results.files import load, load_result
    from kabc.results.outliers import OutliersResult
    from kabc.results.values import Result, Trace
    from kabc.running.check import check
    from kabc.running.cluster import cluster
    from kabc.running.making import create_study, load_study
    from kabc.running.outliers import outliers
    from kabc.running.study import Study
    from kabc.strategies import KABC, AnytimeKABC, Cluster, StrategyEntry, register_strategy

__version__ = "0.2.0.dev0"

__all__ = [
    "KABC",
    "AnytimeKABC",
    "ArmError",
    "Cluster",
    "Comparison",
    "Evidence",
    "Function",
    "Gaussian",
    "Hamming",
    "InverseMultiquadric",
    "KabcError",
    "Kernel",
    "KernelBoundsError",
    "KernelDistance",
    "Laplace",
    "Linear",
    "Matern",
    "OutliersResult",
    "Partition",
    "Plan",
    "Product",
    "ProtocolError",
    "RandomFeatures",
    "RationalQuadratic",
    "Result",
    "SampleError",
    "SettingsError",
    "SimulatedPlan",
    "StrategyEntry",
    "StrategyError",
    "Study",
    "Sum",
    "Trace",
    "__version__",
    "check",
    "cluster",
    "compare",
    "create_study",
    "load",
    "load_result",
    "load_study",
    "outliers",
    "plan",
    "register_strategy",
]

# Names are loaded when they are first used: `kabc --help` needs none of them.
_HOMES = {
    "kabc.core.embeddings.features": ("RandomFeatures",),
    "kabc.core.errors": (
        "ArmError",
        "KabcError",
        "KernelBoundsError",
        "ProtocolError",
        "SampleError",
        "SettingsError",
        "StrategyError",
    ),
    "kabc.core.kernels": (
        "Function",
        "Gaussian",
        "Hamming",
        "InverseMultiquadric",
        "Kernel",
        "Laplace",
        "Linear",
        "Matern",
        "Product",
        "RationalQuadratic",
        "Sum",
    ),
    "kabc.core.partitions": ("Partition",),
    "kabc.core.tolerances": ("KernelDistance",),
    "kabc.planning.plan": ("plan",),
    "kabc.planning.schedule": ("Plan",),
    "kabc.planning.rehearsal": ("SimulatedPlan",),
    "kabc.core.evidence.pairs": ("Evidence",),
    "kabc.results.values": (
        "Result",
        "Trace",
    ),
    "kabc.results.compare": (
        "Comparison",
        "compare",
    ),
    "kabc.results.files": ("load", "load_result"),
    "kabc.results.outliers": ("OutliersResult",),
    "kabc.running.check": ("check",),
    "kabc.running.cluster": ("cluster",),
    "kabc.running.outliers": ("outliers",),
    "kabc.running.making": ("create_study", "load_study"),
    "kabc.running.study": ("Study",),
    "kabc.strategies": (
        "KABC",
        "AnytimeKABC",
        "Cluster",
        "StrategyEntry",
        "register_strategy",
    ),
    "kabc.sklearn": ("KernelClusterer",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("kernels", "report", "strategies", "testing")  # loaded when first used: `kabc.report.write_report(...)`


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"kabc.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kabc' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    if name.islower():  # a function: classes have capitals
        value = import_module("kabc.core.spelling").spelled(value, "kabc")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_MODULES})
