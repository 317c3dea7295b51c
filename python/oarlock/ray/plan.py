"""What a job has to do: from the objects of the source to units of work for a worker."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from .._oarlock import FileError, ServerError
from .keys import Opened, digest, open_header
from .lines import output, recipients_name
from .local import LocalStore
from .names import FoldedNames
from .objects import (
    ANYTHING,
    CHUNK_BYTES,
    NONCE_BYTES,
    SUFFIX,
    VANISHED,
    Changed,
    Entry,
    Failed,
    Foreign,
    JobError,
    Replaced,
    Skipped,
    Unlisted,
    output_of,
    plain_bytes,
)
from .stores import parallel
from .worker import Fault, Item

_BATCH_OBJECTS = 256
#: New headers of a batch. One has at most 1 MiB.
_HEADERS_BYTES = 4 << 20
#: What one call of a worker gets at most: enough to hide the 1 ms of the call, little enough to share the work evenly.
_GROUP_OBJECTS = 256
_GROUP_BYTES = 8 << 20
_COPIES_OBJECTS = 32
#: Calls of another party at a time that unwraps file keys.
_ASKED_TOGETHER = 16


def source_of(command, path):
    """Return the path in the source of what a command writes to a path."""
    return {"encrypt": path.removesuffix(SUFFIX), "decrypt": path + SUFFIX}.get(command, path)


class Member(NamedTuple):
    """An object to process, before it is known by which worker."""

    item: Item
    opened: Opened | None


@dataclass
class Group:
    """Whole objects for one call."""

    members: list[Member]
    #: The name of the journal of their outputs.
    journal: str | None = None


class Long(NamedTuple):
    """An object whose ranges are for different workers."""

    member: Member
    plain_bytes: int


class Headers(NamedTuple):
    """Files whose headers the driver replaces where they are."""

    members: list[Member]


class Prepared(NamedTuple):
    units: list[Group | Long | Headers]
    #: Objects that need no work, and those that cannot be processed.
    unchanged: int
    skipped: list[Skipped]
    faults: list[Fault]


class Planner:
    """Lists the source, leaves out what is done, and opens headers. One thread at a time uses it."""

    def __init__(self, options, source, target, manifest, unwrapper):
        self._options = options
        self._source = source
        self._target = target
        self._manifest = manifest
        self._unwrapper = unwrapper
        self._listed = source.list()
        self._is_fresh = target.is_empty()
        # What is rotated in place has the names that it has.
        self._names = FoldedNames() if target.folds_case() and not options.in_place else None
        self._count = parallel(source, target, _ASKED_TOGETHER if options.unwrap or options.server else 1)
        self._threads = ThreadPoolExecutor(self._count) if self._count > 1 else None
        #: What is listed and not prepared yet.
        self._found = deque()
        self._recipients = recipients_name(options.recipients, options.keep) if options.recipients else None

    def next(self):
        """Return the next objects, or None at the end of the source."""
        if not self._found:
            self._found.extend(self._claimed(one) for one in islice(self._listed, _BATCH_OBJECTS))
        return self._prepare(self._found, _HEADERS_BYTES) if self._found else None

    def again(self, entries):
        """Return objects that failed, as what they are now."""
        listed, faults = [], []
        for entry in entries:
            try:
                now = self._source.stat(entry.path)
            except JobError:
                raise
            except Exception as error:
                # A store's library has exceptions of its own.
                faults.append(Fault(entry, f"{type(error).__name__}: {error}", "again"))
                continue
            if now is None:
                faults.append(Fault(entry, VANISHED, "failed"))
            elif now.size < 0:
                faults.append(Fault(entry, "it is no longer a regular file", "failed"))
            else:
                listed.append(now)
        more = self._prepare(deque(map(self._claimed, listed)), is_again=True)
        return more._replace(faults=faults + more.faults)

    def close(self):
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        if self._names is not None:
            self._names.close()

    def _prepare(self, found, headers_bytes=None, is_again=False):
        """Prepare objects, taken from the front until there are so many bytes of new headers."""
        prepared = Prepared([], 0, [], [])
        unchanged, members, held = 0, [], 0

        def is_over():
            return not found or (headers_bytes is not None and held >= headers_bytes)

        for result in self._map(lambda one: self._guarded(one, is_again), found, is_over):
            if isinstance(result, Skipped):
                prepared.skipped.append(result)
            elif isinstance(result, Fault):
                prepared.faults.append(result)
            elif result is None:
                unchanged += 1
            else:
                members.append(result)
                held += len(result.item.header or b"")
        if self._options.writes:
            for member in members:
                more = {} if member.item.header is None else {"header": digest(member.item.header)}
                self._manifest.add(member.item.entry, "begun", self._options.recipients, self._options.keep, **more)
            # Before the first of them can be there. A job that is killed knows its own objects by this.
            self._manifest.flush()
        self._share(members, prepared.units)
        return prepared._replace(unchanged=unchanged)

    def _claimed(self, found):
        """Return an entry, or a fault if the destination takes its name for that of another one."""
        if self._names is None or not isinstance(found, Entry):
            return found
        path = self._output_path(found)
        other = None if isinstance(path, Skipped) else self._names.claim(found.path)
        if other is None:
            return found
        reason = f"the destination takes its name for that of {other!r}: it does not tell upper and lower case apart"
        # The output is the other one's, so that no manifest may say that it belongs to this one.
        return Fault(found, reason, "foreign")

    def _map(self, function, items, is_over):
        """Yield a function's results for items, which are taken from the front until it is over."""
        calls = deque()
        while calls or not is_over():
            while self._threads is not None and len(calls) < self._count and not is_over():
                calls.append(self._threads.submit(function, items.popleft()))
            yield calls.popleft().result() if calls else function(items.popleft())

    def _guarded(self, found, is_again):
        if isinstance(found, (Skipped, Fault)):
            return found
        if isinstance(found, Unlisted):
            return Fault(Entry(found.path, 0, ""), found.reason, "failed")
        try:
            return self._member(found, is_again)
        except Changed as error:
            return Fault(found, str(error), "changed")
        except Foreign as error:
            return Fault(found, str(error), "foreign")
        except (Failed, FileError, ValueError) as error:
            return Fault(found, str(error), "failed")
        except JobError:
            raise
        except ServerError as error:
            return Fault(found, str(error), "unreachable" if error.code == "UNAVAILABLE" else "again")
        except Exception as error:
            return Fault(found, f"{type(error).__name__}: {error}", "again")

    def _member(self, entry, is_again):
        command = self._options.command
        path = self._output_path(entry)
        if isinstance(path, Skipped):
            return path
        known = self._manifest.known(entry.path)
        if command == "verify":
            return self._to_verify(entry, path, known)
        # The first attempt may have written what was not there before.
        present = None if self._is_fresh and not is_again else self._target.stat(path)
        replaced = ANYTHING if self._options.overwrite else None
        if present is not None:
            if self._is_done(entry, known, present):
                return None
            if not self._options.overwrite and not self._options.in_place:
                if not self._is_ours(path, present, is_again):
                    raise Foreign(
                        "the destination has it in a version that no earlier job from this source has written: "
                        "--overwrite replaces it"
                    )
                replaced = Replaced(present)
        if command == "encrypt":
            if entry.size > self._options.range_chunks * CHUNK_BYTES:
                # Its ranges are read at different times.
                entry = self._source.pinned(entry)
            return Member(Item(entry, path, replaced=replaced), None)
        # A job that was killed after it had given the object a new header knows that one.
        done = known["header"] if known and self._options.in_place and known["recipients"] == self._recipients else None
        opened, old = open_header(self._source, entry, self._unwrapper, done)
        if opened is None:
            # Its version has no line yet, by which the jobs that encrypt know it.
            before = entry._replace(size=known["size"], etag=known["etag"])
            self._manifest.add(before, "done", self._options.recipients, self._options.keep, output=output(entry))
            return None
        if command == "decrypt":
            return Member(Item(entry, path, replaced=replaced), opened)
        # The whole header is for recipients only, so it may pass through Ray.
        header = opened.key.wrap(list(self._options.recipients), old, self._options.keep)
        item = Item(entry, path, header=header, header_bytes=opened.header_bytes, replaced=replaced)
        return Member(item, None)

    def _is_ours(self, path, present, is_again):
        if self._manifest.owns(path, present):
            return True
        if not is_again:
            return False
        # A worker of this job may have written it, and not have told.
        self._manifest.refresh()
        return self._manifest.owns(path, present)

    def _output_path(self, entry):
        command, path = self._options.command, entry.path
        if command in ("encrypt", "verify"):
            return path + SUFFIX
        if not path.endswith(SUFFIX) or path.split("/")[-1] == SUFFIX:
            return Skipped(path, f"its name does not end with {SUFFIX}")
        return output_of(command, path)

    def _is_done(self, entry, known, present):
        if known is None or known["state"] != "done" or not self._manifest.is_for(known, self._recipients):
            return False
        if self._options.digest and not known["sha256"]:
            return False
        output = known["output"]
        if (output["size"], output["etag"]) != (present.size, present.etag):
            return False
        # What was rotated in place is its own source.
        return self._options.in_place or (known["size"], known["etag"]) == (entry.size, entry.etag)

    def _to_verify(self, entry, path, known):
        output = self._target.stat(path)
        if output is None:
            raise Failed("the destination does not have it")
        if known is not None and known["state"] == "done":
            if (known["size"], known["etag"]) != (entry.size, entry.etag):
                raise Failed("its source has changed since it was encrypted")
            if (known["output"]["size"], known["output"]["etag"]) != (output.size, output.etag):
                raise Failed("the destination has another version than the job wrote")
        if self._unwrapper is None:
            if known is None or known["state"] != "done":
                raise Failed("no job has finished it: only an identity (-i) can compare it")
            return None
        opened, _ = open_header(self._target, output, self._unwrapper)
        return Member(Item(entry, path, output=output), opened)

    def _share(self, members, units):
        """Put objects into units."""
        is_copy = self._options.command == "rotate"
        if self._options.in_place and isinstance(self._target, LocalStore):
            # A header of another length moves the payload, into a new file.
            same = [member for member in members if len(member.item.header) == member.item.header_bytes]
            if same:
                units.append(Headers(same))
            members = [member for member in members if len(member.item.header) != member.item.header_bytes]
        group, size = [], 0
        for member in members:
            entry = member.item.entry
            length = entry.size
            if not self._options.digest and self._target.has_ranges and self._options.command in ("encrypt", "decrypt"):
                if member.opened is not None:
                    try:
                        length = plain_bytes(entry.size - member.opened.header_bytes - NONCE_BYTES)
                    except Failed:
                        length = 0  # The worker says so.
                if length > self._options.range_chunks * CHUNK_BYTES:
                    units.append(Long(member, length))
                    continue
            is_full = len(group) >= _COPIES_OBJECTS if is_copy else size + length > _GROUP_BYTES
            if group and (is_full or len(group) >= _GROUP_OBJECTS):
                units.append(Group(group))
                group, size = [], 0
            group.append(member)
            size += length
        if group:
            units.append(Group(group))
