//! RustCrypto's AEADs as references, and buffers, for several targets.

use aead::{AeadInOut, Key, KeyInit, Nonce};
use inout::InOutBuf;
use oarlock::{Accelerator, Strategy};

/// Returns the ciphertext and the tag.
pub(crate) fn seal<A: KeyInit + AeadInOut>(
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    plaintext: &[u8],
) -> (Vec<u8>, [u8; 16]) {
    let aead = A::new(&Key::<A>::try_from(key).unwrap());
    let nonce = Nonce::<A>::try_from(nonce).unwrap();
    let mut data = plaintext.to_vec();
    let tag = aead.encrypt_inout_detached(&nonce, aad, (&mut data[..]).into());
    (data, tag.unwrap()[..].try_into().unwrap())
}

/// Seals `data`, or opens a ciphertext that its tag follows.
pub(crate) fn crypt<A: KeyInit + AeadInOut>(
    seals: bool,
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    data: &[u8],
) -> Option<Vec<u8>> {
    if seals {
        let (sealed, tag) = seal::<A>(key, nonce, aad, data);
        return Some([&sealed[..], &tag].concat());
    }
    let (data, tag) = data.split_last_chunk::<16>()?;
    let aead = A::new(&Key::<A>::try_from(key).unwrap());
    let (nonce, tag) = (Nonce::<A>::try_from(nonce).unwrap(), tag[..].try_into());
    let mut data = data.to_vec();
    let opened = aead.decrypt_inout_detached(&nonce, aad, (&mut data[..]).into(), &tag.unwrap());
    opened.ok().map(|()| data)
}

/// Returns what `run` makes of `from`, in place or not, in a buffer that begins anywhere.
pub(crate) fn apply(
    in_place: bool,
    misalignment: u8,
    from: &[u8],
    run: impl FnOnce(InOutBuf<'_, '_, u8>),
) -> Vec<u8> {
    let offset = usize::from(misalignment % 64);
    let mut buffer = vec![0xaa; offset + from.len()];
    let out = &mut buffer[offset..];
    if in_place {
        out.copy_from_slice(from);
        run(out.into());
    } else {
        run(InOutBuf::new(from, out).unwrap());
    }
    buffer.split_off(offset)
}

/// Returns accelerators for packets, under each mask inline or in stripes.
pub(crate) fn for_packets() -> Vec<Accelerator> {
    let masks = ["", "-avx512", "-vaes", "-aes", "-aes,-avx2"];
    let all = masks
        .iter()
        .flat_map(|mask| [(mask, Strategy::Auto), (mask, Strategy::Stripe)]);
    all.map(|(mask, strategy)| {
        Accelerator::builder()
            .max_threads(2)
            .cpu_mask(*mask)
            .strategy(strategy)
            .build()
            .unwrap()
    })
    .collect()
}
