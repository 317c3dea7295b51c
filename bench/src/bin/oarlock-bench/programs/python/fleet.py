"""Measures `oarlock.ray` on a local Ray, and what it is compared with, in turn: fleet.py PART CPUS ROUNDS prints JSON lines."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import ray

from oarlock.command import find_command
from oarlock.ray import Options
from oarlock.ray import run as fleet

OBJECTS, OBJECT_BYTES = 64, 64 << 20
ROTATED, ROTATED_BYTES = 1_000, 10 << 20
SMALL, SMALL_BYTES = 10_000, 4 << 10
MEMORY = "/dev/shm"


def made(folder, count, size):
    """Writes files of random bytes."""
    folder.mkdir()
    block = os.urandom(size + count)
    for number in range(count):
        (folder / f"{number:05}").write_bytes(block[number : number + size])
    return folder


def identity(folder):
    path = folder / "key.txt"
    made = subprocess.run((find_command(), "keygen", "-o", path), check=True, capture_output=True, text=True)
    return str(path), next(word for word in (made.stderr + made.stdout).split() if word.startswith("age1"))


class Output:
    """A folder for each run, which is removed outside of what is timed."""

    def __init__(self, folder):
        self._path = folder / "output"

    def seconds(self, work):
        shutil.rmtree(self._path, ignore_errors=True)
        os.sync()
        start = time.perf_counter()
        work(self._path)
        return time.perf_counter() - start


def in_turn(rounds, folder, *sides):
    """Returns the seconds of each side. Another one begins in each round, and the first round warms up."""
    output, samples = Output(folder), [[] for _ in sides]
    for number in range(rounds + 1):
        for step in range(len(sides)):
            side = (number + step) % len(sides)
            taken = output.seconds(sides[side])
            if number > 0:
                samples[side].append(taken)
    output.seconds(lambda _: None)
    return samples


def job(command, source, target, **more):
    summary = fleet(Options(command, str(source), str(target), **more))
    assert summary.is_complete and not summary.skipped, summary
    return summary


def rates(total, times):
    return [[total / one / 1e9 for one in side] for side in times]


def workers(rounds, folder):
    """Two workers with a CPU each, over one."""
    source, (_, recipient) = made(folder / "source", OBJECTS, OBJECT_BYTES), identity(folder)
    sides = [functools.partial(job, "encrypt", source, recipients=(recipient,), workers=count) for count in (2, 1)]
    times = in_turn(rounds, folder, *(lambda out, side=side: side(target=out) for side in sides))
    yield "rate", "one worker", *rates(OBJECTS * OBJECT_BYTES, times)


def age(rounds, folder):
    """Two workers, over tasks that call age."""
    command = os.environ["OARLOCK_BENCH_AGE"]
    source, (_, recipient) = made(folder / "source", OBJECTS, OBJECT_BYTES), identity(folder)

    @ray.remote(num_cpus=1)
    def one(path, out):
        subprocess.run((command, "-r", recipient, "-o", out, path), check=True)

    def tasks(out):
        out.mkdir()
        ray.get([one.remote(str(path), str(out / f"{path.name}.age")) for path in source.iterdir()])

    times = in_turn(rounds, folder, lambda out: job("encrypt", source, out, recipients=(recipient,), workers=2), tasks)
    yield "rate", "age in the same tasks", *rates(OBJECTS * OBJECT_BYTES, times)


def encryption_sdk(rounds, folder):
    """Two workers, over tasks that call aws-encryption-sdk with a raw AES keyring."""
    source, (_, recipient) = made(folder / "source", OBJECTS, OBJECT_BYTES), identity(folder)

    @ray.remote(num_cpus=1)
    def one(path, out):
        import aws_encryption_sdk
        from aws_cryptographic_material_providers.mpl import AwsCryptographicMaterialProviders
        from aws_cryptographic_material_providers.mpl.config import MaterialProvidersConfig
        from aws_cryptographic_material_providers.mpl.models import AesWrappingAlg, CreateRawAesKeyringInput

        providers = AwsCryptographicMaterialProviders(config=MaterialProvidersConfig())
        keyring = providers.create_raw_aes_keyring(
            CreateRawAesKeyringInput(
                key_namespace="bench",
                key_name="key",
                wrapping_key=bytes(32),
                wrapping_alg=AesWrappingAlg.ALG_AES256_GCM_IV12_TAG16,
            )
        )
        policy = aws_encryption_sdk.CommitmentPolicy.REQUIRE_ENCRYPT_REQUIRE_DECRYPT
        client = aws_encryption_sdk.EncryptionSDKClient(commitment_policy=policy)
        with open(path, "rb") as plain, open(out, "wb") as sealed:
            with client.stream(mode="e", source=plain, keyring=keyring, frame_length=64 << 10) as chunks:
                for chunk in chunks:
                    sealed.write(chunk)

    def tasks(out):
        out.mkdir()
        ray.get([one.remote(str(path), str(out / path.name)) for path in source.iterdir()])

    times = in_turn(rounds, folder, lambda out: job("encrypt", source, out, recipients=(recipient,), workers=2), tasks)
    yield "rate", "aws-encryption-sdk", *rates(OBJECTS * OBJECT_BYTES, times)


def rotate(rounds, folder):
    """A rotation in place, over an encryption of the same files."""
    source, (key, recipient) = made(folder / "source", ROTATED, ROTATED_BYTES), identity(folder)
    (folder / "other").mkdir()
    _, other = identity(folder / "other")
    sealed = folder / "sealed"
    job("encrypt", source, sealed, recipients=(recipient,), workers=2)
    # Back and forth: the header of one key for the other, and of the other for the first.
    shutil.copy(folder / "other" / "key.txt", folder / "both.txt")
    with open(folder / "both.txt", "a") as both:
        both.write(pathlib.Path(key).read_text())
    turns = iter([other, recipient] * (rounds + 1))

    def rotated(_):
        summary = job("rotate", sealed, sealed, recipients=(next(turns),), identities=(str(folder / "both.txt"),), workers=2)
        assert summary.done == ROTATED, summary

    times = in_turn(rounds, folder, rotated, lambda out: job("encrypt", source, out, recipients=(recipient,), workers=2))
    ours, theirs = ([ROTATED / one for one in side] for side in times)
    yield "files", "encryption again", ours, theirs


def small(rounds, folder):
    """The time of a small object, over 2 ms."""
    source, (_, recipient) = made(folder / "source", SMALL, SMALL_BYTES), identity(folder)
    (times,) = in_turn(rounds, folder, lambda out: job("encrypt", source, out, recipients=(recipient,), workers=2))
    yield "milliseconds", "2 ms", [one / SMALL * 1e3 for one in times], [2.0] * rounds


if __name__ == "__main__":
    part, cpus, rounds = sys.argv[1:]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-int(cpus) :])
    # Oarlock waits until each object is on the disk, which the others do not. In memory the work is the same.
    in_memory = MEMORY if part in ("workers", "age", "encryption_sdk") and os.path.isdir(MEMORY) else None
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        ray.init(
            address="local", num_cpus=int(cpus), object_store_memory=100 << 20, include_dashboard=False, log_to_driver=False
        )
        for figure, vs, ours, theirs in globals()[part](int(rounds), pathlib.Path(folder)):
            print(json.dumps({"figure": figure, "vs": vs, "ours": ours, "theirs": theirs}))
        ray.shutdown()
