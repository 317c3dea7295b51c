//! AES-CTR against RustCrypto: every kernel this CPU runs, however the calls are cut.
#![no_main]

use aes::{Aes128, Aes192, Aes256};
use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use inout::InOutBuf;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use oarlock_kernels::aes::{CachedCtr, Ctr, Face};
use oarlock_kernels::cpu::{Cpu, Feature};

fuzz_target!(|input: Input| {
    let expected = input.by_rustcrypto();
    assert_eq!(input.by_kernel(), expected, "kernel");
});

#[derive(Arbitrary, Debug)]
struct Input {
    key: Key,
    start: Start,
    /// Where in the keystream the message begins.
    position: u32,
    length: u16,
    /// Lengths of the calls, over and over; none is one call.
    calls: Vec<u16>,
    /// Of the buffer, from a cache line.
    misalignment: u8,
    in_place: bool,
    kernel: Kernel,
}

#[derive(Arbitrary, Debug)]
enum Key {
    Aes128([u8; 16]),
    Aes192([u8; 24]),
    Aes256([u8; 32]),
}

/// The first counter block. Wraps are too rare to be found by chance.
#[derive(Arbitrary, Debug)]
enum Start {
    Any(u128),
    BeforeWrapOf32 { high: u128, blocks: u16 },
    BeforeWrapOf64 { high: u128, blocks: u16 },
    BeforeWrapOf128 { blocks: u16 },
}

#[derive(Arbitrary, Debug)]
enum Kernel {
    Plain(Hidden),
    /// Counter-mode caching, its table filled as the calls go or before them.
    Cached {
        prepared: bool,
    },
}

#[derive(Arbitrary, Debug)]
enum Hidden {
    Nothing,
    Avx512,
    Vaes,
    Aes,
}

impl Input {
    fn by_rustcrypto(&self) -> Vec<u8> {
        fn run<C: KeyIvInit + StreamCipher + StreamCipherSeek>(input: &Input) -> Vec<u8> {
            let mut data = input.plaintext();
            let iv = input.start.counter_block().to_be_bytes();
            let mut cipher = C::new_from_slices(input.key.bytes(), &iv).unwrap();
            cipher.seek(input.position);
            cipher.apply_keystream(&mut data);
            data
        }
        match self.key {
            Key::Aes128(_) => run::<ctr::Ctr128BE<Aes128>>(self),
            Key::Aes192(_) => run::<ctr::Ctr128BE<Aes192>>(self),
            Key::Aes256(_) => run::<ctr::Ctr128BE<Aes256>>(self),
        }
    }

    fn by_kernel(&self) -> Vec<u8> {
        let key = self.key.bytes();
        let cpu = Cpu::detect();
        match (&self.kernel, Face::new(cpu)) {
            (Kernel::Cached { prepared }, Some(face)) => {
                let mut ctr = CachedCtr::unkeyed(face);
                ctr.set_key(key).unwrap();
                if *prepared {
                    ctr.prepare(self.start.counter_block());
                    self.in_calls(|counter, skip, data| ctr.apply_shared(counter, skip, data))
                } else {
                    self.in_calls(|counter, skip, data| ctr.apply(counter, skip, data))
                }
            }
            (Kernel::Cached { .. }, None) => self.by_plain(cpu),
            (Kernel::Plain(hidden), _) => self.by_plain(match hidden {
                Hidden::Nothing => cpu,
                Hidden::Avx512 => cpu.without(Feature::Avx512),
                Hidden::Vaes => cpu.without(Feature::Vaes),
                Hidden::Aes => cpu.without(Feature::Aes),
            }),
        }
    }

    fn by_plain(&self, cpu: Cpu) -> Vec<u8> {
        let ctr = Ctr::new(self.key.bytes(), cpu).unwrap();
        self.in_calls(|counter, skip, data| ctr.apply(counter, skip, data))
    }

    /// Calls `apply` with a counter, the bytes of its block to skip, and a piece of the message.
    fn in_calls(&self, mut apply: impl FnMut(u128, usize, InOutBuf<'_, '_, u8>)) -> Vec<u8> {
        let plaintext = self.plaintext();
        let offset = usize::from(self.misalignment % 64);
        let mut buffer = vec![0; offset + plaintext.len()];
        let out = &mut buffer[offset..];
        if self.in_place {
            out.copy_from_slice(&plaintext);
        }
        let mut done = 0;
        for piece in self.pieces() {
            let position = u128::from(self.position) + done as u128;
            let counter = self.start.counter_block().wrapping_add(position / 16);
            let out = &mut out[done..done + piece];
            let data = if self.in_place {
                out.into()
            } else {
                InOutBuf::new(&plaintext[done..done + piece], out).unwrap()
            };
            apply(counter, (position % 16) as usize, data);
            done += piece;
        }
        buffer.split_off(offset)
    }

    fn pieces(&self) -> Vec<usize> {
        let mut rest = usize::from(self.length);
        let mut pieces = Vec::new();
        // Zeros alone would go on for ever, and a million calls of a byte find nothing new.
        for call in self.calls.iter().cycle().take(1000) {
            let piece = rest.min(usize::from(*call));
            pieces.push(piece);
            rest -= piece;
            if rest == 0 {
                break;
            }
        }
        pieces.push(rest);
        pieces
    }

    fn plaintext(&self) -> Vec<u8> {
        (0..usize::from(self.length))
            .map(|i| (i * 31 % 251) as u8)
            .collect()
    }
}

impl Key {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Aes128(key) => key,
            Self::Aes192(key) => key,
            Self::Aes256(key) => key,
        }
    }
}

impl Start {
    fn counter_block(&self) -> u128 {
        match *self {
            Self::Any(counter) => counter,
            Self::BeforeWrapOf32 { high, blocks } => (high | 0xffff_ffff) - u128::from(blocks),
            Self::BeforeWrapOf64 { high, blocks } => {
                (high | 0xffff_ffff_ffff_ffff) - u128::from(blocks)
            }
            Self::BeforeWrapOf128 { blocks } => u128::MAX - u128::from(blocks),
        }
    }
}
