//! TLS handshakes in memory: the CPU time of each end, including everything that it fetches, creates and frees.

use std::ffi::{CString, c_char, c_int, c_long, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

use libloading::Library;
use serde::{Deserialize, Serialize};

use super::library::World;
use crate::error::Error;

/// The handshake to measure.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// The certificate of the server, in PEM.
    pub certificate: PathBuf,
    /// The private key of the certificate, in PEM.
    pub key: PathBuf,
    /// The certificate that the client trusts, in PEM: the issuer of the server's.
    pub root: PathBuf,
    /// The version on the wire: 0x0303 is TLS 1.2.
    pub version: u16,
    /// The only cipher suite of both ends, with OpenSSL's name for that version.
    pub suite: &'static str,
    /// The groups of both ends, as in `SSL_CTX_set1_groups_list(3)`.
    pub groups: &'static str,
    /// Whether the client resumes a session.
    pub is_resumed: bool,
    /// The file of the libssl that belongs to the libcrypto; the system's if there is none. It is loaded, so its code runs.
    pub libssl: Option<PathBuf>,
}

/// The CPU time of each end, from `SSL_new` to `SSL_free`.
#[derive(Serialize, Deserialize, Clone, Copy, Default, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    /// The time of the server.
    pub server: Duration,
    /// The time of the client, which verifies a chain of two certificates.
    pub client: Duration,
}

/// A server and its client.
pub(crate) struct Handshakes {
    functions: Functions,
    server: *mut c_void,
    client: *mut c_void,
    session: *mut c_void,
    is_resumed: bool,
    /// The world, which is dropped after all of these.
    _world: Rc<World>,
    _libssl: Library,
}

functions! {
    TLS_server_method: fn() -> *const c_void;
    TLS_client_method: fn() -> *const c_void;
    SSL_CTX_new_ex: fn(*mut c_void, *const c_char, *const c_void) -> *mut c_void;
    SSL_CTX_free: fn(*mut c_void);
    SSL_CTX_ctrl: fn(*mut c_void, c_int, c_long, *mut c_void) -> c_long;
    SSL_CTX_set_cipher_list: fn(*mut c_void, *const c_char) -> c_int;
    SSL_CTX_set_ciphersuites: fn(*mut c_void, *const c_char) -> c_int;
    SSL_CTX_set_verify: fn(*mut c_void, c_int, *const c_void);
    SSL_CTX_load_verify_locations: fn(*mut c_void, *const c_char, *const c_char) -> c_int;
    SSL_CTX_use_certificate_chain_file: fn(*mut c_void, *const c_char) -> c_int;
    SSL_CTX_use_PrivateKey_file: fn(*mut c_void, *const c_char, c_int) -> c_int;
    SSL_new: fn(*mut c_void) -> *mut c_void;
    SSL_free: fn(*mut c_void);
    SSL_set_bio: fn(*mut c_void, *mut c_void, *mut c_void);
    SSL_set_accept_state: fn(*mut c_void);
    SSL_set_connect_state: fn(*mut c_void);
    SSL_do_handshake: fn(*mut c_void) -> c_int;
    SSL_shutdown: fn(*mut c_void) -> c_int;
    SSL_read: fn(*mut c_void, *mut c_uchar, c_int) -> c_int;
    SSL_session_reused: fn(*const c_void) -> c_int;
    SSL_set_session: fn(*mut c_void, *mut c_void) -> c_int;
    SSL_get1_session: fn(*mut c_void) -> *mut c_void;
    SSL_SESSION_free: fn(*mut c_void);
    BIO_free: fn(*mut c_void) -> c_int;
    BIO_new_bio_pair: fn(*mut *mut c_void, usize, *mut *mut c_void, usize) -> c_int;
}

impl Handshakes {
    /// Creates both ends in `world`, which belongs to the machine's libcrypto.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it has no such groups; [`Error::Failed`] if it refuses the files.
    pub(crate) fn new(world: &Rc<World>, handshake: &Handshake) -> Result<Self, Error> {
        let files = match &handshake.libssl {
            Some(file) => vec![file.as_path()],
            None => FILES.iter().map(Path::new).collect(),
        };
        let libssl = files
            .iter()
            // SAFETY: loading runs the initialisers of the system's own libssl, or of the one that the caller names. It
            // needs a libcrypto of the name of the world's, and finds that one.
            .find_map(|file| unsafe { Library::new(*file) }.ok())
            .ok_or_else(|| Error::Unavailable(format!("no {}", FILES.join(", "))))?;
        let functions = Functions::of(&libssl)?;
        // SAFETY: methods are static; the world outlives the objects created in it.
        let [server, client] = unsafe {
            let new = functions.SSL_CTX_new_ex;
            [
                new(world.ctx(), ptr::null(), (functions.TLS_server_method)()),
                new(world.ctx(), ptr::null(), (functions.TLS_client_method)()),
            ]
        };
        let made = Self {
            functions,
            server,
            client,
            session: ptr::null_mut(),
            is_resumed: false,
            _world: Rc::clone(world),
            _libssl: libssl,
        };
        if server.is_null() || client.is_null() {
            return Err(failed("SSL_CTX_new_ex"));
        }
        made.configure(handshake)?;
        Ok(made)
    }

    fn configure(&self, handshake: &Handshake) -> Result<(), Error> {
        let calls = &self.functions;
        let file = |path: &Path| c_text(path.as_os_str().as_bytes());
        let [certificate, key, root] =
            [&handshake.certificate, &handshake.key, &handshake.root].map(|path| file(path));
        let [suite, groups] =
            [handshake.suite, handshake.groups].map(|text| c_text(text.as_bytes()));
        let set_suite = match handshake.version {
            TLS_1_3.. => calls.SSL_CTX_set_ciphersuites,
            _ => calls.SSL_CTX_set_cipher_list,
        };
        // SAFETY: the contexts are live; texts end with a zero.
        unsafe {
            for context in [self.server, self.client] {
                for bound in [SET_MIN_PROTO_VERSION, SET_MAX_PROTO_VERSION] {
                    let version = c_long::from(handshake.version);
                    (calls.SSL_CTX_ctrl)(context, bound, version, ptr::null_mut());
                }
                if set_suite(context, suite.as_ptr()) != 1 {
                    return Err(failed("setting the cipher suite"));
                }
                let list = groups.as_ptr().cast_mut().cast();
                if (calls.SSL_CTX_ctrl)(context, SET_GROUPS_LIST, 0, list) != 1 {
                    let groups = handshake.groups;
                    return Err(Error::Unavailable(format!(
                        "OpenSSL has no groups {groups}"
                    )));
                }
            }
            let (server, client) = (self.server, self.client);
            (calls.SSL_CTX_set_verify)(client, VERIFY_PEER, ptr::null());
            if (calls.SSL_CTX_use_certificate_chain_file)(server, certificate.as_ptr()) != 1
                || (calls.SSL_CTX_use_PrivateKey_file)(server, key.as_ptr(), PEM) != 1
                || (calls.SSL_CTX_load_verify_locations)(client, root.as_ptr(), ptr::null()) != 1
            {
                return Err(failed("reading the certificates"));
            }
        }
        Ok(())
    }

    /// Performs the first handshakes: one leaves the session, and all of them generate keys in advance.
    pub(crate) fn begin(&mut self, is_resumed: bool) -> Result<(), Error> {
        self.run()?;
        self.is_resumed = is_resumed;
        self.run()?;
        self.run().map(drop)
    }

    /// Performs one handshake, with connections that it creates and frees.
    pub(crate) fn run(&mut self) -> Result<Ends, Error> {
        let calls = &self.functions;
        let mut took = Ends::default();
        let (mut near, mut far) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: contexts are live; each connection owns its end of the pair and is freed once.
        unsafe {
            if (calls.BIO_new_bio_pair)(&mut near, BIO_BYTES, &mut far, BIO_BYTES) != 1 {
                return Err(failed("BIO_new_bio_pair"));
            }
            let mut lap = Lap(thread_cpu());
            let client = (calls.SSL_new)(self.client);
            if client.is_null() {
                (calls.BIO_free)(near);
                (calls.BIO_free)(far);
                return Err(failed("SSL_new"));
            }
            (calls.SSL_set_bio)(client, far, far);
            (calls.SSL_set_connect_state)(client);
            if self.is_resumed {
                (calls.SSL_set_session)(client, self.session);
            }
            lap.ends(&mut took.client);
            let server = (calls.SSL_new)(self.server);
            if server.is_null() {
                (calls.BIO_free)(near);
                (calls.SSL_free)(client);
                return Err(failed("SSL_new"));
            }
            (calls.SSL_set_bio)(server, near, near);
            (calls.SSL_set_accept_state)(server);
            lap.ends(&mut took.server);
            let mut is_done = false;
            for _ in 0..STEPS_MAX {
                let of_client = (calls.SSL_do_handshake)(client);
                lap.ends(&mut took.client);
                let of_server = (calls.SSL_do_handshake)(server);
                lap.ends(&mut took.server);
                is_done = of_client == 1 && of_server == 1;
                if is_done {
                    break;
                }
            }
            // The read receives the tickets. A TLS 1.3 ticket is valid only once.
            (calls.SSL_read)(client, [0].as_mut_ptr(), 1);
            let is_resumed = (calls.SSL_session_reused)(client) == 1;
            if is_done {
                (calls.SSL_SESSION_free)(self.session);
                self.session = (calls.SSL_get1_session)(client);
            }
            (calls.SSL_shutdown)(client);
            lap.ends(&mut took.client);
            (calls.SSL_shutdown)(server);
            (calls.SSL_free)(server);
            lap.ends(&mut took.server);
            (calls.SSL_free)(client);
            lap.ends(&mut took.client);
            match is_done {
                true if is_resumed == self.is_resumed => Ok(took),
                true => Err(failed("resuming a session")),
                false => Err(failed("a handshake")),
            }
        }
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        let calls = &self.functions;
        // SAFETY: each was created once, or is null.
        unsafe {
            (calls.SSL_SESSION_free)(self.session);
            (calls.SSL_CTX_free)(self.server);
            (calls.SSL_CTX_free)(self.client);
        }
    }
}

/// The CPU time at which the turn of one end began.
struct Lap(Duration);

impl Lap {
    /// Adds the time since the last turn to the end that had it.
    fn ends(&mut self, taken: &mut Duration) {
        let now = thread_cpu();
        *taken += now.saturating_sub(self.0);
        self.0 = now;
    }
}

/// Returns the CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn c_text(text: &[u8]) -> CString {
    CString::new(text).unwrap_or_default()
}

fn failed(what: &str) -> Error {
    Error::Failed(format!("openssl: {what} failed"))
}

/// The file names, newest first.
const FILES: &[&str] = &["libssl.so.4", "libssl.so.3"];
/// The buffer size in each direction, in bytes: more than a handshake sends.
const BIO_BYTES: usize = 64 << 10;
const STEPS_MAX: usize = 10;
const TLS_1_3: u16 = 0x0304;
/// SSL_FILETYPE_PEM, SSL_VERIFY_PEER; SSL_CTRL_SET_GROUPS_LIST, SSL_CTRL_SET_MIN_PROTO_VERSION,
/// SSL_CTRL_SET_MAX_PROTO_VERSION.
const PEM: c_int = 1;
const VERIFY_PEER: c_int = 1;
const SET_GROUPS_LIST: c_int = 92;
const SET_MIN_PROTO_VERSION: c_int = 123;
const SET_MAX_PROTO_VERSION: c_int = 124;
