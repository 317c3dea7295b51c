//! Traffic secrets and the keys derived from them (RFC 8446, 7.1 to 7.3; RFC 9147, 5.9).

use oarlock_kernels::batch::{Hash, HashBackend, HmacKey, Mac, Sha256, Sha384, hmac};
use oarlock_kernels::cpu::Cpu;
use zeroize::Zeroizing;

use super::suite::Suite;
use oarlock_engine::Error;

/// A traffic secret of one direction. Wiped on drop.
pub(super) struct Secret {
    suite: Suite,
    protocol: Protocol,
    /// On the heap, because moving them would leave a copy behind.
    bytes: Zeroizing<Vec<u8>>,
}

/// The protocol of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Tls,
    Dtls,
}

impl Protocol {
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Tls => b"tls13 ",
            // Without a space (RFC 9147, 5.9).
            Self::Dtls => b"dtls13",
        }
    }
}

impl Secret {
    pub(super) fn new(suite: Suite, protocol: Protocol, secret: &[u8]) -> Result<Self, Error> {
        if secret.len() != suite.secret_bytes() {
            return Err(Error::InvalidKey(format!(
                "a traffic secret of {suite:?} has {} bytes; this one has {}",
                suite.secret_bytes(),
                secret.len()
            )));
        }
        Ok(Self {
            suite,
            protocol,
            bytes: Zeroizing::new(secret.to_vec()),
        })
    }

    /// Derives the secret of the next generation (RFC 8446, 7.2).
    pub(super) fn next(&self, cpu: Cpu) -> Self {
        let mut bytes = Zeroizing::new(vec![0; self.suite.secret_bytes()]);
        self.expand(cpu, b"traffic upd", &mut bytes);
        Self {
            suite: self.suite,
            protocol: self.protocol,
            bytes,
        }
    }

    /// Computes HKDF-Expand-Label without a context, up to the length of the hash: one block of HKDF-Expand (RFC 5869,
    /// 2.3).
    pub(super) fn expand(&self, cpu: Cpu, label: &[u8], to: &mut [u8]) {
        let prefix = self.protocol.prefix();
        let mut info = [0; INFO_BYTES_MAX];
        let mut end = 0;
        let parts = [
            &(to.len() as u16).to_be_bytes()[..],
            &[(prefix.len() + label.len()) as u8],
            prefix,
            label,
            // No context, and the block number.
            &[0, 1],
        ];
        for part in parts {
            info[end..][..part.len()].copy_from_slice(part);
            end += part.len();
        }
        match self.suite {
            Suite::Aes256GcmSha384 => mac::<Sha384>(cpu, &self.bytes, &info[..end], to),
            _ => mac::<Sha256>(cpu, &self.bytes, &info[..end], to),
        }
    }
}

fn mac<H: Hash>(cpu: Cpu, key: &[u8], message: &[u8], tag: &mut [u8]) {
    let key = &HmacKey::<H>::new(key);
    let backend = HashBackend::preferred_for::<H>(cpu, 1);
    hmac(backend, &mut [Mac { key, message, tag }]);
}

/// The length of the HKDF info with the longest label, `traffic upd`.
const INFO_BYTES_MAX: usize = 2 + 1 + 6 + 11 + 2;
