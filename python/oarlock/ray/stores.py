"""The stores of objects, by URL."""

from __future__ import annotations

from .local import LocalStore
from .plugin import PluginStore
from .s3 import S3Store


def store(url, endpoint=None):
    """Return the store that a path or URL names."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return LocalStore(url)
    if scheme in ("file", "local"):
        return LocalStore(rest)
    if scheme in ("s3", "s3a"):
        return S3Store(url, endpoint)
    return PluginStore(url)


def parallel(source, target, wanted=1):
    """Return how many requests of one process go to two stores at a time: what they gain from, or what is wanted."""
    return min(max(source.parallel, target.parallel, wanted), source.parallel_max, target.parallel_max)
