//! ChaCha20 alone.

use oarlock_kernels::chacha20::ChaCha20;
use oarlock_kernels::cpu::Feature;
use oarlock_vectors::cavp;

#[test]
fn rfc_8439() {
    let vectors = cavp::chacha20().unwrap();
    let new = |key: &[u8], cpu| ChaCha20::new(key, cpu).unwrap();
    for (name, cpu) in super::ways(Feature::Ssse3, |cpu| new(&[0; 32], cpu).backend().name()) {
        for vector in &vectors {
            let cipher = new(&vector.key, cpu);
            let mut counter = [0; 16];
            counter[..12].copy_from_slice(&vector.nonce);
            let first = u128::from_be_bytes(counter) + u128::from(vector.counter);
            let mut data = vector.plaintext.clone();
            cipher.apply(first, 0, data.as_mut_slice().into());
            assert_eq!(data, vector.ciphertext, "{name}: {}", vector.source);
            for (at, byte) in data.iter_mut().enumerate() {
                let block = first + at as u128 / 64;
                cipher.apply(block, at % 64, std::slice::from_mut(byte).into());
            }
            assert_eq!(data, vector.plaintext, "{name}: {}", vector.source);
        }
    }
}
