"""How far rows depend on the rows before them: integrated autocorrelation times.

| symbol | here            | meaning                                                                         |
|--------|-----------------|---------------------------------------------------------------------------------|
| r_k    | `correlations`  | autocorrelation at lag k                                                        |
| tau    | `memory_length` | 1 + 2 (r_1 + r_2 + ...): so many rows say as much about a mean as one free row  |
| M      | `_WINDOW`       | the sum ends at the first M >= 5 tau(M) (Sokal 1997)                            |
"""

from __future__ import annotations

import numpy as np

from kabc.core.arrays import Array

_WINDOW = 5.0  # in units of tau
_SIGNIFICANT = 4.0  # standard errors above 1: many arms and columns are looked at


def memory_length(rows: Array) -> float:  # (n, d)
    """The largest tau of the columns, of their squares, and of the ranks of both; 1.0 where nothing speaks against 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kabc.core.dependence import memory_length
    >>> rng = np.random.default_rng(0)
    >>> memory_length(rng.normal(size=(1000, 1)))
    1.0
    >>> memory_length(np.repeat(rng.normal(size=200), 5)[:, None]) > 4  # each value five times
    True
    """
    n = len(rows)
    if n < 4:
        return 1.0
    from scipy.stats import rankdata  # equal values share a rank: their order must not look like a trend

    centred = rows / 2 - np.median(rows / 2, axis=0)  # halves of finite numbers have finite differences
    largest = np.abs(centred).max(axis=0)
    centred = centred / np.where(largest > 0, largest, 1.0)
    both = np.concatenate([centred, np.abs(centred)], axis=1)
    series = np.concatenate([centred, np.square(centred), rankdata(both, axis=0)], axis=1)  # (n, 4 d)
    return max((_tau(r, n) for r in correlations(series).T), default=1.0)


def correlations(series: Array) -> Array:  # (n, m) -> (n, m)
    """Autocorrelations of each column at lags 0, 1, ..., n - 1; 0 for a constant column."""
    n = len(series)
    centred = series - series.mean(axis=0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2  # padded: no column meets its own beginning
    products = np.fft.irfft(spectrum, axis=0)[:n]
    tiny = np.finfo(np.float64).eps * n
    varies = products[0] > tiny * np.square(series).sum(axis=0)
    return np.where(varies, products / np.where(varies, products[0], 1.0), 0.0)


def _tau(r: Array, n: int) -> float:  # (n,)
    """The windowed sum, corrected for the mean that was estimated; 1.0 where it could be noise."""
    sums = 2 * np.cumsum(r) - 1  # tau(M) = 1 + 2 (r_1 + ... + r_M)
    enough = np.flatnonzero(np.arange(n) >= _WINDOW * sums)
    window = int(enough[0]) if len(enough) else n - 1
    tau = float(sums[window])
    error = np.sqrt(2 * (2 * window + 1) / n)  # of tau where all r_k are 0 (Madras and Sokal 1988)
    free = tau <= 1 + _SIGNIFICANT * error and r[1:4].max() <= _SIGNIFICANT / np.sqrt(n)
    return 1.0 if free else max(1.0, tau * (1 + (2 * window + 1) / n))
