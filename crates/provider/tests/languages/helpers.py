"""What helpers of the provider leave of a program that had one thread: `helpers.py MOMENT [CONFIGURATION]`.

Each moment begins with long requests, for which the provider was told to take helpers.
"""

import ctypes
import hashlib
import os
import sys
import time

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

# Helpers end 10 ms after their last piece. Where page faults take long, a program needs that long to copy a result of some MiB.
DATA = hashlib.shake_128(b"data").digest(256 << 10)
RESULT = bytearray(len(DATA) + 15)
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER = 0x10000000
FOLLOWING = 1 << 6 | 1 << 7  # CAP_SETGID and CAP_SETUID
NOBODY = 65534


def long_request():
    length = Cipher(algorithms.AES(bytes(range(16))), modes.CTR(bytes(16))).encryptor().update_into(DATA, RESULT)
    return RESULT[:length]


def threads():
    return [int(name) for name in os.listdir("/proc/self/task")]


def status(thread):
    """Of a thread; none if it has ended."""
    try:
        with open(f"/proc/self/task/{thread}/status") as lines:
            return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
    except (FileNotFoundError, ProcessLookupError):
        return None


def helpers():
    """Long requests until a helper is there; all that are."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        long_request()
        found = [thread for thread in threads() if thread != os.getpid()]
        told = [status for status in map(status, found) if status]
        if told:
            return told
    sys.exit("no helper ever came")


def until_alone():
    began = time.monotonic()
    while len(threads()) > 1:
        assert time.monotonic() - began < 5, "a helper stays"
        time.sleep(0.001)
    return time.monotonic() - began


def unshare():
    expected = long_request()
    for _ in range(5):
        helpers()
        until_alone()
    assert libc.unshare(CLONE_NEWUSER) == 0, os.strerror(ctypes.get_errno())
    assert long_request() == expected


def rights():
    for _ in range(20):
        for told in helpers():
            # It may just have begun, and be about to give them up.
            pid = int(told["Pid"])
            until = time.monotonic() + 10
            while told and (int(told["CapPrm"], 16) & ~FOLLOWING or told["NoNewPrivs"] != "1"):
                assert time.monotonic() < until, told
                told = status(pid)
            if told:
                for kind in ("CapInh", "CapEff", "CapAmb"):
                    assert int(told[kind], 16) & ~FOLLOWING == 0, told
        until_alone()
    assert status(os.getpid())["NoNewPrivs"] == "0", "the program's own thread has lost something"


def capset():
    helpers()
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert libc.syscall(126, header, (ctypes.c_uint32 * 6)()) == 0, "capset"
    until_alone()
    assert all(int(status(thread)["CapPrm"], 16) == 0 for thread in threads())
    # Nor has one that comes after.
    for told in helpers():
        assert int(told["CapPrm"], 16) == 0 and int(told["CapEff"], 16) == 0, told


def user():
    """The C library ends a process of which one thread may not follow."""
    helpers()
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    for thread in threads():
        told = status(thread)
        assert not told or (told["Uid"].split() == [str(NOBODY)] * 4 and int(told["CapPrm"], 16) == 0), told
    for told in helpers():
        assert told["Uid"].split() == [str(NOBODY)] * 4


def pauses():
    expected = long_request()
    for number in range(40):
        assert long_request() == expected
        time.sleep(0.001 * (number % 20))
    until_alone()


def off():
    for _ in range(50):
        long_request()
        assert len(threads()) == 1


def contexts():
    """As many library contexts as there are, and one pool of helpers."""
    crypto = ctypes.CDLL("libcrypto.so.3")
    for name in ("OSSL_LIB_CTX_new", "EVP_CIPHER_fetch", "EVP_CIPHER_CTX_new"):
        getattr(crypto, name).restype = ctypes.c_void_p
    made, most, results = [], 0, set()
    for _ in range(40):
        library = ctypes.c_void_p(crypto.OSSL_LIB_CTX_new())
        assert crypto.OSSL_LIB_CTX_load_config(library, sys.argv[2].encode()) == 1
        made.append(library)
        for library in made[-3:] + made[:3]:
            cipher = ctypes.c_void_p(crypto.EVP_CIPHER_fetch(library, b"AES-128-CTR", b"provider=oarlock"))
            context = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())
            assert crypto.EVP_EncryptInit_ex2(context, cipher, bytes(range(16)), bytes(16), None) == 1
            output, length = ctypes.create_string_buffer(len(DATA)), ctypes.c_int()
            assert crypto.EVP_EncryptUpdate(context, output, ctypes.byref(length), DATA, len(DATA)) == 1
            most = max(most, len(threads()))
            results.add(hashlib.sha256(output.raw).hexdigest())
            crypto.EVP_CIPHER_CTX_free(context)
            crypto.EVP_CIPHER_free(cipher)
        # Contexts come and go, and those that stay go on.
        if len(made) % 4 == 0:
            crypto.OSSL_LIB_CTX_free(made.pop(len(made) // 2))
    assert results == {hashlib.sha256(long_request()).hexdigest()}
    assert 1 < most <= 3, f"{most} threads"
    for library in made:
        crypto.OSSL_LIB_CTX_free(library)
    until_alone()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
