//! The few functions of libssl that both ends take.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::fmt;
use std::fs::File;
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libloading::Library;

/// What is not on this machine.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Missing {}

/// What a connection is to have.
#[derive(Default)]
pub(crate) struct Wish<'a> {
    pub(crate) suite: Option<&'a str>,
    pub(crate) wants_ktls: bool,
}

/// A connection whose handshake is done.
pub(crate) struct Ssl {
    context: *mut c_void,
    ssl: *mut c_void,
    functions: Functions,
    library: Library,
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        #[allow(non_snake_case)]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Functions {
            fn of(library: &Library) -> Result<Self, Missing> {
                Ok(Self {
                    // SAFETY: the types are those of OpenSSL 3 and 4's headers, and `Ssl` keeps the library.
                    $($name: *unsafe { library.get(stringify!($name)) }
                        .map_err(|error| Missing(error.to_string()))?,)+
                })
            }
        }
    };
}

functions! {
    TLS_method: fn() -> *const c_void;
    SSL_CTX_new: fn(*const c_void) -> *mut c_void;
    SSL_CTX_free: fn(*mut c_void);
    SSL_CTX_ctrl: fn(*mut c_void, c_int, c_long, *mut c_void) -> c_long;
    SSL_CTX_set_options: fn(*mut c_void, u64) -> u64;
    SSL_CTX_set_ciphersuites: fn(*mut c_void, *const c_char) -> c_int;
    SSL_CTX_set_num_tickets: fn(*mut c_void, usize) -> c_int;
    SSL_CTX_set_keylog_callback: fn(*mut c_void, KeyLog);
    SSL_CTX_use_certificate_file: fn(*mut c_void, *const c_char, c_int) -> c_int;
    SSL_CTX_use_PrivateKey_file: fn(*mut c_void, *const c_char, c_int) -> c_int;
    SSL_new: fn(*mut c_void) -> *mut c_void;
    SSL_free: fn(*mut c_void);
    SSL_set_fd: fn(*mut c_void, c_int) -> c_int;
    SSL_accept: fn(*mut c_void) -> c_int;
    SSL_connect: fn(*mut c_void) -> c_int;
    SSL_read: fn(*mut c_void, *mut c_void, c_int) -> c_int;
    SSL_write: fn(*mut c_void, *const c_void, c_int) -> c_int;
    SSL_sendfile: fn(*mut c_void, c_int, i64, usize, c_int) -> isize;
    SSL_get_wbio: fn(*const c_void) -> *mut c_void;
}

type KeyLog = unsafe extern "C" fn(*const c_void, *const c_char);

impl Ssl {
    /// The server's end.
    pub(crate) fn accept(
        socket: &TcpStream,
        wish: &Wish<'_>,
        certificate: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let new = Self::new(socket, wish, Some(certificate))?;
        // SAFETY: a connection of its own over a socket that the caller has.
        match unsafe { (new.functions.SSL_accept)(new.ssl) } {
            1 => Ok(new),
            _ => Err("SSL_accept failed".into()),
        }
    }

    /// The client's end, which takes any certificate.
    pub(crate) fn connect(socket: &TcpStream, wish: &Wish<'_>) -> Result<Self, Box<dyn Error>> {
        let new = Self::new(socket, wish, None)?;
        // SAFETY: as in `accept`.
        match unsafe { (new.functions.SSL_connect)(new.ssl) } {
            1 => Ok(new),
            _ => Err("SSL_connect failed".into()),
        }
    }

    fn new(
        socket: &TcpStream,
        wish: &Wish<'_>,
        certificate: Option<&Path>,
    ) -> Result<Self, Box<dyn Error>> {
        let library = FILES
            .iter()
            // SAFETY: loading runs the initialisers of libssl, which may run in any process.
            .find_map(|file| unsafe { Library::new(*file) }.ok())
            .ok_or_else(|| Missing(format!("no {}: install libssl3", FILES.join(", "))))?;
        let functions = Functions::of(&library)?;
        // SAFETY: takes nothing and gives a static; the context of it is freed in `drop`.
        let context = unsafe { (functions.SSL_CTX_new)((functions.TLS_method)()) };
        let mut new = Self {
            context,
            ssl: ptr::null_mut(),
            functions,
            library,
        };
        let f = &new.functions;
        let mut is_set = !context.is_null();
        let certificate = certificate
            .map(|path| CString::new(path.as_os_str().as_bytes()))
            .transpose()?;
        let suite = wish.suite.map(CString::new).transpose()?;
        // SAFETY: the context is live if it is not null, strings end with a NUL and outlive the calls, and
        // the callback keeps to its contract.
        unsafe {
            is_set = is_set
                && (f.SSL_CTX_ctrl)(context, SET_MIN_PROTO_VERSION, TLS_1_3, ptr::null_mut()) == 1;
            if is_set && wish.wants_ktls {
                (f.SSL_CTX_set_options)(context, ENABLE_KTLS);
            }
            if let (true, Some(suite)) = (is_set, &suite) {
                is_set = (f.SSL_CTX_set_ciphersuites)(context, suite.as_ptr()) == 1;
            }
            if let (true, Some(file)) = (is_set, &certificate) {
                let file = file.as_ptr();
                is_set = (f.SSL_CTX_use_certificate_file)(context, file, PEM) == 1
                    && (f.SSL_CTX_use_PrivateKey_file)(context, file, PEM) == 1
                    // Nothing but the file is to be sent with the keys.
                    && (f.SSL_CTX_set_num_tickets)(context, 0) == 1;
                (f.SSL_CTX_set_keylog_callback)(context, keep_secret);
            }
            if is_set {
                new.ssl = (f.SSL_new)(context);
                is_set = !new.ssl.is_null() && (f.SSL_set_fd)(new.ssl, socket.as_raw_fd()) == 1;
            }
        }
        match is_set {
            true => Ok(new),
            false => Err("libssl takes no such connection".into()),
        }
    }

    /// `server_application_traffic_secret_0`.
    pub(crate) fn secret(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let line = SECRET.lock().unwrap_or_else(PoisonError::into_inner);
        let secret = line.rsplit(' ').next().unwrap_or_default();
        Ok(hex::decode(secret)?)
    }

    pub(crate) fn has_ktls(&self) -> bool {
        // SAFETY: BIO_ctrl is of libcrypto, which libssl has loaded; its type is that of the headers.
        let found = unsafe {
            self.library
                .get::<unsafe extern "C" fn(*mut c_void, c_int, c_long, *mut c_void) -> c_long>(
                    "BIO_ctrl",
                )
        };
        // SAFETY: the connection is live, and so is the BIO that it writes to.
        found.is_ok_and(|bio_ctrl| unsafe {
            let bio = (self.functions.SSL_get_wbio)(self.ssl);
            bio_ctrl(bio, GET_KTLS_SEND, 0, ptr::null_mut()) != 0
        })
    }

    pub(crate) fn write(&mut self, data: &[u8]) -> Result<(), Box<dyn Error>> {
        let bytes = c_int::try_from(data.len())?;
        // SAFETY: as many bytes lie there. Without partial writes it takes all of them.
        match unsafe { (self.functions.SSL_write)(self.ssl, data.as_ptr().cast(), bytes) } {
            written if written == bytes => Ok(()),
            _ => Err("SSL_write failed".into()),
        }
    }

    /// How many bytes came; 0 at the end.
    pub(crate) fn read(&mut self, room: &mut [u8]) -> usize {
        let bytes = c_int::try_from(room.len()).unwrap_or(c_int::MAX);
        // SAFETY: there is room for as many bytes.
        let read = unsafe { (self.functions.SSL_read)(self.ssl, room.as_mut_ptr().cast(), bytes) };
        usize::try_from(read).unwrap_or(0)
    }

    pub(crate) fn send_file(&mut self, file: &File, bytes: u64) -> Result<(), Box<dyn Error>> {
        let mut at = 0;
        while at < bytes {
            let left = usize::try_from(bytes - at)?;
            let (file, offset) = (file.as_raw_fd(), i64::try_from(at)?);
            // SAFETY: the connection is live and the descriptor open.
            let sent = unsafe { (self.functions.SSL_sendfile)(self.ssl, file, offset, left, 0) };
            match u64::try_from(sent) {
                Ok(sent) if sent > 0 => at += sent,
                _ => return Err("SSL_sendfile failed".into()),
            }
        }
        Ok(())
    }
}

impl Drop for Ssl {
    fn drop(&mut self) {
        // SAFETY: both are its own, and null is nothing.
        unsafe {
            (self.functions.SSL_free)(self.ssl);
            (self.functions.SSL_CTX_free)(self.context);
        }
    }
}

/// # Safety
/// libssl calls, with a line that ends with a zero.
unsafe extern "C" fn keep_secret(_: *const c_void, line: *const c_char) {
    // SAFETY: libssl hands a string that ends with a NUL.
    let line = unsafe { CStr::from_ptr(line) }.to_string_lossy();
    if line.starts_with("SERVER_TRAFFIC_SECRET_0 ") {
        *SECRET.lock().unwrap_or_else(PoisonError::into_inner) = line.into_owned();
    }
}

static SECRET: Mutex<String> = Mutex::new(String::new());
const FILES: [&str; 2] = ["libssl.so.4", "libssl.so.3"];
const SET_MIN_PROTO_VERSION: c_int = 123;
const TLS_1_3: c_long = 0x0304;
const ENABLE_KTLS: u64 = 1 << 3;
const PEM: c_int = 1;
const GET_KTLS_SEND: c_int = 73;
