"""A job: the driver, which hands units of work to workers and keeps the manifest.

```
source.list -> Planner (a thread) -> units -> workers, two calls each -> manifest
                     ^                            |
                     +---- again, after a while --+
```

Every queue has a bound, so the driver's memory does not depend on the number of objects.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import pickle
import random
import socket
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from typing import Any, Callable

import ray
from ray.util.metrics import Counter

from .._oarlock import AgeKey, FileError, RemoteIdentity, __version__
from . import headers
from .keys import Identities, Remote, Server
from .lines import output
from .local import umask
from .manifest import Manifest
from .objects import CHUNK_BYTES, NONCE_BYTES, RANGE_CHUNKS, Changed, Entry, Failed, JobError, sealed_bytes
from .plan import Headers, Long, Planner, source_of
from .stores import store
from .worker import Done, Fault, Sealed, Settings, Worker, is_repeatable

_CALLS_PER_WORKER = 2
_ATTEMPTS = 4
_DELAY_SECONDS = 0.3
#: Long objects that get their names at a time.
_COMMITS = 2
#: How long a job that stops waits for calls that are under way.
_END_SECONDS = 10
#: Objects that wait for another attempt before no more are listed.
_AGAIN_MAX = 1000
#: How long a job waits for its first worker before it tells of that.
_WAITING_SECONDS = 15
_FAILURES_SHOWN_MAX = 100
#: Workers in a row that do not start or die at once.
_LOSSES_MAX = 10


@dataclass
class Options:
    command: str
    source: str
    target: str
    recipients: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()
    #: An identity that stays on a cryptoserver.
    server: RemoteIdentity | None = None
    unwrap: Callable[[list[tuple[str, list[str], bytes]]], bytes] | None = None
    keep: bool = False
    digest: bool = False
    overwrite: bool = False
    dry_run: bool = False
    manifest: str | None = None
    endpoint: str | None = None
    break_lock: bool = False
    workers: int | None = None
    local: int | None = None
    address: str | None = None
    in_place: bool = False
    #: Chunks of 64 KiB in a range of a long object.
    range_chunks: int = RANGE_CHUNKS

    @property
    def writes(self):
        return self.command != "verify"


@dataclass
class Summary:
    """What a job did."""

    command: str
    done: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    #: Objects and bytes of them, in the source.
    bytes: int = 0
    seconds: float = 0.0
    retries: int = 0
    workers: int = 0
    workers_lost: int = 0
    #: Path and reason of the first failures and of what was skipped; the manifest has all failures.
    failures: list[tuple[str, str]] = field(default_factory=list)
    skips: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_complete(self):
        return self.failed == 0


def run(options: Options, progress: Callable[[Summary], Any] | None = None) -> Summary:
    """Run a job to its end. Raises JobError if it cannot begin or go on."""
    begun = time.monotonic()
    source, target = store(options.source, options.endpoint), store(options.target, options.endpoint)
    options.in_place = options.command == "rotate" and source.contains(target) and target.contains(source)
    if not source.exists():
        raise JobError(f"{source.url} is not a folder")
    if not options.in_place and (source.contains(target) or target.contains(source)):
        raise JobError(f"source and destination must not contain each other: {source.url}, {target.url}")
    unwrapper = _unwrapper(options)
    if options.recipients:
        try:
            AgeKey().wrap(list(options.recipients))
        except (ValueError, FileError) as error:
            raise JobError(str(error)) from None
    summary = Summary(options.command)
    name = os.urandom(8).hex()
    holder = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "job": name})
    writes = options.writes and not options.dry_run
    with contextlib.ExitStack() as stack:
        if writes:
            target.create()
            if options.break_lock and hasattr(target, "break_lock"):
                target.break_lock()
            held = target.lock(holder)
            if held is not None:
                raise JobError(f"another job uses {target.url}: {held}")
            stack.callback(target.unlock)
        # Where outputs are not announced, they bear the job's mark.
        target.job = "" if target.announces else name
        manifest = Manifest(
            options.command if options.writes else "encrypt", source, target, options.manifest, writes, target.job
        )
        stack.callback(manifest.close)
        if manifest.ignored_count:
            summary.notes.append(
                f"{manifest.ignored_count} lines of manifests were ignored, first: {'; '.join(manifest.ignored)}"
            )
        if options.command == "rotate":
            summary.notes.append(ROTATION_NOTE)
        is_conditional = options.in_place or (not options.overwrite and not target.announces)
        if writes and is_conditional and hasattr(target, "without_conditions"):
            warning = target.without_conditions()
            summary.notes += [warning] if warning else []
        if writes and hasattr(target, "remove_incomplete"):
            target.remove_incomplete(lambda path: manifest.has(source_of(options.command, path)))
        planner = Planner(options, source, target, manifest, unwrapper)
        stack.callback(planner.close)
        job = _Job(options, source.url, target, manifest, planner, summary, holder if writes else None, progress)
        if options.dry_run:
            job.count()
        else:
            job.work(stack)
            if writes and options.manifest is not None and hasattr(target, "settle"):
                # Otherwise the flush of the manifest, in the same file system, has covered the names.
                manifest.flush()
                target.settle()
    summary.seconds = round(time.monotonic() - begun, 3)
    return summary


#: What a rotation does not do.
ROTATION_NOTE = (
    "rotation changes who can open the new files: anyone with an old file and an old identity can still open it, "
    "and the payload's key stays the same"
)


#: A worker needs a CPU that nothing else of the cluster has.
WAITING_NOTE = "no worker has started yet: the cluster may have no free CPU (`ray status` shows what uses them)"


def _unwrapper(options):
    if options.unwrap is not None:
        return Remote(options.unwrap)
    if options.server is not None:
        return Server(options.server)
    if options.identities:
        return Identities(options.identities)
    if options.command in ("decrypt", "rotate"):
        raise JobError(f"{options.command} needs an identity: -i FILE, or --remote SERVER --key NAME")
    return None


def _connect(options, stack):
    """Connect to a cluster, or start one of this machine."""
    if ray.is_initialized():
        return
    # No report to Ray's makers, and no messages of Ray's between ours.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"logging_level": "error", "log_to_driver": False, "configure_logging": True}
    try:
        if options.address is not None:
            ray.init(address=options.address, **quiet)
        else:
            count = options.local or len(os.sched_getaffinity(0))
            # Objects do not pass through the object store: 100 MB are enough.
            ray.init(address="local", num_cpus=count, object_store_memory=100 << 20, include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise JobError(f"cannot connect to Ray: {error}") from None
    stack.callback(ray.shutdown)


class _Hand:
    """A worker as the driver sees it."""

    def __init__(self, settings):
        # The version comes first: another one may not be able to unpickle the settings.
        self.actor = _actor().remote(__version__, pickle.dumps(settings))
        self.ready = self.actor.begin.remote()
        self.recipient = None
        self.calls = 0


def _actor():
    # Lost workers are replaced by the job: another one has another identity.
    return ray.remote(Worker).options(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")


@dataclass
class _Range:
    """A range of a long object."""

    long: Any
    number: int
    attempts: int = 0


class _Upload:
    """A long object that workers process in ranges."""

    def __init__(self, options, member, plain_bytes, target):
        self.item = member.item
        self.count = -(-plain_bytes // (options.range_chunks * CHUNK_BYTES))
        self.left = set(range(self.count))
        self.parts = []
        self.fault = None
        self._target = target
        if options.command == "encrypt":
            self._key, self._nonce, self._start = AgeKey(), os.urandom(NONCE_BYTES), 0
            self.prologue = self._key.wrap(list(options.recipients)) + self._nonce
            size = len(self.prologue) + sealed_bytes(plain_bytes)
        else:
            self._opened, self.prologue, size = member.opened, b"", plain_bytes
        self._command = options.command
        self.upload = target.begin(member.item.path, size, self.count, member.item.replaced)

    def sealed(self, recipient):
        if self._command == "encrypt":
            return Sealed(self._key.wrap([recipient]), self._nonce, 0)
        return self._opened.sealed(recipient)

    def abort(self):
        self._target.abort(self.upload)


class _Job:
    def __init__(self, options, source_url, target, manifest, planner, summary, lock, progress):
        self._options = options
        self._target = target
        self._manifest = manifest
        self._planner = planner
        self._summary = summary
        self._progress = progress
        self._settings = Settings(
            options.command,
            source_url,
            target.url,
            options.endpoint,
            options.recipients,
            options.digest,
            lock,
            options.range_chunks,
            target.job,
            umask(),
            getattr(target, "unconditional", ()),
        )
        self._thread = ThreadPoolExecutor(1)
        self._preparing = deque()
        self._units = deque()
        self._again = []
        self._ranges_again = []
        self._order = itertools.count()
        self._attempts = {}
        self._hands = []
        self._calls = {}
        self._uploads = set()
        #: Long objects that get their names.
        self._commits = ThreadPoolExecutor(_COMMITS)
        self._committing = {}
        self._is_listed = False
        self._losses = 0
        self._waiting_since = None
        self._stop = None
        self._counters = ()
        #: What the counters do not have yet. They need Ray.
        self._uncounted = {}

    def count(self):
        """Count what there is to do."""
        while (prepared := self._planner.next()) is not None:
            self._note(prepared, lambda fault: self._fail(fault))
            for unit in prepared.units:
                for member in [unit.member] if isinstance(unit, Long) else unit.members:
                    self._summary.done += 1
                    self._summary.bytes += member.item.entry.size

    def work(self, stack):
        """Do it. What has to be ended afterwards goes to the stack."""
        self._stack = stack
        try:
            self._loop()
            self._commits.shutdown(cancel_futures=True)
            self._take_commits()
        finally:
            self._thread.shutdown(cancel_futures=True)
            self._commits.shutdown(cancel_futures=True)
            # A worker that is killed in a call leaves its temporary files to the next job.
            if self._calls:
                with contextlib.suppress(Exception):
                    ray.wait(list(self._calls), num_returns=len(self._calls), timeout=_END_SECONDS)
            for upload in self._uploads:
                upload.abort()
            for hand in self._hands:
                with contextlib.suppress(Exception):
                    ray.kill(hand.actor)
        if self._stop is not None:
            raise JobError(f"stopped after {self._summary.done} objects: {self._stop}")

    def _start(self):
        """Start the workers. A job that has nothing for them needs no Ray."""
        _connect(self._options, self._stack)
        workers = self._options.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._summary.workers = workers
        self._counters = _counters()
        self._count_all()
        self._hands = [_Hand(self._settings) for _ in range(workers)]

    def _loop(self):
        while self._stop is None:
            self._take_commits()
            self._prepare()
            self._hand_out()
            left = (self._calls, self._units, self._preparing, self._again, self._ranges_again, self._committing)
            if self._is_listed and not any(left):
                return
            for reference in self._wait():
                self._answer(reference)
            self._note_waiting()
            # Nothing is heard of a Ray whose head has ended, until it ends this process after a minute.
            self._manifest.flush_if_due()
            if self._progress is not None:
                self._progress(self._summary)

    def _note_waiting(self):
        """Tell of workers that do not start."""
        if not self._hands or any(hand.recipient is not None for hand in self._hands):
            self._waiting_since = None
            return
        now = time.monotonic()
        self._waiting_since = self._waiting_since or now
        if now - self._waiting_since >= _WAITING_SECONDS and WAITING_NOTE not in self._summary.notes:
            self._summary.notes.append(WAITING_NOTE)

    def _wait(self):
        """Wait until there is something to do. Return the references of calls that have ended."""
        calls = [*self._calls, *(hand.ready for hand in self._hands if hand.recipient is None)]
        threads = [*self._preparing, *self._committing]
        if not calls:
            if threads:
                wait_for(threads, 0.02 if self._again or self._ranges_again else 0.5, FIRST_COMPLETED)
            else:
                # Objects wait for another attempt.
                time.sleep(0.02)
            return ()
        is_hungry = self._committing or (not self._units and (self._preparing or self._again or self._ranges_again))
        ready, _ = ray.wait(calls, num_returns=1, timeout=0.02 if is_hungry else 0.5)
        return ready

    def _prepare(self):
        """Keep some units of work ready."""
        now = time.monotonic()
        while self._ranges_again and self._ranges_again[0][0] <= now:
            self._units.appendleft(heapq.heappop(self._ranges_again)[2])
        while len(self._preparing) < 2 and len(self._units) < 4 * max(1, len(self._hands)):
            due = []
            while self._again and self._again[0][0] <= now and len(due) < 64:
                due.append(heapq.heappop(self._again)[2])
            if due:
                self._preparing.append(self._thread.submit(self._planner.again, due))
            elif not self._is_listed and len(self._again) < _AGAIN_MAX:
                self._preparing.append(self._thread.submit(self._planner.next))
            else:
                break
        while self._preparing and self._preparing[0].done():
            prepared = self._preparing.popleft().result()
            if prepared is None:
                self._is_listed = True
                continue
            self._note(prepared, self._missed)
            self._units.extend(prepared.units)

    def _note(self, prepared, missed):
        self._summary.unchanged += prepared.unchanged
        for skipped in prepared.skipped:
            self._summary.skipped += 1
            if len(self._summary.skips) < _FAILURES_SHOWN_MAX:
                self._summary.skips.append(tuple(skipped))
        for fault in prepared.faults:
            missed(fault)

    def _hand_out(self):
        while self._units and self._stop is None:
            if isinstance(self._units[0], Headers):
                self._replace_headers(self._units.popleft())
                continue
            if not self._hands:
                self._start()
            ready = [hand for hand in self._hands if hand.recipient is not None and hand.calls < _CALLS_PER_WORKER]
            if not ready:
                return
            hand = min(ready, key=lambda hand: hand.calls)
            unit = self._units.popleft()
            if isinstance(unit, Long):
                unit = self._begin(unit)
                if unit is None:
                    continue
            # Names are labels of Ray's metrics, so there are few.
            command = self._options.command
            if isinstance(unit, _Range):
                upload = unit.long
                if upload.fault is not None:
                    continue
                item = upload.item._replace(sealed=upload.sealed(hand.recipient))
                call = hand.actor.range.options(name=f"oarlock {command}: a range")
                reference = call.remote(item, upload.upload, unit.number, upload.prologue)
            else:
                items = [self._item(member, hand.recipient) for member in unit.members]
                call = hand.actor.objects.options(name=f"oarlock {command}: objects")
                unit.journal = os.urandom(8).hex() if self._target.announces and self._options.writes else None
                reference = call.remote(items, unit.journal)
            hand.calls += 1
            self._calls[reference] = (hand, unit)

    def _replace_headers(self, unit):
        items = [member.item for member in unit.members]
        try:
            results = headers.replace(self._target, items)
        except OSError as error:
            self._stop = f"a header could not be written: {error.strerror}. The next job finishes it"
            return
        for item, result in zip(items, results):
            if isinstance(result, Entry):
                self._done(Done(item.entry, result, None))
            else:
                kind = "changed" if isinstance(result, Changed) else "failed"
                self._missed(Fault(item.entry, getattr(result, "strerror", None) or str(result), kind))

    def _item(self, member, recipient):
        return member.item if member.opened is None else member.item._replace(sealed=member.opened.sealed(recipient))

    def _begin(self, unit):
        """Begin a long object, and return its first range. The others go to the front."""
        entry = unit.member.item.entry
        try:
            upload = _Upload(self._options, unit.member, unit.plain_bytes, self._target)
        except (Failed, FileError, ValueError) as error:
            self._missed(Fault(entry, str(error), "failed"))
            return None
        except Exception as error:
            self._missed(Fault(entry, f"{type(error).__name__}: {error}", "again"))
            return None
        self._uploads.add(upload)
        first, *others = (_Range(upload, number) for number in range(upload.count))
        self._units.extendleft(reversed(others))
        return first

    def _answer(self, reference):
        if reference not in self._calls:
            return self._begun(reference)
        hand, unit = self._calls.pop(reference)
        hand.calls -= 1
        try:
            answer = ray.get(reference)
        except ray.exceptions.RayError as error:
            self._lost(hand, error)
            return self._once_more(unit, "the worker that had it ended")
        self._losses = 0
        if isinstance(unit, _Range):
            return self._range_done(unit, answer)
        for result in answer:
            if isinstance(result, Done):
                self._done(result)
            else:
                self._missed(result)
        self._settle(unit, all(isinstance(result, Done) for result in answer))
        return None

    def _settle(self, unit, is_complete):
        """Have the journal of a group removed."""
        if unit.journal is None:
            return
        if is_complete:
            self._manifest.release(unit.journal)
            return
        # Objects that failed, or are not heard of, may have got their names. What cannot be read now, the next job reads.
        with contextlib.suppress(Exception):
            self._manifest.keep(unit.journal)

    def _begun(self, reference):
        hand = next(hand for hand in self._hands if hand.ready == reference)
        try:
            hand.recipient, _, fault = ray.get(reference)
        except ray.exceptions.RayError as error:
            return self._lost(hand, error)
        if fault is not None:
            self._stop = fault
        return None

    def _lost(self, hand, error):
        if hand not in self._hands:
            return
        self._hands.remove(hand)
        self._summary.workers_lost += 1
        self._losses += 1
        if self._losses > _LOSSES_MAX:
            self._stop = f"workers end again and again: {str(error).splitlines()[0]}"
            return
        with contextlib.suppress(Exception):
            ray.kill(hand.actor)
        self._hands.append(_Hand(self._settings))

    def _once_more(self, unit, reason):
        """Take a unit back whose worker was lost."""
        if isinstance(unit, _Range):
            return self._range_done(unit, Fault(unit.long.item.entry, reason, "again"))
        self._settle(unit, False)
        # One by one, in case that one of them ends workers.
        for member in unit.members:
            self._missed(Fault(member.item.entry, reason, "again"))
        return None

    def _range_done(self, unit, answer):
        upload = unit.long
        entry = upload.item.entry
        if isinstance(answer, Fault):
            unit.attempts += 1
            may_repeat = unit.attempts < _ATTEMPTS and is_repeatable(self._options.command, entry)
            if answer.kind == "again" and may_repeat and upload.fault is None:
                self._summary.retries += 1
                heapq.heappush(self._ranges_again, (_due(unit.attempts), next(self._order), unit))
                return
            if upload.fault is None:
                upload.fault = answer
                upload.abort()
                self._uploads.discard(upload)
                self._missed(answer)
            return
        if upload.fault is not None:
            return
        upload.left.discard(unit.number)
        upload.parts += answer or ()
        if upload.left:
            return
        # It takes as long as the disk, or the store, needs for all of the object.
        self._committing[self._commits.submit(self._commit, upload)] = upload

    def _commit(self, upload):
        """Give a long object its name. Return its version."""
        entry = upload.item.entry
        if self._target.announces:
            version = self._target.finish(upload.upload, entry.mode)
            self._manifest.add(entry, "written", output=output(version))
            self._manifest.flush()
        return self._target.commit(upload.upload, upload.parts, entry.mode)

    def _take_commits(self):
        for future in [future for future in self._committing if future.done()]:
            upload = self._committing.pop(future)
            self._uploads.discard(upload)
            entry = upload.item.entry
            try:
                committed = future.result()
            except Exception as error:
                # A store's library has exceptions of its own.
                upload.abort()
                self._missed(Fault(entry, str(error), "failed" if isinstance(error, Failed) else "again"))
            else:
                self._done(Done(entry, committed, None))

    def _done(self, done):
        self._attempts.pop(done.entry.path, None)
        self._summary.done += 1
        self._summary.bytes += done.entry.size
        self._counted("done", done.entry)
        if self._options.writes:
            more = {"output": output(done.output)}
            if done.sha256:
                more["sha256"] = done.sha256
            self._manifest.add(done.entry, "done", self._options.recipients, self._options.keep, **more)
        elif done.sha256:
            known = self._manifest.known(done.entry.path)
            if known and known["sha256"] and known["sha256"] != done.sha256:
                self._summary.done -= 1
                self._fail(Fault(done.entry, "its plaintext has not the SHA-256 of the manifest", "failed"))

    def _missed(self, fault):
        """Try an object again later, or give it up."""
        entry = fault.entry
        if fault.kind == "stop":
            self._stop = fault.reason
        attempts = self._attempts.get(entry.path, 0) + 1
        if fault.kind not in ("again", "changed", "unreachable") or attempts >= _ATTEMPTS:
            if fault.kind == "unreachable":
                self._stop = fault.reason
            self._attempts.pop(entry.path, None)
            self._fail(fault)
            return
        self._attempts[entry.path] = attempts
        self._summary.retries += 1
        self._counted("retried", entry)
        heapq.heappush(self._again, (_due(attempts), next(self._order), entry))

    def _counted(self, result, entry):
        objects, size = self._uncounted.get(result, (0, 0))
        self._uncounted[result] = (objects + 1, size + entry.size)
        if self._counters:
            self._count_all()

    def _count_all(self):
        for result, values in self._uncounted.items():
            for counter, value in zip(self._counters, values):
                if value > 0:
                    counter.inc(value, {"command": self._options.command, "result": result})
        self._uncounted.clear()

    def _fail(self, fault):
        self._summary.failed += 1
        self._counted("failed", fault.entry)
        if len(self._summary.failures) < _FAILURES_SHOWN_MAX:
            self._summary.failures.append((fault.entry.path, fault.reason))
        # The line of another program's object would make it this job's the next time.
        if self._options.writes and fault.kind != "foreign":
            self._manifest.add(fault.entry, "failed", reason=fault.reason[:1000])


def _due(attempts):
    """Return the time of another attempt."""
    return time.monotonic() + _DELAY_SECONDS * 2**attempts * random.uniform(0.5, 1)


def _counters():
    """Return the counters of Ray's page of metrics: objects and bytes."""
    keys = ("command", "result")
    return (
        Counter("oarlock_fleet_objects", "Objects that were processed.", keys),
        Counter("oarlock_fleet_bytes", "Bytes of these objects in the source.", keys),
    )
