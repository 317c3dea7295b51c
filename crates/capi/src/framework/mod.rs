//! Requests that run on whichever device finishes them first, and devices that the program provides.

mod keys;

use std::ffi::{OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use oarlock::device::{DeviceError, LibraryDevice};
use oarlock::framework::{
    Answer, Blocking, Buffers, ChainOrder, Check, Framework, FrameworkSession, HashAlgorithm, Iv,
    IvBytes, Layout, Request, SessionSpec,
};
use oarlock::{Accelerator, Algorithm, Direction, Kind};
use zeroize::Zeroizing;

use crate::accelerator::{free_shared, numbered};
use crate::algorithms::named;
use crate::buffers::{Room, bytes_of_text, input, output, place, text, value};
use crate::failure::{Code, Failure, call};
use crate::handles::{Handle, ManyCalls, Object};
use crate::job::{AnyJob, Outcome, queue_full, submitted};

impl Object for Framework {
    const KIND: u64 = 9;
    const NAME: &'static str = "framework";
}

impl ManyCalls for Framework {}

/// A session and the length of its tags.
pub struct Session {
    session: FrameworkSession,
    /// Whether all data is authenticated and none encrypted.
    is_mac: bool,
    tag_bytes: usize,
}

impl Object for Session {
    const KIND: u64 = 10;
    const NAME: &'static str = "session";
}

impl ManyCalls for Session {}

/// `struct oarlock_session_spec`.
#[repr(C)]
pub struct Spec {
    service: c_int,
    cipher: *const c_char,
    key: *const c_void,
    key_bytes: usize,
    iv: *const c_void,
    iv_bytes: usize,
    hash: *const c_char,
    mac_key: *const c_void,
    mac_key_bytes: usize,
    tag_bytes: usize,
}

/// `struct oarlock_request`.
#[repr(C)]
pub struct RequestOptions {
    decrypts: c_int,
    iv: *const c_void,
    iv_bytes: usize,
    authenticated_bytes: usize,
}

const CIPHER: c_int = 1;
const MAC: c_int = 2;
const DIGEST: c_int = 3;
const ENCRYPT_THEN_MAC: c_int = 4;
const MAC_THEN_ENCRYPT: c_int = 5;
const RANDOM: c_int = 6;

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `framework`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_new(
    accelerator: Handle<Accelerator>,
    framework: *mut Handle<Framework>,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `framework`, or it is NULL.
        let to = unsafe { place(framework, "the place of the framework") }?;
        *to = Handle::NULL;
        *to = Handle::new(Framework::new(&*accelerator.shared()?))?;
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_framework_free(framework: Handle<Framework>) -> c_int {
    free_shared(framework)
}

/// See `oarlock.h`.
///
/// # Safety
/// `table` is NULL or as oarlock_device.h describes it, and stays valid; `options` and `name` are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_register(
    framework: Handle<Framework>,
    table: *const c_void,
    options: *const c_char,
    name: *const c_char,
    check_every: c_uint,
) -> c_int {
    call(|| {
        let framework = framework.shared()?;
        if table.is_null() {
            return Err(Failure::argument("the table of the device is NULL"));
        }
        // SAFETY: the caller says that `options` and `name` are NULL or end with a NUL; and that `table` is a device's
        // table of functions, as `oarlock_device.h` requires them.
        let device = unsafe {
            let (options, name) = (maybe(options, "the options")?, maybe(name, "the name")?);
            LibraryDevice::of_table(table, options.unwrap_or_default(), name)
        };
        register(&framework, device, check_every)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// `path`, `options` and `name` are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_load(
    framework: Handle<Framework>,
    path: *const c_char,
    options: *const c_char,
    name: *const c_char,
    check_every: c_uint,
) -> c_int {
    call(|| {
        let framework = framework.shared()?;
        // SAFETY: the caller says that `path`, `options` and `name` are NULL or end with a NUL.
        let (path, options, name) = unsafe {
            (
                bytes_of_text(path, "the path")?,
                maybe(options, "the options")?,
                maybe(name, "the name")?,
            )
        };
        let (path, options) = (OsStr::from_bytes(path), options.unwrap_or_default());
        register(
            &framework,
            LibraryDevice::open(path, options, name),
            check_every,
        )
    })
}

/// Returns a text, or `None` for NULL.
///
/// # Safety
/// The same as for [`text`].
unsafe fn maybe<'a>(it: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    match it.is_null() {
        true => Ok(None),
        // SAFETY: the caller says that `it`, which is not NULL, ends with a NUL.
        false => unsafe { text(it, what) }.map(Some),
    }
}

fn register(
    framework: &Framework,
    device: Result<Arc<LibraryDevice>, DeviceError>,
    check_every: c_uint,
) -> Result<(), Failure> {
    let device = device.map_err(|error| Failure::new(Code::Device, error.to_string()))?;
    let check = match check_every {
        1 => Check::All,
        one_in => Check::Sample(one_in),
    };
    Ok(framework.register(Arc::new(Blocking::new(device)), check)?)
}

/// See `oarlock.h`.
///
/// # Safety
/// `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_withdraw(
    framework: Handle<Framework>,
    name: *const c_char,
) -> c_int {
    call(|| {
        let framework = framework.shared()?;
        // SAFETY: the caller of `oarlock_framework_withdraw` says that `name` is NULL or ends with a NUL.
        let name = unsafe { text(name, "the name") }?;
        match framework.withdraw(name) {
            true => Ok(()),
            false => Err(Failure::argument(format!(
                "no device has the name {name:?}"
            ))),
        }
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `name_bytes` and the `*name_bytes` bytes at `name`; both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_device(
    framework: Handle<Framework>,
    name: *mut c_char,
    name_bytes: *mut usize,
    index: usize,
) -> c_int {
    call(|| {
        let framework = framework.shared()?;
        // SAFETY: the caller says that it owns `name_bytes` and the `*name_bytes` bytes at `name`.
        let room = unsafe { Room::new(name.cast::<c_void>(), name_bytes) }?;
        let devices = framework.devices();
        let device = devices.get(index).ok_or_else(|| {
            Failure::argument(format!(
                "there is no device {index}: there are {}",
                devices.len()
            ))
        })?;
        room.fill(format!("{device}\0").as_bytes())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `index`, or it is NULL; `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_framework_find_device(
    framework: Handle<Framework>,
    index: *mut usize,
    name: *const c_char,
) -> c_int {
    call(|| {
        let framework = framework.shared()?;
        // SAFETY: the caller says that it owns `index`, or it is NULL; and that `name` is NULL or ends with a NUL.
        let (to, name) = unsafe {
            (
                place(index, "the place of the number")?,
                text(name, "the name")?,
            )
        };
        *to = numbered(framework.devices().iter().map(|it| &**it), name)?;
        Ok(())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `session`, or it is NULL; `spec` is NULL or points to a specification, with texts that end with a NUL and
/// buffers of the lengths given, each of which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_session_new(
    framework: Handle<Framework>,
    session: *mut Handle<Session>,
    spec: *const Spec,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `session`, or it is NULL, and that `spec` is NULL or points to a
        // specification that no one changes.
        let (to, spec) = unsafe {
            let to = place(session, "the place of the session")?;
            *to = Handle::NULL;
            (to, value(spec, "the specification")?)
        };
        let framework = framework.shared()?;
        // SAFETY: the caller says that `spec.key` is NULL or has `spec.key_bytes` bytes; `spec.iv` is NULL or
        // has `spec.iv_bytes` bytes; and `spec.mac_key` is NULL or has `spec.mac_key_bytes` bytes.
        let (key, iv, mac_key) = unsafe {
            (
                input(spec.key, spec.key_bytes, "the key")?,
                input(spec.iv, spec.iv_bytes, "the IV")?,
                input(spec.mac_key, spec.mac_key_bytes, "the key of the MAC")?,
            )
        };
        // SAFETY: the caller says that `spec.cipher` is NULL or ends with a NUL.
        let cipher = || named(unsafe { text(spec.cipher, "the name of the cipher") }?);
        // SAFETY: the caller says that `spec.hash` is NULL or ends with a NUL.
        let hash = || hash(unsafe { text(spec.hash, "the name of the hash") }?);
        let chained = |order| {
            let (cipher, hash) = (cipher()?, hash()?);
            let mac = (hash, mac_key, spec.tag_bytes);
            Ok::<_, Failure>((
                SessionSpec::chained(order, (cipher, key, iv), mac),
                spec.tag_bytes,
            ))
        };
        let (what, tag_bytes) = match spec.service {
            CIPHER => of_cipher(cipher()?, key, iv),
            MAC => (
                SessionSpec::hmac(hash()?, mac_key, spec.tag_bytes),
                spec.tag_bytes,
            ),
            DIGEST => {
                let hash = hash()?;
                (SessionSpec::digest(hash), hash.digest_bytes())
            }
            ENCRYPT_THEN_MAC => chained(ChainOrder::EncryptThenMac)?,
            MAC_THEN_ENCRYPT => chained(ChainOrder::MacThenEncrypt)?,
            RANDOM => (SessionSpec::random(), 0),
            other => return Err(Failure::argument(format!("there is no service {other}"))),
        };
        *to = Handle::new(Session {
            session: framework.session(&what)?,
            is_mac: matches!(spec.service, MAC | DIGEST),
            tag_bytes,
        })?;
        Ok(())
    })
}

fn of_cipher<'a>(cipher: Algorithm, key: &'a [u8], iv: &'a [u8]) -> (SessionSpec<'a>, usize) {
    match cipher.kind() {
        Kind::Aead => (SessionSpec::aead(cipher, key, iv), 16),
        _ => (SessionSpec::cipher(cipher, key, iv), 0),
    }
}

fn hash(name: &str) -> Result<HashAlgorithm, Failure> {
    const ALL: [HashAlgorithm; 5] = [
        HashAlgorithm::Md5,
        HashAlgorithm::Sha1,
        HashAlgorithm::Sha256,
        HashAlgorithm::Sha384,
        HashAlgorithm::Sha512,
    ];
    let found = ALL.into_iter().find(|hash| hash.name() == name);
    found.ok_or_else(|| {
        let names = ALL.map(HashAlgorithm::name).join(", ");
        Failure::argument(format!("there is no hash {name:?}: the names are {names}"))
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_session_free(session: Handle<Session>) -> c_int {
    free_shared(session)
}

/// Converts the options of a request to its direction, its IV, and the layout of its bytes.
///
/// # Safety
/// `options` is NULL or points to options whose IV has the length given.
unsafe fn request(
    session: &Session,
    options: *const RequestOptions,
    bytes: usize,
) -> Result<(Direction, Iv, Layout), Failure> {
    let (mut direction, mut iv, mut authenticated) = (Direction::Encrypt, Iv::Next, 0);
    if !options.is_null() {
        // SAFETY: the caller says that `options` is NULL or points to options that no one changes.
        let options = unsafe { value(options, "the options of the request") }?;
        if options.decrypts != 0 {
            direction = Direction::Decrypt;
        }
        if options.iv_bytes != 0 {
            // SAFETY: the caller says that `options.iv` is NULL or has `options.iv_bytes` bytes.
            iv = Iv::Explicit(IvBytes::new(unsafe {
                input(options.iv, options.iv_bytes, "the IV")
            }?)?);
        }
        authenticated = options.authenticated_bytes;
    }
    let does_not_fit = || {
        Failure::argument(format!(
            "{bytes} bytes are not what is authenticated alone, {authenticated}, what is encrypted, and the tag, {}",
            session.tag_bytes
        ))
    };
    let text = bytes
        .checked_sub(session.tag_bytes)
        .ok_or_else(does_not_fit)?;
    let layout = match session.is_mac {
        true if authenticated != 0 && authenticated != text => return Err(does_not_fit()),
        true => Layout::packet(text, 0),
        false => {
            let encrypted = text.checked_sub(authenticated).ok_or_else(does_not_fit)?;
            Layout::packet(authenticated, encrypted)
        }
    };
    Ok((direction, iv, layout))
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns the `bytes` bytes at `data`, or it is NULL; `options` is NULL or points to options whose IV has the
/// length given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_session_run(
    session: Handle<Session>,
    data: *mut c_void,
    bytes: usize,
    options: *const RequestOptions,
) -> c_int {
    call(|| {
        let session = session.shared()?;
        // SAFETY: the caller says that it owns the `bytes` bytes at `data`, or it is NULL, and that `options` is NULL or
        // points to the options of a request.
        let (data, (direction, iv, layout)) = unsafe {
            (
                output(data, bytes, "the data")?,
                request(&session, options, bytes)?,
            )
        };
        Ok(session.session.run(direction, iv, layout, data)?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `job`, or it is NULL; `data` is NULL or has `bytes` bytes; `options` is NULL or points to options whose
/// IV has the length given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_session_submit(
    session: Handle<Session>,
    job: *mut Handle<AnyJob>,
    data: *const c_void,
    bytes: usize,
    options: *const RequestOptions,
) -> c_int {
    let submit = || {
        let session = session.shared()?;
        // SAFETY: the caller says that `data` is NULL or has `bytes` bytes, and that `options` is NULL or points to the
        // options of a request.
        let (data, (direction, iv, layout)) = unsafe {
            (
                input(data, bytes, "the data")?,
                request(&session, options, bytes)?,
            )
        };
        let buffers = Buffers::in_place(data.to_vec());
        let request = match direction {
            Direction::Encrypt => Request::encrypt(buffers),
            Direction::Decrypt => Request::decrypt(buffers),
        };
        let request = request.with_layout(layout);
        let request = match iv {
            Iv::Explicit(iv) => request.with_iv(iv),
            Iv::Next => request,
        };
        let job = session.session.submit(request).map_err(queue_full)?;
        Ok(job.map(outcome))
    };
    // SAFETY: the caller of `oarlock_session_submit` says that it owns `job`, or it is NULL.
    call(|| unsafe { submitted(job, submit) })
}

fn outcome(answer: Answer) -> Outcome {
    let made = Zeroizing::new(answer.buffers.into_output());
    answer.outcome.map(|()| made)
}
