"""Fernet tokens (https://github.com/fernet/spec), the same as those of ``cryptography.fernet``."""

from __future__ import annotations

import base64
import binascii
import os
import time

from . import CBC, HMAC, DecryptionFailed, Error, InvalidSignature

__all__ = ["Fernet", "InvalidToken"]

_VERSION = b"\x80"
# What a token begins with: version, time of 8 bytes, IV of 16.
_PROLOGUE_BYTES = 25
_TAG_BYTES = 32
# A clock may be this far behind that of the token's maker.
_CLOCK_SKEW_SECONDS = 60


class InvalidToken(Error):
    """The token is malformed, was made with another key or altered, or is older than its time to live."""


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
            raise InvalidToken("the token is older than its time to live")
        if current_time + _CLOCK_SKEW_SECONDS < made:
            raise InvalidToken("the token was made in the future")

    def _open(self, signed: bytes, tag: bytes) -> bytes:
        self._verify(signed, tag)
        try:
            return self._cbc.decrypt(signed[_PROLOGUE_BYTES - 16 : _PROLOGUE_BYTES], signed[_PROLOGUE_BYTES:])
        except (DecryptionFailed, ValueError):
            raise InvalidToken("the token was made with another key, or altered") from None

    def _verify(self, signed: bytes, tag: bytes) -> None:
        mac = self._mac.copy()
        mac.update(signed)
        try:
            mac.verify(tag)
        except InvalidSignature:
            raise InvalidToken("the token was made with another key, or altered") from None

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
            raise InvalidToken("not a Fernet token")
        return data[:-_TAG_BYTES], data[-_TAG_BYTES:], int.from_bytes(data[1:9], "big")

    def __reduce__(self):
        raise TypeError("Fernet holds a key and cannot be pickled")
