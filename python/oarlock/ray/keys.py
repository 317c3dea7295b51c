"""The driver's side of keys. Identities do not leave the driver's memory."""

from __future__ import annotations

import hashlib
import os

from .._oarlock import AgeHeader, AgeIdentities, ServerError
from .objects import NONCE_BYTES, Failed, JobError
from .worker import Sealed

#: What is read of an object first: a header of some recipients. A longer one is read up to the second length.
_FIRST_BYTES = 4 << 10
_HEADER_BYTES_MAX = 1 << 20


class Identities:
    """Opens headers with identities in files of this machine."""

    def __init__(self, paths):
        texts = []
        for path in paths:
            try:
                with open(path, encoding="utf-8") as file:
                    texts.append(file.read(1 << 20))
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not a text"
                raise JobError(f"cannot read the identity file {os.fspath(path)}: {reason}") from None
        try:
            self._identities = AgeIdentities(texts)
        except ValueError as error:
            raise JobError(f"identity file: {error}") from None

    def unwrap(self, header):
        """Return the file key of a header."""
        return self._identities.unwrap(header)


class Server:
    """Opens headers by an identity that stays on a cryptoserver, an `oarlock.RemoteIdentity`. Several threads may call it."""

    def __init__(self, identity):
        try:
            self._identities = AgeIdentities.remote(identity)
        except ServerError as error:
            raise JobError(f"cannot ask for identity {identity.id!r}: {error}") from None

    def unwrap(self, header):
        return self._identities.unwrap(header)


class Remote:
    """Opens headers with a function that knows more than this machine: ``unwrap(stanzas)`` returns the file key.

    A stanza is a tuple of its type, its arguments and its body. The function raises an exception if it opens none of them.
    Several threads may call it at once.
    """

    def __init__(self, unwrap):
        self._unwrap = unwrap

    def unwrap(self, header):
        # The MAC of the header shows that the file key is the right one.
        return header.accept(self._unwrap(header.stanzas))


class Opened:
    """An object whose file key the driver has unwrapped."""

    def __init__(self, key, header_bytes, nonce):
        self.key = key
        self.header_bytes = header_bytes
        self._nonce = nonce

    def sealed(self, recipient):
        """Return what a worker needs to open the object."""
        return Sealed(self.key.wrap([recipient]), self._nonce, self.header_bytes + NONCE_BYTES)


def digest(header):
    """Return a name of the bytes of a header."""
    return hashlib.sha256(header).hexdigest()


def open_header(store, entry, unwrapper, done=None):
    """Read and unwrap the header of an object. Return what was opened, and the header.

    Both are None if the digest of the header is ``done``.
    """
    for most in (_FIRST_BYTES, _HEADER_BYTES_MAX):
        data = bytearray(min(entry.size, most))
        with store.open(entry) as source:
            source.read([memoryview(data)], 0)
        header = AgeHeader.parse(data)
        if header is not None:
            break
        if len(data) == entry.size:
            raise Failed("truncated: it ends within the header")
    else:
        raise Failed(f"its header is longer than {_HEADER_BYTES_MAX} bytes")
    nonce = bytes(data[header.size : header.size + NONCE_BYTES])
    if len(nonce) < NONCE_BYTES:
        rest = bytearray(NONCE_BYTES)
        if entry.size < header.size + NONCE_BYTES:
            raise Failed("truncated: it ends after the header")
        with store.open(entry) as source:
            source.read([memoryview(rest)], header.size)
        nonce = bytes(rest)
    if done is not None and digest(memoryview(data)[: header.size]) == done:
        return None, None
    return Opened(unwrapper.unwrap(header), header.size, nonce), header
