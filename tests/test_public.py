"""The contract with users: names that stay, and an import that stays light."""

from __future__ import annotations

import subprocess
import sys

import kabc

PUBLIC = {
    "AnytimeKABC",
    "ArmError",
    "Cluster",
    "Comparison",
    "Evidence",
    "Function",
    "Gaussian",
    "Hamming",
    "InverseMultiquadric",
    "KABC",
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
}


def test_the_public_names_are_these_and_no_others() -> None:
    assert set(kabc.__all__) == PUBLIC
    assert all(hasattr(kabc, name) for name in PUBLIC)


def test_importing_kabc_loads_no_heavy_library() -> None:
    heavy = ["scipy", "sklearn", "numba", "pandas", "matplotlib", "plotly", "duckdb", "sqlalchemy", "httpx", "typer"]
    code = f"import sys, kabc; print([m for m in {heavy!r} if m in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


def test_every_error_is_a_kabc_error() -> None:
    errors = [getattr(kabc, name) for name in PUBLIC if name.endswith("Error")]
    assert len(errors) == 7
    assert all(issubclass(error, kabc.KabcError) for error in errors)
