"""Kernels as JSON: those that kabc itself has. A function of somebody cannot be stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kabc.core.errors import SettingsError
from kabc.core.kernels import (
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
from kabc.core.samples import describe

_SIMPLE: dict[str, type[Kernel]] = {
    one.__name__: one for one in (Gaussian, Matern, Laplace, RationalQuadratic, InverseMultiquadric, Hamming, Linear)
}
_COMBINED: dict[str, type[Sum] | type[Product]] = {"Sum": Sum, "Product": Product}
_DEEPEST = 8  # sums of products of ...


def kernel_document(kernel: object) -> dict[str, Any]:
    """The JSON form of a kernel."""
    kind = type(kernel).__name__
    if type(kernel) is _SIMPLE.get(kind):
        values = {one.name: getattr(kernel, one.name) for one in fields(kernel)}  # type: ignore[arg-type]
        return {"kind": kind, **{name: _plain(value) for name, value in values.items()}}
    if isinstance(kernel, Sum | Product) and type(kernel) is _COMBINED.get(kind):
        return {"kind": kind, "parts": [kernel_document(part) for part in kernel.parts]}
    raise SettingsError(
        f"a kernel that is {describe(kernel)} cannot be stored in a study: only kernels of kabc itself can, such as "
        "kabc.Gaussian(bandwidth=1.0); pass one, or run without storage="
    )


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def kernel_of(document: Mapping[str, Any], depth: int = 0) -> Kernel:
    """The kernel behind the JSON form; ValueError or SettingsError says what is wrong with it."""
    values = dict(document)
    kind = values.pop("kind", None)
    if kind in _COMBINED and depth < _DEEPEST and isinstance(values.get("parts"), list):
        return _COMBINED[kind](tuple(kernel_of(part, depth + 1) for part in values["parts"]))
    if kind not in _SIMPLE:
        raise ValueError(f"kernel: {describe(kind)} is none of {', '.join([*_SIMPLE, *_COMBINED])}")
    if not all(isinstance(value, int | float | str | None) for value in values.values()):
        raise ValueError(f"kernel: {kind} has values that are no numbers")
    return _SIMPLE[kind](**values)
