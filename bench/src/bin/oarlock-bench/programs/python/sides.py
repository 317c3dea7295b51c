"""Measures the Python package and what it is compared with, in turn: sides.py PART CPUS ROUNDS prints lines of JSON."""

import asyncio
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

import pyarrow
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import oarlock
from oarlock import aio
from oarlock.command import find_command

KEY, NONCE = bytes(range(32)), bytes(12)
OURS, THEIRS = oarlock.AESGCM(KEY), AESGCM(KEY)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(rounds, *sides):
    """Returns the seconds of each side. Another one begins in each round, and the first round warms up."""
    samples = [[] for _ in sides]
    for number in range(rounds + 1):
        for step in range(len(sides)):
            side = (number + step) % len(sides)
            taken = seconds(sides[side])
            if number > 0:
                samples[side].append(taken)
    return samples


def show(figure, vs, ours, theirs, **more):
    print(json.dumps({"figure": figure, "vs": vs, "ours": ours, "theirs": theirs, **more}))


def call(rounds):
    messages(rounds, (64, 1024), 100_000)


def message(rounds):
    messages(rounds, (16 << 10, 1 << 20), 4000)


def messages(rounds, sizes, calls_max):
    for size in sizes:
        data, calls = os.urandom(size), max(20, min(calls_max, (64 << 20) // size))
        assert OURS.encrypt(NONCE, data, None) == THEIRS.encrypt(NONCE, data, None)

        def loop(encrypt, data=data, calls=calls):
            for _ in range(calls):
                encrypt(NONCE, data, None)

        times = in_turn(rounds, lambda: loop(OURS.encrypt), lambda: loop(THEIRS.encrypt))
        ours, theirs = ([size * calls / one / 1e9 for one in side] for side in times)
        show("rate", "cryptography", ours, theirs, bytes=size)


def column(rounds):
    rows, size = 1_000_000, 64
    blob = os.urandom(rows * size)
    values = [blob[start : start + size] for start in range(0, len(blob), size)]
    array = pyarrow.array(values, pyarrow.binary())
    nonces = [number.to_bytes(12, "big") for number in range(rows)]

    def loop():
        encrypt = THEIRS.encrypt
        for nonce, value in zip(nonces, values):
            encrypt(nonce, value, None)

    sealed = oarlock.seal_many(OURS, array)
    for row in range(0, rows, 9973):
        assert THEIRS.decrypt(sealed.nonces[row], sealed.values[row], None) == values[row]
    ours, theirs = in_turn(rounds, lambda: oarlock.seal_many(OURS, array), loop)
    show("operations", "cryptography", [rows / one for one in ours], [rows / one for one in theirs], bytes=size)


def sign(rounds):
    count = 256
    ours = oarlock.PrivateKey.generate("RSA")
    theirs = serialization.load_pem_private_key(ours.to_pem(), None)
    texts = [b"%d" % number for number in range(count)]
    scheme = (padding.PKCS1v15(), hashes.SHA256())
    assert theirs.sign(texts[0], *scheme) == ours.sign(texts[0], "rsa-pkcs1-sha256")

    async def awaited():
        await asyncio.gather(*(aio.sign(ours, text, "rsa-pkcs1-sha256") for text in texts))

    async def pooled(pool):
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(pool, theirs.sign, text, *scheme) for text in texts))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        times = in_turn(rounds, lambda: asyncio.run(awaited()), lambda: asyncio.run(pooled(pool)))
    show("operations", "cryptography in two threads", *([count / one for one in side] for side in times))


def stall(rounds):
    """How late the loop is at most while 256 signatures are awaited, by a timer of a millisecond; over a millisecond."""
    key = oarlock.PrivateKey.generate("RSA")

    async def main():
        longest, loop = 0.0, asyncio.get_running_loop()
        # Submitting them is the caller's time.
        jobs = asyncio.gather(*(aio.sign(key, b"%d" % number, "rsa-pkcs1-sha256") for number in range(256)))
        while not jobs.done():
            due = loop.time() + 0.001
            await asyncio.sleep(0.001)
            longest = max(longest, loop.time() - due)
        await jobs
        return longest

    asyncio.run(main())
    show("milliseconds", "1 ms", [asyncio.run(main()) * 1e3 for _ in range(rounds)], [1.0] * rounds)


def file(rounds):
    size = 1 << 30
    with tempfile.TemporaryDirectory() as folder:
        identity, sealed = (os.path.join(folder, name) for name in ("key.txt", "sealed.age"))
        made = subprocess.run((find_command(), "keygen", "-o", identity), check=True, capture_output=True, text=True)
        recipient = next(word for word in (made.stderr + made.stdout).split() if word.startswith("age1"))
        block = os.urandom(1 << 20)
        with oarlock.open(sealed, "wb", recipients=recipient) as output:
            for _ in range(size >> 20):
                output.write(block)

        def pieces():
            buffer = bytearray(1 << 20)
            with oarlock.open(sealed, identity=identity) as data:
                while data.readinto(buffer):
                    pass

        def command():
            subprocess.run((find_command(), "decrypt", "-i", identity, "-o", os.devnull, sealed), check=True)

        ours, theirs = in_turn(rounds, pieces, command)
        show("rate", "oarlock decrypt", [size / one / 1e9 for one in ours], [size / one / 1e9 for one in theirs])


if __name__ == "__main__":
    part, cpus, rounds = sys.argv[1:]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-int(cpus) :])
    globals()[part](int(rounds))
