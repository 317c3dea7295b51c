//! AES-CBC: whole messages in both forms, and block by block.

use inout::InOutBuf;
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_vectors::{CbcVector, Padding, cavp, short, wycheproof};

#[test]
fn sp_800_38a_and_cavp() {
    let vectors = [short::sp_800_38a_cbc(), cavp::aes_cbc().unwrap()].concat();
    check(&vectors);
}

#[test]
fn wycheproof() {
    check(&wycheproof::aes_cbc_pkcs7().unwrap());
}

#[test]
fn cavp_monte_carlo() {
    for (name, cpu) in ways() {
        for vector in short::cbc_monte_carlo() {
            let output = vector.run(|key, mut iv| {
                let cbc = Cbc::new(key, cpu).unwrap();
                move |mut block| {
                    let data = block.as_mut_slice().into();
                    if vector.encrypts {
                        cbc.encrypt(&mut iv, data);
                    } else {
                        cbc.decrypt(&mut iv, data);
                    }
                    block
                }
            });
            assert_eq!(output, vector.output, "{name}: {}", vector.source);
        }
    }
}

fn ways() -> Vec<(&'static str, Cpu)> {
    super::ways(Feature::Ssse3, |cpu| {
        Cbc::new(&[0; 16], cpu).unwrap().backend().name()
    })
}

fn check(vectors: &[CbcVector]) {
    for (name, cpu) in ways() {
        for vector in vectors {
            let cbc = Cbc::new(&vector.key, cpu).unwrap();
            let decrypted = each_way(&vector.ciphertext, vector.iv, |iv, data| {
                cbc.decrypt(iv, data);
            });
            let source = &vector.source;
            let plaintext = match vector.padding {
                Padding::None => Some(&decrypted[..]),
                Padding::Pkcs7 => unpadded(&decrypted),
            };
            assert_eq!(plaintext.is_some(), vector.is_valid, "{name}: {source}");
            if vector.is_valid {
                assert_eq!(plaintext.unwrap(), vector.plaintext, "{name}: {source}");
            }
            let encrypted = each_way(&decrypted, vector.iv, |iv, data| cbc.encrypt(iv, data));
            assert_eq!(encrypted, vector.ciphertext, "{name}: {source}");
        }
    }
}

/// Returns the result of `run` for `input`: in place, from buffer to buffer and block by block, if they agree.
fn each_way(
    input: &[u8],
    iv: [u8; 16],
    run: impl Fn(&mut [u8; 16], InOutBuf<'_, '_, u8>),
) -> Vec<u8> {
    let mut in_place = input.to_vec();
    run(&mut iv.clone(), in_place.as_mut_slice().into());
    let mut elsewhere = vec![0; input.len()];
    let both = InOutBuf::new(input, &mut elsewhere).unwrap();
    run(&mut iv.clone(), both);
    let mut by_block = input.to_vec();
    let mut chained = iv;
    for block in by_block.chunks_mut(16) {
        run(&mut chained, block.into());
    }
    assert_eq!(in_place, elsewhere);
    assert_eq!(in_place, by_block);
    in_place
}

/// RFC 5652, section 6.3.
fn unpadded(padded: &[u8]) -> Option<&[u8]> {
    let bytes = usize::from(*padded.last()?);
    let (rest, padding) = padded.split_at_checked(padded.len().checked_sub(bytes)?)?;
    let is_right = (1..=16).contains(&bytes) && padding.iter().all(|b| usize::from(*b) == bytes);
    is_right.then_some(rest)
}
