"""Private-key operations for asyncio: awaitables that need no thread each.

>>> import asyncio, oarlock, oarlock.aio
>>> key = oarlock.PrivateKey.generate("P-256")
>>> async def main():
...     return await oarlock.aio.sign(key, b"message")
>>> signature = asyncio.run(main())
>>> key.public_key().verify(signature, b"message")

Each call submits a job to the accelerator's pool, where requests that wait together are computed in SIMD lanes. The event loop
watches one descriptor for all of them. Cancelling an awaitable drops its result. At most 1024 jobs wait; further ones raise
``QueueFull``. ``sign``, ``sign_digest`` and ``decrypt`` also take keys of a cryptoserver; ``seal``, ``open``, ``mac`` and
``verify`` take its secret keys. ``list_keys``, ``create_key``, ``rotate_key``, ``disable_key`` and ``enable_key`` list and
change the keys of a ``Cryptoserver``.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from . import Cryptoserver, KeyEntry, PrivateKey, PublicKey, RemoteKey, RemoteSecretKey
from ._oarlock import Jobs

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "create_key",
    "decapsulate",
    "decrypt",
    "disable_key",
    "enable_key",
    "exchange",
    "list_keys",
    "mac",
    "open",
    "rotate_key",
    "seal",
    "sign",
    "sign_digest",
    "verify",
]

# The jobs of each loop.
_of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, Jobs]] = weakref.WeakKeyDictionary()
# Loops of several threads come and go.
_lock = threading.Lock()


def _forget() -> None:
    """Begin without jobs and with a free lock: a forked child has loops of its own, or none."""
    global _of_loops, _lock
    _of_loops, _lock = weakref.WeakKeyDictionary(), threading.Lock()


os.register_at_fork(after_in_child=_forget)


def _jobs() -> tuple[asyncio.AbstractEventLoop, Jobs]:
    loop = asyncio.get_running_loop()
    with _lock:
        known = _of_loops.get(loop)
    if known is not None and known[0] == os.getpid():
        return loop, known[1]
    jobs = Jobs()
    loop.add_reader(jobs.fileno(), jobs.drain)
    with _lock:
        # Its jobs that have not ended hold futures, and these hold the loop.
        for other in [other for other in _of_loops if other.is_closed()]:
            del _of_loops[other]
        _of_loops[loop] = os.getpid(), jobs
    return loop, jobs


def _submit(name: str, *arguments) -> asyncio.Future[Any]:
    loop, jobs = _jobs()
    future = loop.create_future()
    try:
        getattr(jobs, name)(future, *arguments)
    except Exception as error:
        future.set_exception(error)
    return future


def sign(key: PrivateKey | RemoteKey, data: Buffer, scheme: str | None = None) -> asyncio.Future[bytes]:
    """Sign a message, like ``PrivateKey.sign``."""
    return _submit("sign", key, data, scheme)


def sign_digest(key: PrivateKey | RemoteKey, digest: Buffer, scheme: str | None = None) -> asyncio.Future[bytes]:
    """Sign the digest of a message, like ``PrivateKey.sign_digest``."""
    return _submit("sign_digest", key, digest, scheme)


def exchange(key: PrivateKey, peer: PublicKey) -> asyncio.Future[bytes]:
    """Agree on a secret, like ``PrivateKey.exchange``."""
    return _submit("exchange", key, peer)


def decapsulate(key: PrivateKey, ciphertext: Buffer) -> asyncio.Future[bytes]:
    """Return the secret of an ML-KEM ciphertext, like ``PrivateKey.decapsulate``."""
    return _submit("decapsulate", key, ciphertext)


def decrypt(key: PrivateKey | RemoteKey, ciphertext: Buffer, scheme: str = "rsa-oaep-sha256") -> asyncio.Future[bytes]:
    """Decrypt with an RSA key, like ``PrivateKey.decrypt``."""
    return _submit("decrypt", key, ciphertext, scheme)


def seal(
    key: RemoteSecretKey, data: Buffer, associated_data: Buffer | None = None, *, timeout: float | None = None
) -> asyncio.Future[bytes]:
    """Seal data with a secret key of a cryptoserver, like ``RemoteSecretKey.seal``."""
    return _submit("seal", key, data, associated_data, timeout)


def open(
    key: RemoteSecretKey, sealed: Buffer, associated_data: Buffer | None = None, *, timeout: float | None = None
) -> asyncio.Future[bytes]:
    """Open what ``seal`` returned, like ``RemoteSecretKey.open``."""
    return _submit("open", key, sealed, associated_data, timeout)


def mac(key: RemoteSecretKey, data: Buffer, *, timeout: float | None = None) -> asyncio.Future[tuple[bytes, int]]:
    """Return a MAC and the version of the key that made it, like ``RemoteSecretKey.mac``."""
    return _submit("mac", key, data, timeout)


def verify(
    key: RemoteSecretKey, tag: Buffer, data: Buffer, version: int = 0, *, timeout: float | None = None
) -> asyncio.Future[None]:
    """Verify a MAC, like ``RemoteSecretKey.verify``."""
    return _submit("verify", key, tag, data, version, timeout)


def list_keys(server: Cryptoserver) -> asyncio.Future[list[KeyEntry]]:
    """List the keys of a cryptoserver, like ``Cryptoserver.list_keys``."""
    return _submit("list_keys", server)


def create_key(
    server: Cryptoserver, id: str, key_type: str, bits: int | None = None, *, timeout: float | None = None
) -> asyncio.Future[KeyEntry]:
    """Have a cryptoserver make a key, like ``Cryptoserver.create_key``. Cancelling this or another change does not undo it."""
    return _submit("create_key", server, id, key_type, bits, timeout)


def rotate_key(
    server: Cryptoserver, id: str, version: int | None = None, *, timeout: float | None = None
) -> asyncio.Future[KeyEntry]:
    """Have a cryptoserver make a new version of a key, like ``Cryptoserver.rotate_key``."""
    return _submit("rotate_key", server, id, version, timeout)


def disable_key(server: Cryptoserver, id: str, *, timeout: float | None = None) -> asyncio.Future[KeyEntry]:
    """Have a cryptoserver refuse requests with a key, like ``Cryptoserver.disable_key``."""
    return _submit("disable_key", server, id, timeout)


def enable_key(server: Cryptoserver, id: str, *, timeout: float | None = None) -> asyncio.Future[KeyEntry]:
    """Have a cryptoserver use a disabled key again, like ``Cryptoserver.enable_key``."""
    return _submit("enable_key", server, id, timeout)
