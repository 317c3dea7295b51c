//! The compression of SHA-512, compared with RustCrypto's.

use oarlock_kernels::Avx2;
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_kernels::sha512::{BLOCK_BYTES, Compression, dispatch::AVX2};
use oarlock_testing::seeded_noise;

#[test]
fn blocks_change_the_state_as_another_implementation_says() {
    let Some(token) = Avx2::new(Cpu::detect()) else {
        return;
    };
    let before = AVX2.get();
    let noise = seeded_noise(512, 9 * BLOCK_BYTES + 1);
    // Aligned and not.
    for at in [0, 1] {
        let (blocks, _) = noise[at..].as_chunks::<BLOCK_BYTES>();
        for count in 0..=9 {
            let mut state =
                [0, 1, 2, 3, 4, 5, 6, 7].map(|word: u64| word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut expected = state;
            Compression::new(token).absorb(&mut state, &blocks[..count]);
            sha2::block_api::compress512(&mut expected, &blocks[..count]);
            assert_eq!(state, expected, "{count} blocks");
        }
    }
    assert!(AVX2.get() >= before + 20);
}

#[test]
fn a_cpu_without_the_instructions_has_no_token() {
    assert_eq!(Avx2::new(Cpu::detect().without(Feature::Avx2)), None);
}
