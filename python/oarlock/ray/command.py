"""The command `oarlock fleet`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from typing import Any

from .._oarlock import Cryptoserver, ServerError
from .objects import JobError, shown

_ABOUT = {
    "encrypt": "encrypt every object of SRC to an age file in DST",
    "decrypt": "decrypt every age file of SRC to DST",
    "rotate": "give every age file of SRC other recipients, without touching its payload",
    "verify": "compare the objects of SRC with what `encrypt` made of them in DST",
}

#: How public keys of SSH begin, and those that age files can be encrypted to.
_SSH_KINDS = ("ssh-", "ecdsa-", "sk-")
_SSH_USABLE = ("ssh-ed25519 ", "ssh-rsa ")
_KIND_SHOWN_MAX = 50
_WRITING = ("encrypt", "decrypt", "rotate")
_LIST = {"action": "append", "default": []}
_FLAG = {"action": "store_true"}


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


_ARGUMENTS: list[Any] = [
    (("source",), {"metavar": "SRC", "help": "a folder, s3://BUCKET/PREFIX, or sftp://HOST/FOLDER"}),
    (("target",), {"metavar": "DST", "help": "another one"}),
    (
        ("-r", "--recipient"),
        {**_LIST, "of": ("encrypt", "rotate"), "metavar": "RECIPIENT", "help": "age1..., age1pq1..., ssh-ed25519 ..."},
    ),
    (
        ("-R", "--recipients-file"),
        {**_LIST, "of": ("encrypt", "rotate"), "metavar": "FILE", "help": "a file with a recipient in each line"},
    ),
    (
        ("-i", "--identity"),
        {**_LIST, "of": ("decrypt", "rotate", "verify"), "metavar": "FILE", "help": "an identity file, for this process alone"},
    ),
    (
        ("--remote",),
        {"of": ("decrypt", "rotate", "verify"), "metavar": "HOST:PORT", "help": "a cryptoserver with the identity"},
    ),
    (("--key",), {"of": ("decrypt", "rotate", "verify"), "metavar": "NAME", "help": "the name of the identity there"}),
    (
        ("--pki",),
        {"of": ("decrypt", "rotate", "verify"), "metavar": "DIR", "help": "a folder with ca.pem and the client's files"},
    ),
    (
        ("--client",),
        {"of": ("decrypt", "rotate", "verify"), "metavar": "NAME", "default": "client", "help": "DIR/NAME.pem, DIR/NAME.key"},
    ),
    (("--keep",), {**_FLAG, "of": ("rotate",), "help": "add the recipients to those that the files have"}),
    (("--digest",), {**_FLAG, "of": ("encrypt", "decrypt"), "help": "record the SHA-256 of the plaintext in the manifest"}),
    (("--overwrite",), {**_FLAG, "of": _WRITING, "help": "replace objects of DST that no job from SRC has written"}),
    (("--break-lock",), {**_FLAG, "of": _WRITING, "help": "in a bucket, take over the lock of a job that has ended"}),
    (("--dry-run",), {**_FLAG, "of": _WRITING, "help": "count what is to be done"}),
    (("--manifest",), {"metavar": "PATH", "help": "a file in place of the manifests in DST"}),
    (("--endpoint",), {"metavar": "URL", "help": "the endpoint of a store with S3's interface"}),
    (
        ("--workers",),
        {"type": _positive, "metavar": "N", "help": "workers of one CPU each; by default as many as the cluster has CPUs"},
    ),
    (("--json",), {**_FLAG, "help": "print the summary as JSON"}),
]


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="oarlock fleet",
        description="age files of whole folders and buckets, by the machines of a Ray cluster",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="encrypt|decrypt|rotate|verify")
    for name, about in _ABOUT.items():
        command = commands.add_parser(name, help=about, description=about)
        for names, options in _ARGUMENTS:
            options = dict(options)
            if name in options.pop("of", _ABOUT):
                command.add_argument(*names, **options)
        where = command.add_mutually_exclusive_group()
        where.add_argument("--address", help="a running Ray cluster; `auto` for that of this machine")
        where.add_argument("--local", type=_positive, metavar="N", help="start Ray on this machine, with N workers")
    return parser


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    is_dry = getattr(given, "dry_run", False)
    try:
        from .job import Options, run
    except ModuleNotFoundError as error:
        return _refused(f"{error.name} is not installed: install the wheel of oarlock with the extra [ray]")
    try:
        recipients = [*getattr(given, "recipient", ())]
        for path in getattr(given, "recipients_file", ()):
            recipients += _recipients_of(path)
        if given.command == "encrypt" and not recipients:
            return _refused("encrypt needs a recipient: -r RECIPIENT or -R FILE")
        if given.command == "rotate" and not recipients:
            return _refused("rotate needs the new recipients: -r RECIPIENT or -R FILE")
        options = Options(
            given.command,
            given.source,
            given.target,
            recipients=tuple(recipients),
            identities=tuple(getattr(given, "identity", ())),
            server=_server(given),
            keep=getattr(given, "keep", False),
            digest=getattr(given, "digest", False),
            overwrite=getattr(given, "overwrite", False),
            break_lock=getattr(given, "break_lock", False),
            dry_run=is_dry,
            manifest=given.manifest,
            endpoint=given.endpoint,
            workers=given.workers or given.local,
            local=given.local,
            address=given.address if given.address or given.local else os.environ.get("RAY_ADDRESS"),
        )
        # Standard output is for the summary: Ray prints messages there.
        with contextlib.redirect_stdout(sys.stderr), _Progress(not given.json and not is_dry) as progress:
            summary = run(options, progress.show)
    except (JobError, OSError) as error:
        return _refused(str(error))
    except KeyboardInterrupt:
        print("oarlock fleet: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130
    except Exception as error:
        # Of a store's library: each has exceptions of its own.
        return _refused(f"{type(error).__name__}: {error}")
    if given.json:
        print(json.dumps({key: value for key, value in vars(summary).items()}))
    else:
        _print(summary, is_dry, progress.told)
    return 0 if summary.is_complete else 1


def _print(summary, is_dry, told):
    for path, reason in summary.skips:
        print(f"skipped {shown(path)}: {reason}", file=sys.stderr)
    for path, reason in summary.failures:
        print(f"failed {shown(path)}: {shown(reason)}", file=sys.stderr)
    for note in summary.notes[told:]:
        print(f"note: {note}", file=sys.stderr)
    rate = summary.bytes / summary.seconds / 1e6 if summary.seconds else 0
    counts = f"{summary.unchanged} unchanged, {summary.skipped} skipped, {summary.failed} failed"
    if is_dry:
        print(f"{summary.command}: {summary.done} objects to do ({summary.bytes} bytes), {counts}")
    else:
        print(f"{summary.command}: {summary.done} objects ({summary.bytes} bytes, {rate:.0f} MB/s), {counts}")


class _Progress:
    """Notes on standard error, and a bar if that is a terminal."""

    def __init__(self, is_wanted):
        self._bar = None
        #: How many notes it has printed.
        self.told = 0
        if is_wanted and sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ModuleNotFoundError:
                return
            self._bar = tqdm(unit="B", unit_scale=True, leave=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()

    def show(self, summary):
        for note in summary.notes[self.told :]:
            if self._bar is not None:
                self._bar.clear()
            print(f"note: {note}", file=sys.stderr)
        self.told = len(summary.notes)
        if self._bar is not None:
            self._bar.set_postfix_str(f"{summary.done} objects, {summary.failed} failed", refresh=False)
            self._bar.update(summary.bytes - self._bar.n)


def _server(given):
    """Return the identity of a cryptoserver that the arguments name, or None."""
    named = {name: getattr(given, name, None) for name in ("remote", "key", "pki")}
    if not any(named.values()):
        return None
    missing = [f"--{name}" for name, value in named.items() if not value]
    if missing:
        raise JobError(f"an identity on a cryptoserver needs --remote, --key and --pki: there is no {missing[0]}")
    if given.identity:
        raise JobError("-i and --remote name two places of the identity: give one")
    path = os.path.join(given.pki, given.client)
    try:
        server = Cryptoserver(given.remote, ca=os.path.join(given.pki, "ca.pem"), certificate=f"{path}.pem", key=f"{path}.key")
    except (ServerError, ValueError) as error:
        raise JobError(str(error)) from None
    return server.identity(given.key)


def _recipients_of(path):
    """Return the recipients in a file. As in age, SSH keys that nobody can encrypt to do not prevent the use of the others."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file.read(1 << 20).splitlines()]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise JobError(f"cannot read the recipients file {path}: {reason}") from None
    recipients, unusable = [], []
    for number, line in enumerate(lines, 1):
        if line.startswith(_SSH_KINDS) and not line.startswith(_SSH_USABLE):
            kind = line.split()[0][:_KIND_SHOWN_MAX]
            unusable.append(f"{path}: line {number}: unsupported SSH key: of the type {kind}: use ssh-ed25519 or ssh-rsa")
        elif line and not line.startswith("#"):
            recipients.append(line)
    if unusable and not recipients:
        raise JobError(unusable[0])
    for reason in unusable:
        print(f"oarlock fleet: warning: {shown(reason)}: not encrypted to this key", file=sys.stderr)
    return recipients


def _refused(reason):
    print(f"oarlock fleet: {shown(reason)}", file=sys.stderr)
    return 2
