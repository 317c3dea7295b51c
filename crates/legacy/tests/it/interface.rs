//! The interface of all ciphers: each gives the results of RustCrypto, whatever the CPU has.

use cipher::{BlockCipherEncrypt, KeyInit};
use oarlock_kernels::cpu::Cpu;
use oarlock_legacy::{BlockCtr, Cipher, Ctr, InvalidKeyLength};

use super::with_others;

fn same<C: BlockCipherEncrypt + KeyInit>(cipher: Cipher, lengths: &[usize]) {
    let _guard = with_others();
    for mask in ["", "-aes,-gfni", "-ssse3"] {
        let cpu = Cpu::detect().masked(mask).unwrap();
        assert!(!cipher.backend(cpu).is_empty());
        for key_bytes in lengths {
            let key: Vec<u8> = (0..*key_bytes as u8).map(|i| i.wrapping_mul(37)).collect();
            let (ctr, expected) = (
                Ctr::shared(cipher, cpu, &key).unwrap(),
                BlockCtr::<C>::new(&key).unwrap(),
            );
            for (counter, skip, bytes) in [
                (0, 0, 16),
                (7, 3, 1000),
                (u128::MAX - 1, 5, 100),
                (0xffff_ffff, 0, 5000),
            ] {
                let (mut data, mut other) = (vec![0; bytes], vec![0; bytes]);
                ctr.apply(counter, skip, data.as_mut_slice().into());
                expected.apply(counter, skip, other.as_mut_slice().into());
                assert!(data == other, "{cipher:?} {mask:?}, {bytes} bytes");
            }
        }
        let error = Ctr::shared(cipher, cpu, &[0; 3]).unwrap_err();
        assert_eq!(error, InvalidKeyLength(3));
        assert!(error.to_string().ends_with("this one has 3"));
    }
}

#[test]
fn each_cipher_is_rustcryptos() {
    same::<camellia::Camellia128>(Cipher::Camellia, &[16]);
    same::<camellia::Camellia192>(Cipher::Camellia, &[24]);
    same::<camellia::Camellia256>(Cipher::Camellia, &[32]);
    same::<aria::Aria128>(Cipher::Aria, &[16]);
    same::<aria::Aria192>(Cipher::Aria, &[24]);
    same::<aria::Aria256>(Cipher::Aria, &[32]);
    same::<sm4::Sm4>(Cipher::Sm4, &[16]);
    same::<::serpent::Serpent>(Cipher::Serpent, &[16, 24, 32]);
    same::<twofish::Twofish>(Cipher::Twofish, &[16, 24, 32]);
    same::<cast5::Cast5>(Cipher::Cast5, &[5, 16]);
    same::<blowfish::Blowfish>(Cipher::Blowfish, &[4, 16, 56]);
}

#[test]
fn debug_output_shows_no_key() {
    let ctr = Ctr::shared(Cipher::Sm4, Cpu::detect(), &[0xab; 16]).unwrap();
    assert_eq!(format!("{ctr:?}"), "Ctr { .. }");
}
