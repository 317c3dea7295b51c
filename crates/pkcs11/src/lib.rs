//! The PKCS#11 module: private keys of files and of a cryptoserver, for programs that know tokens.
//!
//! ```text
//! abi/           the functions of the standard
//! pointers.rs    pointers of programs become slices, and results are written to them
//! process.rs     the state of this process, which a forked child does not have
//! library.rs     what C_Initialize makes: tokens, sessions, an accelerator
//! config.rs      the configuration file
//! token.rs       a token, and when its objects are read
//! files.rs       keys and certificates of a directory
//! objects.rs     objects and their attributes
//! attributes.rs  the attributes of keys and certificates
//! session.rs     a session, and the operations under way in it
//! mechanisms.rs  what can be computed, and how parameters are read
//! operation.rs   signing, verifying, encrypting, decrypting, digesting
//! key.rs         a key here or behind a relay
//! ecdsa.rs       the two forms of an ECDSA signature
//! ```
//!
//! A token is a directory of files, or a relay (`oarlock relay`), which has the connections to cryptoservers: no async
//! runtime enters a foreign process. A call locks its session alone, so calls of different sessions compute in parallel.

mod abi;
mod attributes;
mod config;
mod ecdsa;
mod files;
mod key;
mod library;
mod mechanisms;
mod objects;
mod operation;
mod pointers;
mod process;
mod report;
mod session;
mod token;

/// Returns the list of functions of PKCS#11 2.40, for the fuzzer, whose programs have a `C_GetFunctionList` of their own.
/// `C_Initialize` reads the configuration of the first path that this was called with.
#[doc(hidden)]
pub fn functions_with(path: std::path::PathBuf) -> &'static cryptoki_sys::CK_FUNCTION_LIST {
    config::GIVEN.get_or_init(|| path);
    abi::functions()
}
