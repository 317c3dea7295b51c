"""Fernet tokens and JSON Web Tokens, exchanged with other implementations."""

import base64
import os
import pickle

import cryptography.fernet
import jwt
import pytest
from cryptography.hazmat.primitives import serialization

import oarlock
import oarlock.pyjwt
from oarlock.fernet import InvalidToken

# https://github.com/fernet/spec, generate.json and verify.json.
SPEC_KEY = b"cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="
SPEC_TOKEN = b"gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA=="


def test_fernet_of_the_specification():
    fernet = oarlock.Fernet(SPEC_KEY)
    assert fernet.decrypt_at_time(SPEC_TOKEN, 60, 499162801) == b"hello"
    assert fernet.extract_timestamp(SPEC_TOKEN) == 499162800
    with pytest.raises(InvalidToken, match="older"):
        fernet.decrypt_at_time(SPEC_TOKEN, 60, 499162861)
    with pytest.raises(InvalidToken, match="future"):
        fernet.decrypt_at_time(SPEC_TOKEN, 60, 499162700)


def test_fernet_both_ways(rng):
    key = oarlock.Fernet.generate_key()
    ours, theirs = oarlock.Fernet(key), cryptography.fernet.Fernet(key)
    for length in (0, 1, 15, 16, 1000, 100_000):
        data = rng.randbytes(length)
        assert ours.decrypt(theirs.encrypt(data)) == data
        assert theirs.decrypt(ours.encrypt(data), ttl=60) == data
        assert ours.decrypt(ours.encrypt(data).decode(), ttl=60) == data


def test_fernet_refuses(rng):
    fernet = oarlock.Fernet(oarlock.Fernet.generate_key())
    token = base64.urlsafe_b64decode(fernet.encrypt(b"data"))
    for position in range(len(token)):
        forged = bytearray(token)
        forged[position] ^= 1 << rng.randrange(8)
        with pytest.raises(InvalidToken):
            fernet.decrypt(base64.urlsafe_b64encode(forged))
    for text in (b"", b"gAAA", "ä", base64.urlsafe_b64encode(token[:-1]), base64.urlsafe_b64encode(token + b"?")):
        with pytest.raises(InvalidToken):
            fernet.decrypt(text)
    with pytest.raises(TypeError):
        fernet.decrypt(7)
    with pytest.raises(TypeError):
        pickle.dumps(fernet)
    with pytest.raises(ValueError):
        fernet.decrypt_at_time(fernet.encrypt(b"data"), None, 0)
    with pytest.raises(TypeError):
        fernet.decrypt_at_time(fernet.encrypt(b"data"), 60, None)
    for key in (b"", "short", base64.urlsafe_b64encode(bytes(31))):
        with pytest.raises(ValueError, match="32 bytes"):
            oarlock.Fernet(key)


@pytest.mark.parametrize("name, arguments", oarlock.pyjwt.algorithms().items())
def test_jwt_both_ways(name, arguments):
    key = oarlock.PrivateKey.generate(arguments._key_type)
    theirs = serialization.load_pem_private_key(key.to_pem(), None)
    ours = jwt.PyJWS(algorithms=[])
    ours.register_algorithm(name, arguments)
    for _ in range(5):
        payload = os.urandom(50)
        for sign, own_key in ((ours, key), (ours, key.to_pem()), (jwt.PyJWS(), theirs)):
            token = sign.encode(payload, own_key, algorithm=name)
            assert ours.decode(token, key.public_key().to_pem(), algorithms=[name]) == payload
            assert ours.decode(token, key.public_key(), algorithms=[name]) == payload
            assert jwt.PyJWS().decode(token, theirs.public_key(), algorithms=[name]) == payload
            head, body, signature = token.split(".")
            forged = f"{head}.{body[:-2]}AA.{signature}"
            cut = f"{head}.{body}.{signature[:-4]}"
            for wrong in (forged, cut):
                with pytest.raises(jwt.DecodeError):
                    ours.decode(wrong, key.public_key(), algorithms=[name])


def test_jwt_refuses():
    algorithm = oarlock.pyjwt.algorithms()["ES256"]
    key = oarlock.PrivateKey.generate("P-384")
    for wrong in (key, key.to_pem(), b"-----BEGIN PRIVATE KEY-----", "no key"):
        with pytest.raises(jwt.InvalidKeyError):
            algorithm.prepare_key(wrong)
    with pytest.raises(TypeError):
        algorithm.prepare_key(7)
    with pytest.raises(jwt.InvalidKeyError, match="public key cannot sign"):
        algorithm.sign(b"", oarlock.PrivateKey.generate("P-256").public_key())


def test_jwt_installed():
    """As a program uses it, twice, and with keys of `cryptography`, which PyJWT makes of JSON Web Keys."""
    for _ in range(2):
        oarlock.pyjwt.install()
    key = oarlock.PrivateKey.generate("P-256")
    theirs = serialization.load_pem_private_key(key.to_pem(), None)
    token = jwt.encode({"sub": "alice"}, theirs, algorithm="ES256")
    for public in (key.public_key(), theirs.public_key(), key.public_key().to_pem()):
        assert jwt.decode(token, public, algorithms=["ES256"]) == {"sub": "alice"}
    jwk = jwt.PyJWK.from_json(jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256).to_jwk(theirs.public_key()))
    assert jwt.decode(token, jwk.key, algorithms=["ES256"]) == {"sub": "alice"}
    assert jwt.encode({}, "secret of at least 32 bytes, or so", algorithm="HS256")


@pytest.mark.parametrize("name, algorithm", oarlock.pyjwt.algorithms().items())
def test_json_web_keys(name, algorithm):
    key = oarlock.PrivateKey.generate(algorithm._key_type)
    for one in (key, key.public_key()):
        for as_dict in (False, True):
            again = algorithm.from_jwk(algorithm.to_jwk(one, as_dict=as_dict))
            assert (type(again), again.to_der()) == (type(one), one.to_der())
    for wrong in ("", "{}", "[]", '{"kty": "oct", "k": "AAAA"}', {"kty": []}):
        with pytest.raises(jwt.InvalidKeyError):
            algorithm.from_jwk(wrong)
