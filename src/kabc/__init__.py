"""Which of my N sources of data are the same - proven, with as few samples as possible."""

from kabc.embeddings.features import RandomFeatures
from kabc.errors import (
    ArmError,
    KabcError,
    KernelBoundsError,
    ProtocolError,
    SampleError,
    SettingsError,
)
from kabc.kernels import (
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
from kabc.partitions import Partition
from kabc.planning import Plan, plan
from kabc.result import Evidence, Result
from kabc.run import cluster
from kabc.strategies import KABC, AnytimeKABC, Cluster

__version__ = "0.1.0"

__all__ = [
    "KABC",
    "AnytimeKABC",
    "ArmError",
    "Cluster",
    "Evidence",
    "Function",
    "Gaussian",
    "Hamming",
    "InverseMultiquadric",
    "KabcError",
    "Kernel",
    "KernelBoundsError",
    "Laplace",
    "Linear",
    "Matern",
    "Partition",
    "Plan",
    "Product",
    "ProtocolError",
    "RandomFeatures",
    "RationalQuadratic",
    "Result",
    "SampleError",
    "SettingsError",
    "Sum",
    "__version__",
    "cluster",
    "plan",
]
