"""Cryptography on every SIMD lane and CPU core of the machine.

The classes have the interfaces of ``cryptography`` and the output of the plain implementations. ``docs/python.md`` of the
project is the guide.
"""

from ._oarlock import (
    AESGCM,
    AuthenticationFailed,
    ChaCha20Poly1305,
    Column,
    ColumnResult,
    DecryptionFailed,
    Error,
    FileError,
    InvalidSignature,
    JobFailed,
    PrivateKey,
    PublicKey,
    QueueFull,
    __version__,
    generate_key,
    open_many,
    seal_many,
)

__all__ = [
    "AESGCM",
    "AuthenticationFailed",
    "ChaCha20Poly1305",
    "Column",
    "ColumnResult",
    "DecryptionFailed",
    "Error",
    "FileError",
    "InvalidSignature",
    "JobFailed",
    "PrivateKey",
    "PublicKey",
    "QueueFull",
    "__version__",
    "generate_key",
    "open_many",
    "seal_many",
]
