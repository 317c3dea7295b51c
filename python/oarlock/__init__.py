"""Cryptography on every SIMD lane and CPU core of the machine.

The classes have the interfaces of ``cryptography`` and the output of the plain implementations. ``docs/python.md`` of the
project is the guide.
"""

from ._oarlock import (
    AESGCM,
    CBC,
    CTR,
    HMAC,
    AuthenticationFailed,
    ChaCha20Poly1305,
    Column,
    ColumnResult,
    Cryptoserver,
    DecryptionFailed,
    Error,
    FileError,
    InvalidSignature,
    JobFailed,
    KeyEntry,
    PrivateKey,
    PublicKey,
    QueueFull,
    RemoteIdentity,
    RemoteKey,
    RemoteSecretKey,
    ServerError,
    __version__,
    generate_key,
    open_many,
    seal_many,
)

__all__ = [
    "AESGCM",
    "CBC",
    "CTR",
    "HMAC",
    "AuthenticationFailed",
    "ChaCha20Poly1305",
    "Column",
    "ColumnResult",
    "Cryptoserver",
    "DecryptionFailed",
    "Error",
    "Fernet",
    "FileError",
    "InvalidSignature",
    "JobFailed",
    "KeyEntry",
    "MultiFernet",
    "PrivateKey",
    "PublicKey",
    "QueueFull",
    "RemoteIdentity",
    "RemoteKey",
    "RemoteSecretKey",
    "ServerError",
    "__version__",
    "doctor",
    "environment",
    "generate_key",
    "open",
    "open_many",
    "pkcs11_module",
    "seal_many",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    # For type checkers, which do not run `__getattr__`.
    from .command import doctor, environment, pkcs11_module
    from .fernet import Fernet, MultiFernet
    from .files import open

# What needs modules of the standard library is imported when it is first used.
_LAZY = {
    "Fernet": "fernet",
    "MultiFernet": "fernet",
    "doctor": "command",
    "environment": "command",
    "open": "files",
    "pkcs11_module": "command",
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
