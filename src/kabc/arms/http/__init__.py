"""Arms that are HTTP endpoints: a sample is one call, measured by a number, a text or the time it took."""

from kabc.arms.http.arms import http_arms
from kabc.arms.http.calls import Address

__all__ = ["Address", "http_arms"]
