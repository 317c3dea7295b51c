"""Moments of a process's life in the middle of a stream: `moments.py fork|descriptors|exhausted|exit|_exit|signal`,
and streams for processes that are confined: `moments.py pipe|endless`.

Helpers of the provider are at work wherever it was told to have some.
"""

import errno
import hashlib
import os
import resource
import signal
import sys
import threading
import time

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

MIB = 1 << 20
DATA = hashlib.shake_128(b"data").digest(4 * MIB)


def encryptor():
    return Cipher(algorithms.AES(bytes(range(16))), modes.CTR(bytes(16))).encryptor()


def rest(stream, begun):
    """What the stream gives from MIB on, in pieces."""
    pieces = [stream.update(DATA[at : at + 100_000]) for at in range(MIB, len(DATA), 100_000)]
    return hashlib.sha256(begun + b"".join(pieces)).hexdigest()


def begin():
    stream = encryptor()
    return stream, stream.update(DATA[:MIB])


def fork():
    expected = rest(*begin())
    for _ in range(20):
        stream, begun = begin()
        child = os.fork()
        if child == 0:
            # A child of the child, too.
            grandchild = os.fork()
            is_right = rest(stream, begun) == expected and rest(*begin()) == expected
            if grandchild != 0:
                is_right &= os.waitpid(grandchild, 0)[1] == 0
            os._exit(0 if is_right else 1)
        assert rest(stream, begun) == expected
        assert os.waitpid(child, 0)[1] == 0
    print(expected)


def descriptors():
    expected = rest(*begin())
    for _ in range(5):
        stream, begun = begin()
        # All but where the result goes; the numbers are given to others at once.
        os.closerange(0, 1)
        os.closerange(2, 4096)
        pipes = [os.pipe() for _ in range(16)]
        assert rest(stream, begun) == expected
        for end in (end for pipe in pipes for end in pipe):
            os.fstat(end)
            os.close(end)
    print(expected)


def end(how):
    at_work = threading.Barrier(3)

    def work():
        stream = encryptor()
        stream.update(DATA)
        at_work.wait()
        while True:
            stream.update(DATA)

    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    at_work.wait()
    time.sleep(0.02)
    how()


def pipe():
    """What comes in goes out encrypted, a MiB at a time."""
    stream = encryptor()
    while part := sys.stdin.buffer.read(MIB):
        sys.stdout.buffer.write(stream.update(part))


def endless():
    stream = encryptor()
    while True:
        stream.update(DATA)


def exhausted():
    """No descriptor is left when the first long request asks for threads."""
    encryptor().update(b"a short one")
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken = []
    try:
        while True:
            taken.append(os.dup(1))
    except OSError as error:
        assert error.errno == errno.EMFILE
    result = rest(*begin())
    os.close(taken[0])
    print(result)


if __name__ == "__main__":
    moments = {
        "fork": fork,
        "descriptors": descriptors,
        "exhausted": exhausted,
        "pipe": pipe,
        "endless": endless,
        "exit": lambda: end(lambda: sys.exit(7)),
        "_exit": lambda: end(lambda: os._exit(7)),
        "signal": lambda: end(lambda: os.kill(os.getpid(), signal.SIGTERM)),
    }
    moments[sys.argv[1]]()
