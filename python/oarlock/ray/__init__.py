"""age files of whole folders and buckets, by the machines of a Ray cluster: the wheel with the extra ``ray``.

``oarlock fleet`` is the command for it; docs/fleet.md of the project is the guide.
"""

from .objects import JobError

__all__ = ["JobError", "Options", "Summary", "run"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .job import Options, Summary, run


def __getattr__(name):
    # The command has to say what is missing where Ray is.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import job

    return getattr(job, name)
