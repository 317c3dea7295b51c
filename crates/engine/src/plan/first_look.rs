//! Limits how much a context computes with its kernel before it opens a route.
//!
//! A context is a session without a route: one kernel and a position. It costs the same as one of the plain library:
//! setting a key locks, asks and allocates nothing. Only a context that has served more than a few microseconds of
//! work, or gets a long request, opens a route, and with it everything that several threads can do. A stream cipher's
//! route comes with a session, which makes keystream ahead.

use oarlock_kernels::aes::Backend;

/// The limits of what a context computes by itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct FirstLook {
    /// Requests of fewer bytes are computed by the context itself.
    pub(crate) short_bytes: usize,
    /// Requests of fewer bytes are computed by the kernel, even if there is a session.
    pub(crate) helped_bytes: usize,
    /// The bytes that the kernel serves before there is a session or route.
    pub(crate) kernel_bytes: usize,
}

impl FirstLook {
    /// Returns the limits for AES-CTR. Requests below [`short_bytes`](Self::short_bytes) are no faster with a session:
    /// up to two microseconds of work, or a block. The kernel serves some 20 µs of work before there is a session;
    /// opening one takes two.
    pub(crate) fn aes_ctr(backend: Backend) -> Self {
        let (short_bytes, kernel_bytes) = match backend {
            // A session may be faster.
            Backend::Portable => (0, 0),
            _ => (2 << 10, 512 << 10),
        };
        Self {
            short_bytes,
            kernel_bytes,
            helped_bytes: if has_aes_instructions(backend) {
                HELPED_BYTES
            } else {
                0
            },
        }
    }

    /// The limits for ChaCha20, chosen as for [`aes_ctr`](Self::aes_ctr).
    pub(crate) const CHACHA20: Self = Self {
        short_bytes: 8 << 10,
        helped_bytes: HELPED_BYTES,
        kernel_bytes: 64 << 10,
    };

    /// The limits for other stream ciphers.
    pub(crate) const OTHER_STREAM: Self = Self {
        short_bytes: 16,
        helped_bytes: 0,
        kernel_bytes: 4 << 10,
    };

    /// The limits for older ciphers that this library has kernels for: 0.3 to 4 GB a second.
    pub(crate) const LEGACY: Self = Self {
        short_bytes: 1 << 10,
        helped_bytes: 0,
        kernel_bytes: 16 << 10,
    };

    /// The limits for AEADs and for decryption with CBC. Shorter messages are not worth several threads, even if they are
    /// awake. The kernel serves some 40 µs of an AEAD's work, or 20 of CBC's, compared with 1 µs to open a session.
    pub(crate) const AEAD_OR_CBC: Self = Self {
        short_bytes: 64 << 10,
        helped_bytes: 0,
        kernel_bytes: 512 << 10,
    };
}

fn has_aes_instructions(backend: Backend) -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = matches!(
        backend,
        Backend::AesNi(_) | Backend::Vaes256(_) | Backend::Vaes512(_)
    );
    #[cfg(not(target_arch = "x86_64"))]
    let has = !matches!(backend, Backend::Portable);
    has
}

/// The limit for fast kernels: keystream from another core comes no faster than it is made here, and a program that
/// sends packets of 32 KiB keeps the other core busy by itself.
const HELPED_BYTES: usize = 256 << 10;
