"""Fernet tokens (https://github.com/fernet/spec), the same as those of ``cryptography.fernet``."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import sys
import time
from collections.abc import Iterable

from . import CBC, HMAC, DecryptionFailed, Error, InvalidSignature

__all__ = ["Fernet", "InvalidToken", "MultiFernet"]

_VERSION = b"\x80"
# What a token begins with: version, time of 8 bytes, IV of 16.
_PROLOGUE_BYTES = 25
_TAG_BYTES = 32
# A clock may be this far behind that of the token's maker.
_CLOCK_SKEW_SECONDS = 60


class InvalidToken(Error):
    """The token is malformed, was made with another key or altered, or is older than its time to live.

    Where ``cryptography.fernet`` has been imported, what is raised is also an ``InvalidToken`` of that module.
    """


def _invalid(text: str) -> InvalidToken:
    theirs = getattr(sys.modules.get("cryptography.fernet"), "InvalidToken", None)
    if theirs is None:
        return InvalidToken(text)
    if theirs not in _BOTH:
        names = {"__module__": __name__, "__doc__": InvalidToken.__doc__}
        _BOTH[theirs] = type("InvalidToken", (InvalidToken, theirs), names)
    return _BOTH[theirs](text)


# The class of errors that are also of another one.
_BOTH: dict[type, type[InvalidToken]] = {}


class Fernet:
    """Makes and opens Fernet tokens.

    >>> token = Fernet(Fernet.generate_key()).encrypt(b"attack at dawn")
    """

    def __init__(self, key: bytes | str):
        try:
            key = base64.urlsafe_b64decode(key)
        except (ValueError, binascii.Error):
            key = b""
        if len(key) != 32:
            raise ValueError("a Fernet key is 32 bytes in URL-safe base64")
        self._mac = HMAC(key[:16])
        self._cbc = CBC(key[16:])

    @staticmethod
    def generate_key() -> bytes:
        """Return a new key."""
        return base64.urlsafe_b64encode(os.urandom(32))

    def encrypt(self, data) -> bytes:
        """Return a token of the data."""
        return self.encrypt_at_time(data, int(time.time()))

    def encrypt_at_time(self, data, current_time: int) -> bytes:
        """Return a token made at a time, in seconds."""
        iv = os.urandom(16)
        signed = _VERSION + current_time.to_bytes(8, "big") + iv + self._cbc.encrypt(iv, data)
        return base64.urlsafe_b64encode(signed + self._tag(signed))

    def decrypt(self, token: bytes | str, ttl: int | None = None) -> bytes:
        """Return the data of a token that is at most ``ttl`` seconds old. Raises InvalidToken."""
        signed, tag, made = self._parts(token)
        if ttl is not None:
            self._check_age(made, ttl, int(time.time()))
        return self._open(signed, tag)

    def decrypt_at_time(self, token: bytes | str, ttl: int, current_time: int) -> bytes:
        """Return the data of a token as if at a time, in seconds. Raises InvalidToken."""
        if ttl is None:
            raise ValueError("decrypt_at_time() needs a time to live")
        signed, tag, made = self._parts(token)
        self._check_age(made, ttl, current_time)
        return self._open(signed, tag)

    def extract_timestamp(self, token: bytes | str) -> int:
        """Return when the token was made, in seconds. Raises InvalidToken."""
        signed, tag, made = self._parts(token)
        self._verify(signed, tag)
        return made

    @staticmethod
    def _check_age(made: int, ttl: int, current_time: int) -> None:
        if made + ttl < current_time:
            raise _invalid("the token is older than its time to live")
        if current_time + _CLOCK_SKEW_SECONDS < made:
            raise _invalid("the token was made in the future")

    def _open(self, signed: bytes, tag: bytes) -> bytes:
        self._verify(signed, tag)
        try:
            return self._cbc.decrypt(signed[_PROLOGUE_BYTES - 16 : _PROLOGUE_BYTES], signed[_PROLOGUE_BYTES:])
        except (DecryptionFailed, ValueError):
            raise _invalid("the token was made with another key, or altered") from None

    def _verify(self, signed: bytes, tag: bytes) -> None:
        mac = self._mac.copy()
        mac.update(signed)
        try:
            mac.verify(tag)
        except InvalidSignature:
            raise _invalid("the token was made with another key, or altered") from None

    def _tag(self, signed: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(signed)
        return mac.digest()

    @staticmethod
    def _parts(token: bytes | str) -> tuple[bytes, bytes, int]:
        if not isinstance(token, (bytes, str)):
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        try:
            data = base64.urlsafe_b64decode(token)
        except (ValueError, binascii.Error):
            data = b""
        if len(data) < _PROLOGUE_BYTES + _TAG_BYTES or not data.startswith(_VERSION):
            raise _invalid("not a Fernet token")
        return data[:-_TAG_BYTES], data[-_TAG_BYTES:], int.from_bytes(data[1:9], "big")

    def __reduce__(self):
        raise TypeError("Fernet holds a key and cannot be pickled")


class MultiFernet:
    """Makes tokens with the first of several ``Fernet`` objects, and opens those of any of them, so that keys can be replaced.

    >>> new, old = Fernet(Fernet.generate_key()), Fernet(Fernet.generate_key())
    >>> both = MultiFernet([new, old])
    >>> new.decrypt(both.rotate(old.encrypt(b"attack at dawn")))
    b'attack at dawn'
    """

    def __init__(self, fernets: Iterable[Fernet]):
        self._fernets = list(fernets)
        if not self._fernets:
            raise ValueError("a MultiFernet needs at least one Fernet")

    def encrypt(self, data) -> bytes:
        """Return a token of the data."""
        return self._fernets[0].encrypt(data)

    def encrypt_at_time(self, data, current_time: int) -> bytes:
        """Return a token made at a time, in seconds."""
        return self._fernets[0].encrypt_at_time(data, current_time)

    def decrypt(self, token: bytes | str, ttl: int | None = None) -> bytes:
        """Return the data of a token that is at most ``ttl`` seconds old. Raises InvalidToken."""
        return self._first(lambda fernet: fernet.decrypt(token, ttl))

    def decrypt_at_time(self, token: bytes | str, ttl: int, current_time: int) -> bytes:
        """Return the data of a token as if at a time, in seconds. Raises InvalidToken."""
        return self._first(lambda fernet: fernet.decrypt_at_time(token, ttl, current_time))

    def rotate(self, token: bytes | str) -> bytes:
        """Return a token of the same data and time by the first key. Raises InvalidToken."""
        return self.encrypt_at_time(self.decrypt(token), self.extract_timestamp(token))

    def extract_timestamp(self, token: bytes | str) -> int:
        """Return when the token was made, in seconds. Raises InvalidToken."""
        return self._first(lambda fernet: fernet.extract_timestamp(token))

    def _first(self, work):
        """Return what work does with the first key that fits."""
        for fernet in self._fernets[:-1]:
            with contextlib.suppress(InvalidToken):
                return work(fernet)
        return work(self._fernets[-1])

    def __reduce__(self):
        raise TypeError("MultiFernet holds keys and cannot be pickled")
