"""Names of array types; shapes stand in a comment behind each signature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
