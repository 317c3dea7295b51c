//! Handshakes of TLS in memory: what the server's side of one takes, with all that it fetches, makes and forgets.

use std::ffi::{CString, c_char, c_int, c_long, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;

use libloading::Library;

use super::library::World;
use crate::error::Error;

/// Which handshake is measured.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// The certificate of the server, in PEM.
    pub certificate: PathBuf,
    /// The private key of the certificate, in PEM.
    pub key: PathBuf,
    /// As on the wire: 0x0303 is TLS 1.2.
    pub version: u16,
    /// Whether the client has a session.
    pub is_resumed: bool,
}

/// A server and its client.
pub(crate) struct Handshakes {
    functions: Functions,
    server: *mut c_void,
    client: *mut c_void,
    session: *mut c_void,
    is_resumed: bool,
    /// They go after all of these.
    _worlds: [Rc<World>; 2],
    _libssl: Library,
}

functions! {
    TLS_server_method: fn() -> *const c_void;
    TLS_client_method: fn() -> *const c_void;
    SSL_CTX_new_ex: fn(*mut c_void, *const c_char, *const c_void) -> *mut c_void;
    SSL_CTX_free: fn(*mut c_void);
    SSL_CTX_ctrl: fn(*mut c_void, c_int, c_long, *mut c_void) -> c_long;
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
    SSL_set_session: fn(*mut c_void, *mut c_void) -> c_int;
    SSL_get1_session: fn(*mut c_void) -> *mut c_void;
    SSL_SESSION_free: fn(*mut c_void);
    BIO_new_bio_pair: fn(*mut *mut c_void, usize, *mut *mut c_void, usize) -> c_int;
}

impl Handshakes {
    /// The server is in `world`, its client in `other`, which are of the machine's libcrypto.
    pub(crate) fn new(
        world: &Rc<World>,
        other: &Rc<World>,
        handshake: &Handshake,
    ) -> Result<Self, Error> {
        let libssl = FILES
            .iter()
            // SAFETY: loading runs the initialisers of the system's own libssl.
            .find_map(|file| unsafe { Library::new(*file) }.ok())
            .ok_or_else(|| Error::Unavailable(format!("no {}", FILES.join(", "))))?;
        let functions = Functions::of(&libssl)?;
        // SAFETY: methods are static; the worlds outlive what is made in them.
        let [server, client] = unsafe {
            let new = functions.SSL_CTX_new_ex;
            [
                new(world.ctx(), ptr::null(), (functions.TLS_server_method)()),
                new(other.ctx(), ptr::null(), (functions.TLS_client_method)()),
            ]
        };
        let mut made = Self {
            functions,
            server,
            client,
            session: ptr::null_mut(),
            is_resumed: handshake.is_resumed,
            _worlds: [Rc::clone(world), Rc::clone(other)],
            _libssl: libssl,
        };
        if server.is_null() || client.is_null() {
            return Err(failed("SSL_CTX_new_ex"));
        }
        made.configure(handshake)?;
        // The first ones make keys ready; one leaves the session.
        for _ in 0..4 {
            made.run(&mut || ())?;
        }
        Ok(made)
    }

    fn configure(&self, handshake: &Handshake) -> Result<(), Error> {
        let calls = &self.functions;
        let (certificate, key) = (c_path(&handshake.certificate), c_path(&handshake.key));
        // SAFETY: the contexts are live; paths end with a zero.
        unsafe {
            for context in [self.server, self.client] {
                for bound in [SET_MIN_PROTO_VERSION, SET_MAX_PROTO_VERSION] {
                    let version = c_long::from(handshake.version);
                    (calls.SSL_CTX_ctrl)(context, bound, version, ptr::null_mut());
                }
            }
            let server = self.server;
            if (calls.SSL_CTX_use_certificate_chain_file)(server, certificate.as_ptr()) != 1
                || (calls.SSL_CTX_use_PrivateKey_file)(server, key.as_ptr(), PEM) != 1
            {
                return Err(failed("reading the certificate"));
            }
        }
        Ok(())
    }

    /// One handshake, with a connection that is made and freed. `turn` is told before and after each step of the server's.
    pub(crate) fn run(&mut self, turn: &mut dyn FnMut()) -> Result<(), Error> {
        let calls = &self.functions;
        let (mut near, mut far) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: contexts are live; each connection owns its end of the pair and is freed once.
        unsafe {
            if (calls.BIO_new_bio_pair)(&mut near, BIO_BYTES, &mut far, BIO_BYTES) != 1 {
                return Err(failed("BIO_new_bio_pair"));
            }
            let client = (calls.SSL_new)(self.client);
            (calls.SSL_set_bio)(client, far, far);
            (calls.SSL_set_connect_state)(client);
            if !self.session.is_null() {
                (calls.SSL_set_session)(client, self.session);
            }
            turn();
            let server = (calls.SSL_new)(self.server);
            (calls.SSL_set_bio)(server, near, near);
            (calls.SSL_set_accept_state)(server);
            turn();
            let mut is_done = false;
            for _ in 0..STEPS_MAX {
                let of_client = (calls.SSL_do_handshake)(client);
                turn();
                let of_server = (calls.SSL_do_handshake)(server);
                turn();
                is_done = of_client == 1 && of_server == 1;
                if is_done {
                    break;
                }
            }
            // Takes the tickets.
            (calls.SSL_read)(client, [0].as_mut_ptr(), 1);
            if self.is_resumed && is_done {
                // A ticket of TLS 1.3 serves once.
                (calls.SSL_SESSION_free)(self.session);
                self.session = (calls.SSL_get1_session)(client);
            }
            (calls.SSL_shutdown)(client);
            turn();
            (calls.SSL_shutdown)(server);
            (calls.SSL_free)(server);
            turn();
            (calls.SSL_free)(client);
            is_done.then_some(()).ok_or_else(|| failed("a handshake"))
        }
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        let calls = &self.functions;
        // SAFETY: each was made once, or is null.
        unsafe {
            (calls.SSL_SESSION_free)(self.session);
            (calls.SSL_CTX_free)(self.server);
            (calls.SSL_CTX_free)(self.client);
        }
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn failed(what: &str) -> Error {
    Error::Failed(format!("openssl: {what} failed"))
}

/// The newest first.
const FILES: &[&str] = &["libssl.so.4", "libssl.so.3"];
/// The bytes of either direction: more than a handshake has.
const BIO_BYTES: usize = 64 << 10;
const STEPS_MAX: usize = 10;
/// SSL_FILETYPE_PEM, SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_MAX_PROTO_VERSION.
const PEM: c_int = 1;
const SET_MIN_PROTO_VERSION: c_int = 123;
const SET_MAX_PROTO_VERSION: c_int = 124;
