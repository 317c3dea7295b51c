"""Signatures of JSON Web Tokens for PyJWT, by this module's keys.

>>> import jwt, oarlock, oarlock.pyjwt
>>> oarlock.pyjwt.install()
>>> key = oarlock.PrivateKey.generate("P-256")
>>> token = jwt.encode({"sub": "alice"}, key, algorithm="ES256")
>>> jwt.decode(token, key.public_key(), algorithms=["ES256"])
{'sub': 'alice'}
"""

from __future__ import annotations

import contextlib
import hashlib
import json

import jwt
from jwt.algorithms import Algorithm, ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import InvalidKeyError

from . import InvalidSignature, PrivateKey, PublicKey, RemoteKey

__all__ = ["OarlockAlgorithm", "algorithms", "install"]

# Name (RFC 7518, 3.1; RFC 8037), scheme, types of keys, and the length of half a signature of ECDSA.
_ALGORITHMS = (
    ("RS256", "rsa-pkcs1-sha256", "RSA", None),
    ("RS384", "rsa-pkcs1-sha384", "RSA", None),
    ("RS512", "rsa-pkcs1-sha512", "RSA", None),
    ("PS256", "rsa-pss-sha256", "RSA", None),
    ("PS384", "rsa-pss-sha384", "RSA", None),
    ("PS512", "rsa-pss-sha512", "RSA", None),
    ("ES256", "ecdsa-sha256", "P-256", 32),
    ("ES384", "ecdsa-sha384", "P-384", 48),
    ("ES512", "ecdsa-sha512", "P-521", 66),
    ("EdDSA", "ed25519", "Ed25519", None),
)


class OarlockAlgorithm(Algorithm):
    """An algorithm of PyJWT. It takes keys of this module and of a cryptoserver, and PEM or OpenSSH keys as str or bytes."""

    def __init__(self, scheme: str, key_type: str, half_bytes: int | None):
        self._scheme = scheme
        self._key_type = key_type
        self._half_bytes = half_bytes
        hash_name = scheme.rpartition("-")[2]
        if hash_name in hashlib.algorithms_guaranteed:
            # For `compute_hash_digest`, with which programs check at_hash of OpenID Connect.
            self.hash_alg = getattr(hashlib, hash_name)

    def prepare_key(self, key):
        if isinstance(key, str):
            # Python's error for half of a surrogate pair would hold the key.
            key = key.encode(errors="replace")
        if isinstance(key, bytes):
            read = PrivateKey if b"PRIVATE KEY-----" in key else PublicKey
            try:
                key = read.from_bytes(key)
            except ValueError as error:
                raise InvalidKeyError(str(error)) from None
        if not isinstance(key, (PrivateKey, PublicKey, RemoteKey)):
            key = _from_cryptography(key)
        if key.key_type != self._key_type:
            raise InvalidKeyError(f"a key of {self._key_type} is needed, and this is one of {key.key_type}")
        return key

    def sign(self, msg: bytes, key: PrivateKey | RemoteKey) -> bytes:
        if not isinstance(key, (PrivateKey, RemoteKey)):
            raise InvalidKeyError("a public key cannot sign")
        signature = key.sign(msg, self._scheme)
        return signature if self._half_bytes is None else _raw(signature, self._half_bytes)

    def verify(self, msg: bytes, key, sig: bytes) -> bool:
        public = key if isinstance(key, PublicKey) else key.public_key()
        if self._half_bytes is not None:
            if len(sig) != 2 * self._half_bytes:
                return False
            sig = _der(sig)
        try:
            public.verify(sig, msg, self._scheme)
        except InvalidSignature:
            return False
        return True

    @staticmethod
    def to_jwk(key_obj, as_dict=False):
        """Return the JSON Web Key (RFC 7517) of a key, by PyJWT's own algorithm for it."""
        from cryptography.hazmat.primitives import serialization

        if isinstance(key_obj, RemoteKey):
            key_obj = key_obj.public_key()
        if isinstance(key_obj, PrivateKey):
            theirs = serialization.load_pem_private_key(key_obj.to_pem(), None)
        else:
            theirs = serialization.load_pem_public_key(key_obj.to_pem())
        kind = {"RSA": RSAAlgorithm, "Ed25519": OKPAlgorithm}.get(key_obj.key_type, ECAlgorithm)
        return kind.to_jwk(theirs, as_dict=as_dict)

    @staticmethod
    def from_jwk(jwk):
        """Return the key of a JSON Web Key, by PyJWT's own algorithm for it. Raises InvalidKeyError."""
        try:
            kind = (json.loads(jwk) if isinstance(jwk, str) else jwk)["kty"]
            theirs = {"RSA": RSAAlgorithm, "OKP": OKPAlgorithm, "EC": ECAlgorithm}[kind]
        except (ValueError, KeyError, TypeError):
            raise InvalidKeyError("not a JSON Web Key of RSA, an elliptic curve or Ed25519") from None
        return _from_cryptography(theirs.from_jwk(jwk))


class _EdDsa(OarlockAlgorithm):
    """EdDSA: Ed25519 by this module, and keys of Ed448 by PyJWT's own algorithm."""

    _theirs = OKPAlgorithm()

    def prepare_key(self, key):
        try:
            return super().prepare_key(key)
        except (InvalidKeyError, ValueError):
            with contextlib.suppress(Exception):
                theirs = self._theirs.prepare_key(key)
                if type(theirs).__name__.strip("_").startswith("Ed448"):
                    return theirs
            raise

    def sign(self, msg: bytes, key) -> bytes:
        return super().sign(msg, key) if self._is_ours(key) else self._theirs.sign(msg, key)

    def verify(self, msg: bytes, key, sig: bytes) -> bool:
        return super().verify(msg, key, sig) if self._is_ours(key) else self._theirs.verify(msg, key, sig)

    @staticmethod
    def _is_ours(key) -> bool:
        return isinstance(key, (PrivateKey, PublicKey, RemoteKey))

    @staticmethod
    def to_jwk(key_obj, as_dict=False):
        if _EdDsa._is_ours(key_obj):
            return OarlockAlgorithm.to_jwk(key_obj, as_dict=as_dict)
        return OKPAlgorithm.to_jwk(key_obj, as_dict=as_dict)

    @staticmethod
    def from_jwk(jwk):
        try:
            return OarlockAlgorithm.from_jwk(jwk)
        except ValueError:
            return OKPAlgorithm.from_jwk(jwk)


def algorithms() -> dict[str, OarlockAlgorithm]:
    """Return the algorithms by their names, for ``PyJWS.register_algorithm``."""
    return {name: (_EdDsa if name == "EdDSA" else OarlockAlgorithm)(*arguments) for name, *arguments in _ALGORITHMS}


def install() -> None:
    """Have ``jwt.encode`` and ``jwt.decode`` use these algorithms in place of those of PyJWT."""
    for name, algorithm in algorithms().items():
        with contextlib.suppress(KeyError):
            jwt.unregister_algorithm(name)
        jwt.register_algorithm(name, algorithm)


def _from_cryptography(key):
    """Returns the same key of this module. PyJWT reads JSON Web Keys as those of ``cryptography``."""
    if not type(key).__module__.startswith("cryptography."):
        raise TypeError(f"expected a key of oarlock or cryptography, or PEM, not {type(key).__name__}")
    from cryptography.hazmat.primitives import serialization

    if hasattr(key, "private_bytes"):
        pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return PrivateKey.from_bytes(key.private_bytes(serialization.Encoding.DER, pkcs8, plain))
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    return PublicKey.from_bytes(key.public_bytes(serialization.Encoding.DER, spki))


def _raw(signature: bytes, half_bytes: int) -> bytes:
    """Returns r and s (RFC 7518, 3.4) of a signature in DER (RFC 3279, 2.2.3), which the library made."""
    at = 2 if signature[1] < 0x80 else 3
    halves = []
    for _ in range(2):
        length = signature[at + 1]
        number = int.from_bytes(signature[at + 2 : at + 2 + length], "big")
        halves.append(number.to_bytes(half_bytes, "big"))
        at += 2 + length
    return b"".join(halves)


def _der(raw: bytes) -> bytes:
    """Returns the signature in DER of r and s."""
    half = len(raw) // 2
    body = b""
    for number in (int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big")):
        value = number.to_bytes(number.bit_length() // 8 + 1, "big")
        body += bytes((2, len(value))) + value
    length = bytes((len(body),)) if len(body) < 0x80 else bytes((0x81, len(body)))
    return b"\x30" + length + body
