//! Adapts libraries that accept only whole blocks to streams.

use oarlock_measure::peers::Stream;

/// A cipher whose requests begin at a block and consist of whole ones.
pub(crate) trait WholeBlocks<const BYTES: usize> {
    /// Moves to the first block under `iv`.
    fn set_iv(&mut self, iv: &[u8; 16]);

    /// Applies the keystream of the next blocks; `data` is not empty.
    fn apply(&mut self, data: &mut [u8]);
}

/// A stream, which keeps the rest of a partly used block.
pub(crate) struct Pieces<Cipher, const BYTES: usize> {
    cipher: Cipher,
    keystream: [u8; BYTES],
    used: usize,
}

impl<Cipher: WholeBlocks<BYTES>, const BYTES: usize> Pieces<Cipher, BYTES> {
    pub(crate) fn of(cipher: Cipher) -> Self {
        Self {
            cipher,
            keystream: [0; BYTES],
            used: 0,
        }
    }

    /// Handles a request that begins or ends within a block.
    #[cold]
    fn apply_in_pieces(&mut self, data: &mut [u8]) {
        let rest_of_block = (BYTES - self.used) % BYTES;
        let (head, data) = data.split_at_mut(rest_of_block.min(data.len()));
        self.xor_keystream(head);
        let (whole, tail) = data.split_at_mut(data.len() / BYTES * BYTES);
        if !whole.is_empty() {
            self.cipher.apply(whole);
        }
        if !tail.is_empty() {
            self.keystream = [0; BYTES];
            self.cipher.apply(&mut self.keystream);
            self.xor_keystream(tail);
        }
    }

    fn xor_keystream(&mut self, data: &mut [u8]) {
        for (byte, key) in data.iter_mut().zip(&self.keystream[self.used..]) {
            *byte ^= key;
        }
        self.used = (self.used + data.len()) % BYTES;
    }
}

impl<Cipher: WholeBlocks<BYTES>, const BYTES: usize> Stream for Pieces<Cipher, BYTES> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.cipher.set_iv(iv);
        self.used = 0;
    }

    fn apply(&mut self, data: &mut [u8]) {
        if self.used == 0 && data.len().is_multiple_of(BYTES) && !data.is_empty() {
            self.cipher.apply(data);
        } else {
            self.apply_in_pieces(data);
        }
    }
}
