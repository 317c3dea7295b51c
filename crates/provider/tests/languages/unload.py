"""Loads a configuration into library contexts of OpenSSL's, uses it, and frees all of it again: `unload.py CONFIGURATION MODULE`."""

import ctypes
import os
import sys
import time

conf, module = (argument.encode() for argument in sys.argv[1:])
crypto = ctypes.CDLL("libcrypto.so.3")
for name in ("OSSL_LIB_CTX_new", "EVP_CIPHER_fetch", "EVP_CIPHER_CTX_new", "OSSL_PROVIDER_load"):
    getattr(crypto, name).restype = ctypes.c_void_p


def pointer(value):
    assert value, "a null pointer"
    return ctypes.c_void_p(value)


def encrypted(library, properties):
    cipher = pointer(crypto.EVP_CIPHER_fetch(library, b"AES-128-CTR", properties))
    context = pointer(crypto.EVP_CIPHER_CTX_new())
    key, iv = bytes(range(16)), bytes(16)
    assert crypto.EVP_EncryptInit_ex2(context, cipher, key, iv, None) == 1
    output = ctypes.create_string_buffer(len(DATA))
    length = ctypes.c_int()
    assert crypto.EVP_EncryptUpdate(context, output, ctypes.byref(length), DATA, len(DATA)) == 1
    crypto.EVP_CIPHER_CTX_free(context)
    crypto.EVP_CIPHER_free(cipher)
    return output.raw


def entries(what):
    return len(os.listdir(f"/proc/self/{what}"))


def is_alone():
    """The kernel wakes a thread that joins another a moment before it removes the other's entry."""
    until = time.monotonic() + 10
    while entries("task") > 1 and time.monotonic() < until:
        time.sleep(0.001)
    return entries("task") == 1


DATA = os.urandom(1 << 20)
before = None
for number in range(100):
    library = pointer(crypto.OSSL_LIB_CTX_new())
    assert crypto.OSSL_LIB_CTX_load_config(library, conf) == 1
    expected = encrypted(library, b"provider=default")
    assert encrypted(library, b"provider=oarlock") == expected
    # One reference more, given back, and the provider goes on.
    provider = pointer(crypto.OSSL_PROVIDER_load(library, b"oarlock"))
    assert crypto.OSSL_PROVIDER_unload(provider) == 1
    assert encrypted(library, b"provider=oarlock") == expected
    crypto.OSSL_LIB_CTX_free(library)
    assert is_alone(), "a helper outlives its provider"
    before = before or entries("fd")
assert entries("fd") == before, "descriptors are left"
with open("/proc/self/maps", "rb") as maps:
    assert module in maps.read(), "what may have threads and handlers was unmapped"
print("unloaded")
