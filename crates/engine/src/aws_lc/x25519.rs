//! X25519 (RFC 7748).

use aws_lc_sys::{ERR_clear_error, X25519, X25519_public_from_private};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::random::fill_random;

/// The length in bytes of private keys, public keys and shared secrets.
pub const BYTES: usize = 32;

/// A private key. Any 32 bytes are valid, because the bits that RFC 7748, section 5 fixes are ignored. Wiped on drop.
#[derive(Clone)]
pub struct X25519PrivateKey(Zeroizing<[u8; BYTES]>);

impl X25519PrivateKey {
    /// Generates a key pair.
    pub fn generate() -> (Self, [u8; BYTES]) {
        let mut private = Zeroizing::new([0; BYTES]);
        fill_random(&mut private[..]);
        // These bits are ignored; OpenSSL stores keys with them fixed as in RFC 7748, section 5.
        private[0] &= 248;
        private[31] = private[31] & 127 | 64;
        let pair = Self(private);
        let public = pair.public_key();
        (pair, public)
    }

    /// Creates a private key from its bytes.
    pub fn from_bytes(private: &[u8; BYTES]) -> Self {
        Self(Zeroizing::new(*private))
    }

    /// Returns the private key, unchanged since it was passed in or generated.
    pub fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Whether both keys are equal, compared in constant time.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ct_eq(&*other.0).into()
    }

    /// Computes the public key.
    pub fn public_key(&self) -> [u8; BYTES] {
        let mut public = [0; BYTES];
        // SAFETY: both pointers refer to 32 bytes.
        unsafe { X25519_public_from_private(public.as_mut_ptr(), self.0.as_ptr()) };
        public
    }

    /// Writes the secret shared with `peer`, and returns whether it was contributory. If not, `peer` has small order,
    /// the secret is all zeros, and it must not be used (RFC 7748, 6.1).
    #[must_use]
    pub fn agree(&self, peer: &[u8; BYTES], secret: &mut [u8; BYTES]) -> bool {
        // SAFETY: all three pointers refer to 32 bytes.
        let done = unsafe { X25519(secret.as_mut_ptr(), self.0.as_ptr(), peer.as_ptr()) };
        if done != 1 {
            // SAFETY: this empties the calling thread's error queue only, and no code reads it.
            unsafe { ERR_clear_error() };
        }
        done == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_wycheproof_are_agreed_on_or_refused() {
        let (mut valid, mut invalid) = (0, 0);
        for vector in oarlock_vectors::wycheproof::x25519().unwrap() {
            let private = X25519PrivateKey::from_bytes(&vector.private_key.try_into().unwrap());
            let mut secret = [0xa5; BYTES];
            let is_agreed = private.agree(&vector.public_key.try_into().unwrap(), &mut secret);
            assert_eq!(is_agreed, vector.is_valid, "{}", vector.source);
            assert_eq!(secret[..], vector.secret, "{}", vector.source);
            *if is_agreed { &mut valid } else { &mut invalid } += 1;
        }
        assert_eq!((valid, invalid), (487, 31));
    }
    /// RFC 7748, section 5.2: a secret becomes the next private key, and that the next public key.
    #[test]
    fn a_thousand_secrets_follow_from_each_other() {
        let hex = |bytes: &[u8]| -> String { bytes.iter().map(|it| format!("{it:02x}")).collect() };
        let mut private = [0; BYTES];
        private[0] = 9;
        let mut public = private;
        let mut after = Vec::new();
        for _ in 0..1000 {
            let mut secret = [0; BYTES];
            assert!(X25519PrivateKey::from_bytes(&private).agree(&public, &mut secret));
            (private, public) = (secret, private);
            after.push(secret);
        }
        let [first, last] = [0, 999].map(|at| hex(&after[at]));
        assert_eq!(
            first,
            "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
        );
        assert_eq!(
            last,
            "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"
        );
    }
}
