"""Project Wycheproof's vectors, which `cargo xtask vectors` fetches: inputs at which implementations went wrong."""

import json
import pathlib

import pytest

import oarlock

# The tests run in the target folder.
PLACES = (pathlib.Path.cwd(), pathlib.Path(__file__).parents[2] / "target")


def cases(name):
    """Yields the groups and tests of a file. Their number is that of the file."""
    paths = [place / "vectors" / "wycheproof" / "testvectors_v1" / f"{name}_test.json" for place in PLACES]
    path = next((path for path in paths if path.exists()), None)
    assert path is not None, "run `cargo xtask vectors`"
    data, count = json.loads(path.read_text()), 0
    for group in data["testGroups"]:
        for test in group["tests"]:
            count += 1
            binary = ("key", "iv", "aad", "msg", "ct", "tag", "sig", "public", "private", "shared", "label")
            yield group, {name: bytes.fromhex(value) if name in binary else value for name, value in test.items()}
    assert count == data["numberOfTests"] > 0


@pytest.mark.parametrize(("name", "kind"), (("aes_gcm", oarlock.AESGCM), ("chacha20_poly1305", oarlock.ChaCha20Poly1305)))
def test_aeads(name, kind):
    accepted = 0
    for group, test in cases(name):
        aead, sealed = kind(test["key"]), test["ct"] + test["tag"]
        if not oarlock_takes(name, group["ivSize"]):
            with pytest.raises(ValueError):
                aead.encrypt(test["iv"], test["msg"], test["aad"])
        elif test["result"] == "valid":
            assert aead.encrypt(test["iv"], test["msg"], test["aad"]) == sealed, test
            assert aead.decrypt(test["iv"], sealed, test["aad"]) == test["msg"], test
            accepted += 1
        else:
            with pytest.raises(oarlock.AuthenticationFailed):
                aead.decrypt(test["iv"], sealed, test["aad"])
        if group["ivSize"] == 96:
            column = dict(nonces=[test["iv"]], associated_data=[test["aad"]])
            opened = oarlock.open_many(aead, [sealed], **column)
            assert opened.values.to_pylist() == [test["msg"] if test["result"] == "valid" else None], test
    assert accepted > 100


def oarlock_takes(name, nonce_bits):
    """Whether a nonce has one of the lengths that `cryptography` takes too."""
    return 64 <= nonce_bits <= 1024 if name == "aes_gcm" else nonce_bits == 96


@pytest.mark.parametrize(
    ("name", "scheme"),
    (
        ("ecdsa_secp256r1_sha256", "ecdsa-sha256"),
        ("ecdsa_secp384r1_sha384", "ecdsa-sha384"),
        ("ecdsa_secp521r1_sha512", "ecdsa-sha512"),
        ("ed25519", "ed25519"),
        ("rsa_signature_2048_sha256", "rsa-pkcs1-sha256"),
        ("rsa_pss_2048_sha256_mgf1_32", "rsa-pss-sha256"),
    ),
)
def test_signatures(name, scheme):
    accepted = refused = 0
    for group, test in cases(name):
        public = oarlock.PublicKey.from_bytes(bytes.fromhex(group["publicKeyDer"]))
        try:
            public.verify(test["sig"], test["msg"], scheme)
        except oarlock.InvalidSignature:
            assert test["result"] != "valid", test
            refused += 1
        else:
            assert test["result"] != "invalid", test
            accepted += 1
    assert accepted > 5 and refused > 20


def test_x25519():
    agreed = 0
    for _, test in cases("x25519_asn"):
        try:
            private = oarlock.PrivateKey.from_bytes(test["private"])
            secret = private.exchange(oarlock.PublicKey.from_bytes(test["public"]))
        except ValueError:
            assert test["result"] != "valid", test
        else:
            assert test["result"] != "invalid" and secret == test["shared"], test
            agreed += 1
    assert agreed > 200


def test_rsa_decryption():
    decrypted = 0
    for group, test in cases("rsa_oaep_2048_sha256_mgf1sha256"):
        private = oarlock.PrivateKey.from_bytes(bytes.fromhex(group["privateKeyPkcs8"]))
        # The module has no labels.
        if test["result"] == "valid" and not test["label"]:
            assert private.decrypt(test["ct"], "rsa-oaep-sha256") == test["msg"], test
            decrypted += 1
        else:
            with pytest.raises(oarlock.DecryptionFailed):
                private.decrypt(test["ct"], "rsa-oaep-sha256")
    assert decrypted > 5


def test_macs_and_cbc():
    for group, test in cases("hmac_sha256"):
        mac = oarlock.HMAC(test["key"], test["msg"], "sha256")
        is_right = test["result"] == "valid"
        assert (mac.digest()[: group["tagSize"] // 8] == test["tag"]) == is_right, test
        if group["tagSize"] == 256 and not is_right:
            with pytest.raises(oarlock.InvalidSignature):
                mac.verify(test["tag"])
    for _, test in cases("aes_cbc_pkcs5"):
        cbc = oarlock.CBC(test["key"])
        if test["result"] == "valid":
            assert cbc.encrypt(test["iv"], test["msg"]) == test["ct"], test
            assert cbc.decrypt(test["iv"], test["ct"]) == test["msg"], test
        else:
            with pytest.raises((oarlock.DecryptionFailed, ValueError)):
                cbc.decrypt(test["iv"], test["ct"])
