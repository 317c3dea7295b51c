"""Awaitables."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

import oarlock
from oarlock import aio


def test_every_operation():
    async def main():
        rsa = oarlock.PrivateKey.generate("RSA")
        ec = oarlock.PrivateKey.generate("P-256")
        other = oarlock.PrivateKey.generate("P-256")
        kem = oarlock.PrivateKey.generate("ML-KEM-768")
        secret, ciphertext = kem.public_key().encapsulate()
        results = await asyncio.gather(
            aio.sign(rsa, b"message"),
            aio.sign(ec, b"message"),
            aio.sign_digest(ec, bytes(32)),
            aio.exchange(ec, other.public_key()),
            aio.decapsulate(kem, ciphertext),
            aio.decrypt(rsa, rsa.public_key().encrypt(b"secret")),
        )
        rsa.public_key().verify(results[0], b"message")
        ec.public_key().verify(results[1], b"message")
        ec.public_key().verify_digest(results[2], bytes(32))
        assert results[3] == other.exchange(ec.public_key())
        assert results[4:] == [secret, b"secret"]

    asyncio.run(main())


def test_many_and_no_threads_of_their_own():
    key = oarlock.PrivateKey.generate("RSA")

    async def main():
        signatures = await asyncio.gather(*(aio.sign(key, b"%d" % number) for number in range(256)))
        for number, signature in enumerate(signatures):
            key.public_key().verify(signature, b"%d" % number)
        # The pool's threads are not Python's.
        assert threading.active_count() == 1

    asyncio.run(main())


def test_one_cpu():
    """Without threads of the pool the loop's thread computes, and lets the loop and other threads go on in between."""
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import asyncio, time, oarlock
from oarlock import aio
key = oarlock.PrivateKey.generate("RSA", 4096)
async def tick(gaps):
    while True:
        last = time.thread_time()
        await asyncio.sleep(0)
        gaps.append(time.thread_time() - last)
async def main():
    gaps = []
    ticking = asyncio.ensure_future(tick(gaps))
    await asyncio.sleep(0)
    signatures = await asyncio.gather(*(aio.sign(key, b"%d" % number) for number in range(256)))
    ticking.cancel()
    for number, signature in enumerate(signatures):
        key.public_key().verify(signature, b"%d" % number)
    print(max(gaps) / sum(gaps))
asyncio.run(main())
"""
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    # 256 signatures are some 16 batches; before, four of them kept the loop.
    assert float(done.stdout) < 0.2, done.stdout


def test_a_buffer_that_changes_after_the_call():
    """The message is that of the call, whatever happens to its buffer before the result is there."""
    rsa, kem = oarlock.PrivateKey.generate("RSA"), oarlock.PrivateKey.generate("ML-KEM-768")
    secret, ciphertext = kem.public_key().encapsulate()

    async def main():
        jobs = []
        for _ in range(50):
            message, digest = bytearray(b"message" * 1000), bytearray(32)
            encrypted, wrapped = bytearray(rsa.public_key().encrypt(b"secret")), bytearray(ciphertext)
            jobs += [aio.sign(rsa, message), aio.sign_digest(rsa, digest), aio.decrypt(rsa, encrypted)]
            jobs.append(aio.decapsulate(kem, wrapped))
            for buffer in (message, digest, encrypted, wrapped):
                buffer[:] = bytes(b ^ 0xFF for b in buffer)
                # Nothing holds it any more.
                buffer.clear()
        results = await asyncio.gather(*jobs)
        for signature, of_digest, decrypted, agreed in zip(*[iter(results)] * 4):
            rsa.public_key().verify(signature, b"message" * 1000)
            rsa.public_key().verify_digest(of_digest, bytes(32))
            assert (decrypted, agreed) == (b"secret", secret)

    asyncio.run(main())


def test_errors_reach_who_awaits():
    async def main():
        key = oarlock.PrivateKey.generate("RSA")
        with pytest.raises(oarlock.DecryptionFailed):
            await aio.decrypt(key, bytes(256))
        with pytest.raises(ValueError):
            await aio.sign_digest(key, b"short")
        with pytest.raises(ValueError, match="unknown"):
            await aio.sign(key, b"message", "unknown-scheme")
        with pytest.raises(TypeError):
            await aio.sign(key, "text")
        with pytest.raises(ValueError):
            await aio.exchange(key, key.public_key())

    asyncio.run(main())


def test_cancelled():
    key = oarlock.PrivateKey.generate("RSA")

    async def main():
        tasks = [asyncio.ensure_future(aio.sign(key, b"message")) for _ in range(64)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in results[::2])
        for signature in results[1::2]:
            key.public_key().verify(signature, b"message")

    asyncio.run(main())


def test_the_queue_is_bounded():
    # Slow, so that jobs come faster than they are done.
    key = oarlock.PrivateKey.generate("RSA", bits=4096)

    async def main():
        results = await asyncio.gather(*(aio.sign(key, b"message") for _ in range(3000)), return_exceptions=True)
        refused = [one for one in results if isinstance(one, oarlock.QueueFull)]
        assert 0 < len(refused) < 3000
        assert all(isinstance(one, (bytes, oarlock.QueueFull)) for one in results)

    asyncio.run(main())


def test_loops_of_threads_and_one_after_another():
    key = oarlock.PrivateKey.generate("P-256")

    async def main():
        for _ in range(20):
            key.public_key().verify(await aio.sign(key, b"message"), b"message")

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    asyncio.run(main())
    gc.collect()
    before = descriptors()
    for _ in range(20):
        asyncio.run(main())
    gc.collect()
    assert descriptors() <= before + 1
    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_loop_that_ends_with_jobs_under_way():
    key = oarlock.PrivateKey.generate("RSA")

    async def main():
        for _ in range(100):
            asyncio.ensure_future(aio.sign(key, b"message"))
        await asyncio.sleep(0)

    loops = []
    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()
        loops.append(weakref.ref(loop))
        del loop
    asyncio.run(main())
    gc.collect()
    # Those that have ended are forgotten, with their jobs.
    assert [loop() for loop in loops] == [None] * 3


def test_many_loops_at_once():
    """Threads whose loops come and go while others look for theirs."""
    key, errors = oarlock.PrivateKey.generate("Ed25519"), []

    async def main():
        await aio.sign(key, b"message")

    def work():
        try:
            for _ in range(30):
                asyncio.run(main())
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []


def test_jobs_in_a_cycle_are_collected():
    class Future:
        def done(self):
            return True

    jobs, future = oarlock._oarlock.Jobs(), Future()
    future.jobs, alive = jobs, weakref.ref(future)
    jobs.sign(future, oarlock.PrivateKey.generate("P-256"), b"message")
    gc.collect()
    assert alive() is future and len(jobs) == 1
    del jobs, future
    gc.collect()
    assert alive() is None
