"""The hot loop: sums of kernel values over blocks of samples, compiled. Imported at the first large call only.

A task is a block: at most 1024 rows of one arm by at most 1024 rows of another. Both are shifted to the centre of the
second in float64 and scaled, which makes the kernel a fixed function Psi(t). Then they are rounded to float32 and laid
out in tiles of 4 rows (8 with AVX-512) by 16 columns. For each tile, t = |x - y|^2 or |x - y|_1 is computed in
registers. Psi and its sum are computed for a stretch of tiles in the first-level cache. At most 512 values are summed
in float32, and all larger sums are in float64. Nothing of size n x n is stored.

Each task writes its own sum. The sums are added in a fixed order, so results do not depend on the number of threads.
The threads are plain Python threads around code that releases the interpreter lock. Numba's parallel loops would end
the process when two threads enter them, or when the process was forked after using them.

How close float32 is to the kernel. Let rho be the largest distance of a row from the centre of its block, in scaled
units (Gaussian: 1.18 bandwidths). A rounding is about 2.4e-8 of the rounded number, independent of the others. The
values that matter are those of rows x, y at a distance of order 1, where both coordinates are at most about rho.

| form            | error of t                                     | error of one value  | used while             |
|-----------------|------------------------------------------------|---------------------|------------------------|
| NARROW, |x-y|   | 5e-8 rho |x - y|: rounding of coordinates      | 1.8e-8 rho          | rho <= 16: 3e-7        |
| NARROW, x.y     | 2.4e-8 rho^2 (2 sqrt(d/3) + 2): every addition | 0.7 of that         | 1e-6, blocks of >= 64  |
|                 | to the dot product, and the squared norms      |                     | rows average it: 2e-8  |
| WIDE, x.y       | the same in float64: 1e-16 for 2.4e-8          | < 1e-8              | rho <= 1000            |
| WIDE, |x-y|     | differences in float64, then float32           | 6e-8                | always                 |

Dot products cost half as much as differences, so they are used for d > 8. They are used only for kernels that are
smooth at 0: otherwise the root of t would turn an error of 1e-14 into one of 1e-7 there. Psi itself is exact to 2e-7.
A squared distance of means adds four such errors, which is below 1e-6 in total.
"""

from __future__ import annotations

from kabc.core.embeddings.loops.compiling import workers
from kabc.core.embeddings.loops.recipes import Recipe, recipe
from kabc.core.embeddings.loops.tasks import sums

__all__ = ["Recipe", "recipe", "sums", "workers"]
