//! The IV of AES-GCM. A context is copied as a whole and kept for each direction of a connection, so only IVs longer
//! than 16 bytes take memory of their own; nearly all have 12.

/// The longest IV that the default provider accepts, in bytes.
pub(super) const IV_BYTES_MAX: usize = 128;
const SHORT_BYTES: usize = 16;

#[derive(Clone)]
pub(super) struct Iv {
    short: [u8; SHORT_BYTES],
    /// Replaces `short` once the IV has been longer than that.
    long: Option<Box<[u8; IV_BYTES_MAX]>>,
    bytes: usize,
}

impl Iv {
    pub(super) const fn zeros(bytes: usize) -> Self {
        assert!(bytes <= SHORT_BYTES);
        Self {
            short: [0; SHORT_BYTES],
            long: None,
            bytes,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Changes the length to at most [`IV_BYTES_MAX`] and keeps the first bytes.
    #[inline(always)]
    pub(super) fn resize(&mut self, bytes: usize) {
        if bytes > SHORT_BYTES && self.long.is_none() {
            self.make_long();
        }
        self.bytes = bytes;
    }

    #[cold]
    #[inline(never)]
    fn make_long(&mut self) {
        let mut long = [0; IV_BYTES_MAX];
        long[..SHORT_BYTES].copy_from_slice(&self.short);
        self.long = Some(Box::new(long));
    }

    /// Sets the IV to `iv`, of at most [`IV_BYTES_MAX`] bytes.
    #[inline(always)]
    pub(super) fn set(&mut self, iv: &[u8]) {
        self.resize(iv.len());
        // 12 bytes are moved directly: a variable-length copy stores the middle twice, which stalls the next 8-byte
        // load.
        match (self.as_mut().as_mut_array::<12>(), iv.as_array()) {
            (Some(place), Some(iv)) => *place = *iv,
            _ => self.as_mut().copy_from_slice(iv),
        }
    }
}

impl AsRef<[u8]> for Iv {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        match &self.long {
            None => &self.short[..self.bytes],
            Some(long) => &long[..self.bytes],
        }
    }
}

impl AsMut<[u8]> for Iv {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        match &mut self.long {
            None => &mut self.short[..self.bytes],
            Some(long) => &mut long[..self.bytes],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_its_first_bytes_at_any_length() {
        let bytes: Vec<u8> = (1..=IV_BYTES_MAX as u8).collect();
        let mut iv = Iv::zeros(12);
        let mut expected = [0; IV_BYTES_MAX];
        for length in [12, 16, 1, 17, 12, 128, 16, 40, 128] {
            iv.set(&bytes[..length]);
            expected[..length].copy_from_slice(&bytes[..length]);
            assert_eq!((iv.as_ref(), iv.len()), (&bytes[..length], length));
            for other in [1, 12, 16, 128, length] {
                iv.resize(other);
                assert_eq!(iv.clone().as_ref(), &expected[..other]);
            }
        }
    }
}
