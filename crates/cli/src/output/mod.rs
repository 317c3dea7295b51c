//! Outputs. A file gets its name when it is complete. Until then it is a temporary file in the same folder, which is removed
//! if anything goes wrong.

pub(crate) mod apart;
mod rights;
mod shown;

use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, OFlags, accessat};
use rustix::io::Errno;

use crate::failure::{Failure, note, reason};
use crate::folder::{Place, Temporary, is_for_folder, kind};
use crate::stdout;
pub(crate) use apart::Needed;
pub(crate) use rights::Rights;
use shown::Shown;

/// The destination that `-o` names, examined but not touched.
pub(crate) enum Target {
    /// Standard output, or a device, pipe or the like, open for writing.
    Direct { file: File, name: String },
    /// Standard output that is a terminal and was not named with `-o -`.
    Terminal { file: File },
    /// A regular file, existing or not.
    Named {
        /// The place, after all symbolic links.
        place: Place,
        /// The name as it was given, for messages.
        name: String,
        wanted: Wanted,
    },
}

/// The rights that an output gets.
pub(crate) enum Wanted {
    /// The rights of any new file that is created with this mode.
    OfNew(u32),
    /// The rights that the file to replace had at the start.
    OfReplaced(Rights),
    /// Exactly these rights.
    Exactly(Rights),
}

/// An open output.
pub(crate) struct Output {
    sink: Sink,
    pub(crate) name: String,
    /// Whether this is a regular file written at explicit offsets, so that several threads may write at once.
    pub(crate) is_positional: bool,
    /// Whether this is a file, whose writes never wait for a reader.
    pub(crate) is_regular: bool,
}

enum Sink {
    Direct(File),
    Shown(Shown),
    Temporary {
        file: Temporary,
        place: Place,
        naming: Naming,
        wanted: Wanted,
    },
}

/// The treatment of a file that has the output's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// The output replaces it.
    Replace,
    /// It stays and the output is dropped, since it appeared after the command began.
    New,
}

impl Target {
    /// Examines `path`; `None` and `-` are standard output.
    pub(crate) fn find(path: Option<&Path>) -> Result<Self, Failure> {
        let given = path;
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            stdout::check_open()?;
            let name = "standard output".to_string();
            let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
            let file = file.map_err(|error| Failure::new(format!("{name}: {}", reason(&error))))?;
            return Ok(match given {
                None if file.is_terminal() => Self::Terminal { file },
                _ => Self::Direct { file, name },
            });
        };
        let name = path.display().to_string();
        let fail = |error: io::Error| Failure::new(format!("{name}: {}", reason(&error)));
        let open = || fs::OpenOptions::new().write(true).open(path).map_err(fail);
        let Some(resolved) = resolve(path).map_err(fail)? else {
            let file = open()?;
            return Ok(Self::Direct { file, name });
        };
        match fs::metadata(&resolved) {
            Ok(metadata) if metadata.is_dir() => Err(Failure::new(format!(
                "{name}: is a directory: give the name of a file in it"
            ))),
            Ok(metadata) if metadata.is_file() => {
                let place = Place::of(&resolved).map_err(fail)?;
                Self::existing(place, name)
            }
            Ok(_) => {
                let file = open()?;
                Ok(Self::Direct { file, name })
            }
            // A rename would fail, but only after all the work is done.
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_for_folder(&resolved) => {
                Err(Failure::new(format!(
                    "{name}: not a directory: give the name of a file"
                )))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Named {
                place: Place::of(&resolved).map_err(fail)?,
                name,
                wanted: Wanted::OfNew(0o666),
            }),
            Err(error) => Err(fail(error)),
        }
    }

    /// Examines `place`, a name that the command chose. A link or a pipe there is an error, since somebody else made it.
    pub(crate) fn at(place: Place) -> Result<Self, Failure> {
        let name = place.path().display().to_string();
        match place.look() {
            Ok(found) if kind(&found).is_file() => Self::existing(place, name),
            Ok(found) => Err(Failure::new(match kind(&found).is_symlink() {
                true => format!("{name}: is a symbolic link: give its target with -o"),
                false => {
                    format!("{name}: exists and is not a regular file: give another name with -o")
                }
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Named {
                place,
                name,
                wanted: Wanted::OfNew(0o666),
            }),
            Err(error) => Err(Failure::new(format!("{name}: {}", reason(&error)))),
        }
    }

    fn existing(place: Place, name: String) -> Result<Self, Failure> {
        let fail = |error: io::Error| Failure::new(format!("{name}: {}", reason(&error)));
        // The directory's rights would allow a replacement, but a file that may not be written must not be replaced.
        let (folder, flags) = (&place.folder, AtFlags::empty());
        accessat(folder, &place.name, Access::WRITE_OK, flags)
            .map_err(|error| fail(error.into()))?;
        let wanted = match Rights::at(&place).map_err(fail)? {
            Some(rights) => Wanted::OfReplaced(rights),
            None => Wanted::OfNew(0o666),
        };
        Ok(Self::Named {
            place,
            name,
            wanted,
        })
    }

    /// Whether nothing needs to be cleaned up when the command ends early.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self, Self::Direct { .. } | Self::Terminal { .. })
    }

    /// Fails if ciphertext would go to a terminal.
    pub(crate) fn check_takes_ciphertext(&self) -> Result<(), Failure> {
        match self {
            Self::Terminal { .. } => Err(Failure::usage(
                "standard output is a terminal, and encrypted data are not text: \
                 name a file with -o, or show them all the same with -o -",
            )),
            _ => Ok(()),
        }
    }

    /// Gives the output the rights of `input`, even if it replaces another file.
    pub(crate) fn set_rights_of(&mut self, input: &File) -> Result<(), Failure> {
        if let Self::Named { wanted, name, .. } = self {
            let rights = Rights::of(input);
            let rights = rights.map_err(|error| not_kept(name, "mode", &error))?;
            *wanted = Wanted::Exactly(rights);
        }
        Ok(())
    }

    /// Gives the output the mode of `input` if it is a new file.
    pub(crate) fn set_mode_of(&mut self, input: &File) {
        if let (Self::Named { wanted, .. }, Ok(input)) = (self, input.metadata())
            && let Wanted::OfNew(mode) = wanted
            && input.is_file()
        {
            *mode = input.mode() & 0o777;
        }
    }

    /// Opens the output. From here on a signal must not end the process without a `drop`.
    pub(crate) fn open(self, naming: Naming) -> Result<Output, Failure> {
        match self {
            Self::Direct { file, name } => {
                let metadata = file
                    .metadata()
                    .map_err(|error| Failure::new(format!("{name}: {}", reason(&error))))?;
                let appends =
                    rustix::fs::fcntl_getfl(&file).is_ok_and(|f| f.contains(OFlags::APPEND));
                Ok(Output {
                    is_regular: metadata.is_file(),
                    is_positional: metadata.is_file() && !appends,
                    sink: Sink::Direct(file),
                    name,
                })
            }
            Self::Terminal { file } => {
                let name = "standard output".to_string();
                let shown = Shown::new(file);
                let shown =
                    shown.map_err(|error| Failure::new(format!("{name}: {}", reason(&error))))?;
                Ok(Output {
                    is_regular: true,
                    is_positional: true,
                    sink: Sink::Shown(shown),
                    name,
                })
            }
            Self::Named {
                place,
                name,
                wanted,
            } => {
                // A new file gets the rights that the folder and the umask give at once. Any other is this user's alone
                // until it is complete.
                let mode = match wanted {
                    Wanted::OfNew(mode) => mode,
                    Wanted::OfReplaced(_) | Wanted::Exactly(_) => 0o600,
                };
                let file = place.folder.temporary(mode).map_err(|error| {
                    Failure::new(format!(
                        "{name}: cannot make a temporary file in {}: {}",
                        place.folder.path().display(),
                        reason(&error)
                    ))
                })?;
                Ok(Output {
                    sink: Sink::Temporary {
                        file,
                        place,
                        naming,
                        wanted,
                    },
                    name,
                    is_positional: true,
                    is_regular: true,
                })
            }
        }
    }
}

impl Output {
    pub(crate) fn file(&self) -> &File {
        match &self.sink {
            Sink::Direct(file) => file,
            Sink::Shown(shown) => shown.file(),
            Sink::Temporary { file, .. } => file.file(),
        }
    }

    /// Whether writes are visible at once, and stay if anything goes wrong.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.sink, Sink::Direct(_))
    }

    /// Returns why it accepts no more data, though nothing has failed.
    pub(crate) fn is_full(&self) -> Option<Failure> {
        match &self.sink {
            Sink::Shown(shown) => shown.is_overfull().then(shown::too_long),
            _ => None,
        }
    }

    /// Fails if every write would lengthen `input`.
    pub(crate) fn check_apart_from(&self, input: &File) -> Result<(), Failure> {
        if self.is_regular && !self.is_positional && self.is_file(input) {
            return Err(Failure::usage(format!(
                "{}: would be appended to its own INPUT without end: write to another file",
                self.name
            )));
        }
        Ok(())
    }

    /// Whether it is the file `input`, which is written in place then.
    pub(crate) fn is_file(&self, input: &File) -> bool {
        match (self.file().metadata(), input.metadata()) {
            (Ok(one), Ok(other)) => is_same(&one, &other),
            _ => false,
        }
    }

    /// Whether it was empty at the start.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.sink, Sink::Temporary { .. })
    }

    /// Returns the size of a regular file, in bytes.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let metadata = self.file().metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Copies the extended attributes and times of `input`.
    pub(crate) fn preserve(&self, input: &File) -> Result<(), Failure> {
        let file = self.file();
        copy_attributes(input, file)
            .map_err(|error| not_kept(&self.name, "extended attributes", &error))?;
        let times = input.metadata().and_then(|metadata| {
            let times = fs::FileTimes::new().set_accessed(metadata.accessed()?);
            Ok(times.set_modified(metadata.modified()?))
        });
        times
            .and_then(|times| file.set_times(times))
            .map_err(|error| not_kept(&self.name, "times", &error))
    }

    /// Gives the file its rights and its name. With `durable`, the data are on disk before that, and the name is on disk
    /// afterwards.
    pub(crate) fn commit(self, durable: bool) -> Result<(), Failure> {
        let fail = |what: &str, error: &io::Error| {
            Failure::new(format!("{}: {what}: {}", self.name, reason(error)))
        };
        if let Sink::Temporary {
            file,
            place,
            wanted,
            naming,
        } = &self.sink
        {
            let now = match naming {
                Naming::Replace => Rights::at(place),
                Naming::New => Ok(None),
            };
            let now = now.map_err(|error| fail("its mode cannot be kept", &error))?;
            let rights = match (wanted, &now) {
                (Wanted::Exactly(rights), _) => Some(rights),
                // Its rights may have been narrowed since the command began.
                (_, Some(now)) => Some(now),
                (Wanted::OfReplaced(rights), None) => Some(rights),
                (Wanted::OfNew(_), None) => None,
            };
            let granted = rights.map_or(Ok(true), |rights| rights.grant(file.file()));
            if !granted.map_err(|error| fail("its mode cannot be kept", &error))? {
                note(&format!(
                    "warning: {}: its owner, group or ACL cannot be kept: fewer users may use it",
                    self.name
                ));
            }
        }
        if durable && self.is_regular {
            let synced = self.file().sync_all();
            synced.map_err(|error| fail("cannot be flushed to the disk", &error))?;
        }
        let (file, place, naming) = match self.sink {
            Sink::Direct(_) => return Ok(()),
            Sink::Shown(shown) => return shown.show(),
            Sink::Temporary {
                file,
                place,
                naming,
                ..
            } => (file, place, naming),
        };
        let Place { folder, name } = &place;
        match naming {
            Naming::Replace => file.replace(name),
            Naming::New => file.name_new(name),
        }
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => fail(
                "was created by another program in the meantime, and is left alone",
                &error,
            ),
            _ => fail("cannot be renamed into place", &error),
        })?;
        if durable {
            folder
                .sync()
                .map_err(|error| fail("its name cannot be flushed to the disk", &error))?;
        }
        Ok(())
    }

    /// Returns the failure of a write after `bytes` bytes.
    pub(crate) fn failed(&self, bytes: u64, error: &io::Error) -> Failure {
        let advice = match error.kind() {
            io::ErrorKind::StorageFull => ": free some space or write elsewhere",
            io::ErrorKind::BrokenPipe => ": the reader has gone",
            _ => "",
        };
        Failure::new(format!(
            "{}: {} at byte {bytes}{advice}",
            self.name,
            reason(error)
        ))
    }
}

fn not_kept(name: &str, what: &str, error: &io::Error) -> Failure {
    let reason = reason(error);
    Failure::new(format!("{name}: its {what} cannot be kept: {reason}"))
}

/// Copies the attributes that users give to their files (`user.*`). The system owns all others: a capability was given to
/// other content, and an ACL belongs to the [`Rights`].
fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let mut names = vec![0; ATTRIBUTE_BYTES_MAX];
    let names = match flistxattr(from, &mut names[..]) {
        Ok(bytes) => &names[..bytes],
        // The file system has no attributes.
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for name in names
        .split(|&byte| byte == 0)
        .filter(|name| name.starts_with(b"user."))
    {
        let mut value = vec![0; ATTRIBUTE_BYTES_MAX];
        let bytes = fgetxattr(from, name, &mut value[..])?;
        fsetxattr(to, name, &value[..bytes], XattrFlags::empty())?;
    }
    Ok(())
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Whether `path` names an open file, as /dev/stdin does, so that no other file can be next to it.
pub(crate) fn is_open_file(path: &Path) -> bool {
    matches!(resolve(path), Ok(None))
}

/// Follows symbolic links, even to a name that does not exist. Returns `None` for links that do not lead to names, such as
/// /dev/stdout.
fn resolve(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let parent = path.parent().unwrap_or(Path::new("")).to_path_buf();
                let folder = match parent.as_os_str().is_empty() {
                    true => Path::new("."),
                    false => &parent,
                };
                if fs::canonicalize(folder)?.starts_with("/proc") {
                    return Ok(None);
                }
                if is_trap(&metadata, &fs::metadata(folder)?) {
                    return Err(Errno::ACCESS.into());
                }
                path = parent.join(fs::read_link(&path)?);
            }
            _ => return Ok(Some(path)),
        }
    }
    Err(Errno::LOOP.into())
}

/// Whether somebody else may have put the link into a folder where everybody may create files. Linux does not follow such a
/// link either (fs.protected_symlinks in proc_sys_fs(5)).
fn is_trap(link: &Metadata, folder: &Metadata) -> bool {
    let is_everybodys = folder.mode() & 0o1002 == 0o1002;
    let owners = [folder.uid(), rustix::process::geteuid().as_raw()];
    is_everybodys && !owners.contains(&link.uid())
}

const LINKS_MAX: usize = 40;
/// The most bytes of all attribute names of a file, and of one value (xattr(7)).
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;
