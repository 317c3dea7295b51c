//! ChaCha20, Poly1305 and ChaCha20-Poly1305, on every backend.

mod aead;
mod cipher;
mod poly1305;

use inout::InOutBuf;
use oarlock_kernels::aes::dispatch::Counter;
use oarlock_kernels::chacha20::{Backend, ChaCha20, Units, dispatch};
use oarlock_kernels::chacha20_poly1305::{Ahead, ChaCha20Poly1305};
use oarlock_kernels::cpu::{Cpu, Feature};

use super::alone;
use super::pages::Pages;

/// Turns each `fn body(backend: Backend)` into a test that runs on every backend of the machine.
macro_rules! for_every_backend {
    ($($body:ident),+ $(,)?) => {
        mod every_backend {
            $(#[test]
            fn $body() {
                let _guard = crate::with_others();
                for backend in super::super::backends() {
                    super::$body(backend);
                }
            })+
        }
    };
}
use for_every_backend;

/// The backends of this CPU, and of one whose integer units share ports with its vectors.
fn backends() -> Vec<Backend> {
    let cpu = Cpu::detect();
    let mut backends: Vec<_> = Backend::all(cpu).collect();
    for backend in Backend::all(cpu.without(Feature::Apart)) {
        if !backends.contains(&backend) {
            backends.push(backend);
        }
    }
    backends
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    hex::decode(digits).unwrap()
}

fn cipher(backend: Backend, key: &[u8]) -> ChaCha20 {
    let mut cipher = ChaCha20::unkeyed(backend);
    cipher.set_key(key).unwrap();
    cipher
}

fn aead(backend: Backend, key: &[u8]) -> ChaCha20Poly1305 {
    let mut aead = ChaCha20Poly1305::unkeyed(backend);
    aead.set_key(key).unwrap();
    aead
}

fn counter(nonce: &[u8], block: u32) -> u128 {
    let mut bytes = [0; 16];
    bytes[..12].copy_from_slice(nonce);
    u128::from_be_bytes(bytes) | u128::from(block)
}

const SUNSCREEN: &[u8] = b"Ladies and Gentlemen of the class of '99: If I could offer you only \
    one tip for the future, sunscreen would be it.";

/// Runs on buffers that end where an inaccessible page begins, and on buffers that begin where one ends; out of place and in
/// place.
fn at_the_edges_of_pages(run: impl Fn(InOutBuf<'_, '_, u8>)) {
    let (input, output) = (Pages::new(2), Pages::new(2));
    let lengths = (0..=300).chain([511, 512, 513, 1000, 1024, 1088, 2047, 3333, 8191, 8192]);
    for length in lengths {
        for at in [0, input.bytes() - length] {
            // SAFETY: both ranges lie within pages to which nothing else refers.
            unsafe {
                let (from, to) = (input.start().add(at), output.start().add(at));
                core::ptr::write_bytes(from, 0x11, length);
                run(InOutBuf::from_raw(from, to, length));
                run(core::slice::from_raw_parts_mut(from, length).into());
                let in_place = core::slice::from_raw_parts(from, length);
                assert!(
                    in_place == core::slice::from_raw_parts(to, length),
                    "{length} bytes"
                );
            }
        }
    }
}

#[test]
fn the_kernel_that_was_asked_for_ran() {
    let _guard = alone();
    let counts = || {
        [
            &dispatch::PORTABLE,
            &dispatch::SSSE3,
            &dispatch::AVX2,
            &dispatch::AVX512,
            &dispatch::PORTABLE_AND_MAC,
            &dispatch::SSSE3_AND_MAC,
            &dispatch::AVX2_AND_MAC,
            &dispatch::AVX512_AND_MAC,
        ]
        .map(Counter::get)
    };
    for backend in backends() {
        let of_backend = ["portable", "ssse3", "avx2", "avx512"]
            .iter()
            .position(|name| *name == backend.name())
            .unwrap();
        let ran = |run: &dyn Fn()| {
            let before = counts();
            run();
            let after = counts();
            let ran: Vec<usize> = (0..8).filter(|i| after[*i] > before[*i]).collect();
            assert!(
                ran.iter().all(|i| i % 4 == of_backend),
                "{backend:?} {ran:?}"
            );
            ran
        };
        let cipher = cipher(backend, &[0; 32]);
        assert_eq!(
            ran(&|| cipher.apply(0, 0, (&mut [0; 100][..]).into())),
            [of_backend]
        );
        let aead = aead(backend, &[0; 32]);
        let with_mac = ran(&|| {
            aead.seal(&[0; 12], b"", (&mut [0; 5000][..]).into())
                .unwrap();
        });
        assert!(with_mac.contains(&(4 + of_backend)), "{backend:?}");

        let before = dispatch::KEPT_POWERS.get();
        let mut message = aead.begin(&[0; 12], b"").unwrap();
        let mut ahead = Ahead::default();
        for _ in 0..10 {
            let mut part = [0; 256];
            aead.seal_next_ahead(&mut message, (&mut part[..]).into(), &mut ahead)
                .unwrap();
        }
        // Powers are computed with the second part.
        let parts = if backend.name() == "avx512" { 9 } else { 0 };
        assert_eq!(dispatch::KEPT_POWERS.get() - before, parts, "{backend:?}");
    }
}

/// Which of the column kernels run, and which do not, for lengths on either side of each threshold.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_kernel_by_columns_that_suits_a_length_ran() {
    let _guard = alone();
    let Some(backend) = Backend::all(Cpu::detect()).find(|backend| backend.name() == "avx2") else {
        return oarlock_testing::skip("this CPU lacks AVX2");
    };
    let ran = |run: &dyn Fn(&mut [u8]), bytes: usize| {
        let kernels = [
            &dispatch::BLOCK,
            &dispatch::COLUMNS,
            &dispatch::COLUMNS_AND_BLOCK,
            &dispatch::COLUMNS_AND_MAC,
        ];
        let before = kernels.map(Counter::get);
        run(&mut vec![0; bytes]);
        let after = kernels.map(Counter::get);
        [0, 1, 2, 3].map(|i| after[i] - before[i])
    };
    let cipher = cipher(backend, &[0; 32]);
    let apply = |data: &mut [u8]| cipher.apply(0, 0, data.into());
    for (bytes, kernels) in [
        (1, [1, 0, 0, 0]),
        (64, [1, 0, 0, 0]),
        (65, [0, 0, 0, 0]),
        (256, [0, 0, 0, 0]),
        (257, [0, 1, 0, 0]),
        (512, [0, 1, 0, 0]),
        (513, [0, 0, 1, 0]),
        (576, [0, 0, 1, 0]),
        (640, [1, 0, 1, 0]),
        (1024, [0, 1, 0, 0]),
        // Nine blocks, and eight processed as if they were nine.
        (1126, [0, 0, 2, 0]),
        (1152, [0, 0, 1, 0]),
        (4096, [0, 1, 0, 0]),
    ] {
        assert_eq!(ran(&apply, bytes), kernels, "{bytes} bytes");
    }
    let aead = aead(backend, &[0; 32]);
    let seal = |data: &mut [u8]| {
        aead.seal(&[0; 12], b"", data.into()).unwrap();
    };
    for (bytes, kernels) in [
        (256, [0, 0, 0, 0]),
        (257, [0, 0, 1, 0]),
        (512, [0, 0, 1, 0]),
        (600, [0, 0, 1, 0]),
        (1023, [0, 0, 1, 1]),
        (1024, [0, 0, 1, 1]),
        // One run for all whole chunks, and one for the rest.
        (5000, [0, 0, 1, 2]),
    ] {
        assert_eq!(ran(&seal, bytes), kernels, "{bytes} bytes");
    }
}

/// Parts that are absorbed during rounds for later, or during their own: those that use up what was computed ahead, but not
/// shorter ones, nor those that begin within a block.
#[cfg(target_arch = "x86_64")]
#[test]
fn parts_of_a_message_are_absorbed_beside_rounds() {
    let _guard = alone();
    let Some(backend) = Backend::all(Cpu::detect()).find(|backend| backend.name() == "avx2") else {
        return oarlock_testing::skip("this CPU lacks AVX2");
    };
    let aead = aead(backend, &[0; 32]);
    for (bytes, seals, opens) in [
        (128, 0, 0),
        (192, 0, 0),
        (255, 0, 0),
        (256, 4, 4),
        (512, 9, 9),
        (1024, 9, 0),
        (1536, 9, 27),
        (1000, 0, 0),
    ] {
        for (is_open, expected) in [(false, seals), (true, opens)] {
            let mut message = aead.begin(&[0; 12], b"").unwrap();
            let mut ahead = Ahead::default();
            let before = dispatch::MADE_BESIDE.get();
            // Powers are computed with the second part.
            for _ in 0..10 {
                let mut part = vec![0; bytes];
                let part = part.as_mut_slice().into();
                match is_open {
                    false => aead.seal_next_ahead(&mut message, part, &mut ahead),
                    true => aead.open_next_ahead(&mut message, part, &mut ahead),
                }
                .unwrap();
            }
            let made = dispatch::MADE_BESIDE.get() - before;
            assert_eq!(made, expected, "{bytes} bytes, opens: {is_open}");
        }
    }
}

/// Whether block 0 of a message, and the powers for a part of one, are computed during the rounds.
#[cfg(target_arch = "x86_64")]
#[test]
fn what_the_mac_needs_is_made_beside_the_rounds_of_lengths_that_gain() {
    let _guard = alone();
    for backend in backends() {
        let aead = aead(backend, &[0; 32]);
        let ran = |run: &dyn Fn(&mut [u8]), bytes: usize| {
            let counts = || [&dispatch::BLOCK_BESIDE, &dispatch::POWERS_BESIDE].map(Counter::get);
            let before = counts();
            run(&mut vec![0; bytes]);
            let after = counts();
            [0, 1].map(|i| after[i] - before[i])
        };
        let seal = |data: &mut [u8]| {
            aead.seal(&[0; 12], b"", data.into()).unwrap();
        };
        let open = |data: &mut [u8]| {
            let mut message = aead.begin(&[0; 12], b"").unwrap();
            aead.open_next(&mut message, data.into()).unwrap();
        };
        let (whole, in_parts): (&[usize], &[usize]) = match backend {
            Backend::Avx512(_, Units::Apart) => {
                (&[257, 512, 513, 1024, 1025, 5000], &[257, 1024, 5000])
            }
            Backend::Avx512(_, Units::Shared) => (&[513, 1024, 1025, 5000], &[1024, 5000]),
            _ => (&[], &[]),
        };
        for bytes in [64, 65, 128, 256, 257, 512, 513, 1024, 1025, 5000] {
            let expected = [u64::from(whole.contains(&bytes)), 0];
            assert_eq!(ran(&seal, bytes), expected, "{backend:?}, {bytes} bytes");
        }
        for bytes in [256, 257, 1024, 5000] {
            let expected = [0, u64::from(in_parts.contains(&bytes))];
            assert_eq!(ran(&open, bytes), expected, "{backend:?}, {bytes} bytes");
        }
    }
}

/// The same for the kernels of CPUs without AVX2.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_kernel_of_four_blocks_that_suits_a_length_ran() {
    let _guard = alone();
    let cpu = Cpu::detect();
    if !cpu.has(Feature::Ssse3) {
        return oarlock_testing::skip("this CPU lacks SSSE3");
    }
    let ran = |run: &dyn Fn(&mut [u8]), bytes: usize| {
        let kernels = [
            &dispatch::BLOCK,
            &dispatch::FOUR_COLUMNS,
            &dispatch::FOUR_COLUMNS_AND_BLOCK,
            &dispatch::FOUR_COLUMNS_AND_MAC,
        ];
        let before = kernels.map(Counter::get);
        run(&mut vec![0; bytes]);
        let after = kernels.map(Counter::get);
        [0, 1, 2, 3].map(|i| after[i] - before[i])
    };
    let apart: &[_] = &[
        (1, [1, 0, 0, 0]),
        (64, [1, 0, 0, 0]),
        (65, [0, 0, 0, 0]),
        (192, [0, 0, 0, 0]),
        (193, [0, 0, 1, 0]),
        (256, [0, 1, 0, 0]),
        (257, [0, 0, 1, 0]),
        (320, [0, 0, 1, 0]),
        (384, [1, 0, 1, 0]),
        (576, [0, 1, 1, 0]),
        // All whole chunks in one run.
        (4096, [0, 1, 1, 0]),
    ];
    let shared: &[_] = &[
        (64, [1, 0, 0, 0]),
        (65, [0, 0, 0, 0]),
        (192, [0, 0, 0, 0]),
        (193, [0, 1, 0, 0]),
        (256, [0, 1, 0, 0]),
        (257, [1, 1, 0, 0]),
        (384, [0, 1, 0, 0]),
        (500, [0, 2, 0, 0]),
        (4096, [0, 1, 0, 0]),
    ];
    let sealing = [
        (128, [0, 0, 0, 0]),
        (129, [0, 0, 1, 0]),
        (256, [0, 0, 1, 0]),
        (448, [0, 0, 1, 0]),
        (449, [0, 0, 1, 1]),
        (512, [0, 0, 1, 1]),
        (5000, [0, 0, 1, 1]),
    ];
    for (cpu, applying) in [(cpu, apart), (cpu.without(Feature::Apart), shared)] {
        if applying == apart && !cpu.has(Feature::Apart) {
            continue;
        }
        let backend = Backend::all(cpu).find(|backend| backend.name() == "ssse3");
        let cipher = cipher(backend.unwrap(), &[0; 32]);
        let apply = |data: &mut [u8]| cipher.apply(0, 0, data.into());
        for (bytes, kernels) in applying {
            assert_eq!(ran(&apply, *bytes), *kernels, "{backend:?}, {bytes} bytes");
        }
        let aead = aead(backend.unwrap(), &[0; 32]);
        let seal = |data: &mut [u8]| {
            aead.seal(&[0; 12], b"", data.into()).unwrap();
        };
        for (bytes, kernels) in sealing {
            assert_eq!(ran(&seal, bytes), kernels, "{backend:?}, {bytes} bytes");
        }
    }
}

#[test]
fn backends_are_listed_best_first_and_end_with_the_portable_one() {
    let names = |cpu: Cpu| Backend::all(cpu).map(Backend::name).collect::<Vec<_>>();
    let here = names(Cpu::detect());
    assert!(["avx512", "avx2", "ssse3", "portable"].ends_with(&here));
    assert_eq!(names(Cpu::PORTABLE), ["portable"]);
    assert_eq!(Backend::preferred(Cpu::detect()).name(), here[0]);
}

const IETF_SUBMISSION: &[u8] = b"Any submission to the IETF intended by the Contributor for \
    publication as all or part of an IETF Internet-Draft or RFC and any statement made within the \
    context of an IETF activity is considered an \"IETF Contribution\". Such statements include \
    oral statements in IETF sessions, as well as written and electronic communications made at any \
    time or place, which are addressed to";

const JABBERWOCKY: &[u8] = b"'Twas brillig, and the slithy toves\nDid gyre and gimble in the \
    wabe:\nAll mimsy were the borogoves,\nAnd the mome raths outgrabe.";
