//! AES-CTR against RustCrypto: every kernel this CPU runs and every way through the accelerator,
//! however the calls are cut.

use std::sync::LazyLock;

use aes::{Aes128, Aes192, Aes256};
use arbitrary::Arbitrary;
use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use inout::InOutBuf;
use oarlock::device::CipherDevice;
use oarlock::{Accelerator, Builder, Strategy};
use oarlock_kernels::aes::{CachedCtr, Ctr, Face};
use oarlock_kernels::cpu::{Cpu, Feature};

fuzz_target!(|input: Input| {
    let expected = input.by_rustcrypto();
    assert!(
        input.by_oarlock() == expected,
        "oarlock and RustCrypto differ: {input:?}"
    );
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
    /// The buffer's offset from a cache line.
    misalignment: u8,
    in_place: bool,
    subject: Subject,
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
enum Subject {
    Kernel(Hidden),
    /// Counter-mode caching, its table filled as the calls go or before them.
    CachedKernel {
        prepared: bool,
    },
    Session {
        server: Server,
        way: Way,
        seek_each_call: bool,
    },
}

#[derive(Arbitrary, Debug)]
enum Server {
    Cpu(Hidden),
    Software,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Hidden {
    Nothing,
    Face,
    Avx512,
    Vaes,
    Aes,
    AesAndAvx2,
}

#[derive(Arbitrary, Debug)]
enum Way {
    Auto,
    Inline,
    Stripe,
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

    fn by_oarlock(&self) -> Vec<u8> {
        let cpu = Cpu::detect();
        match &self.subject {
            Subject::Kernel(hidden) => {
                let hide = |cpu: Cpu, feature: &Feature| cpu.without(*feature);
                self.by_kernel(hidden.features().iter().fold(cpu, hide))
            }
            Subject::CachedKernel { prepared } => match Face::new(cpu) {
                Some(face) => self.by_cached_kernel(face, *prepared),
                None => self.by_kernel(cpu),
            },
            Subject::Session {
                server,
                way,
                seek_each_call,
            } => self.by_session(server.accelerator(), way, *seek_each_call),
        }
    }

    fn by_kernel(&self, cpu: Cpu) -> Vec<u8> {
        let ctr = Ctr::new(self.key.bytes(), cpu).unwrap();
        self.in_calls(|position, data| ctr.apply(self.counter(position), skip(position), data))
    }

    fn by_cached_kernel(&self, face: Face, prepared: bool) -> Vec<u8> {
        let mut ctr = CachedCtr::unkeyed(face);
        ctr.set_key(self.key.bytes()).unwrap();
        if prepared {
            ctr.prepare(self.start.counter_block());
            self.in_calls(|position, data| {
                ctr.apply_shared(self.counter(position), skip(position), data);
            })
        } else {
            self.in_calls(|position, data| ctr.apply(self.counter(position), skip(position), data))
        }
    }

    fn by_session(&self, accelerator: &Accelerator, way: &Way, seek_each_call: bool) -> Vec<u8> {
        let iv = self.start.counter_block().to_be_bytes();
        let mut session = accelerator.ctr(self.key.bytes(), &iv).unwrap();
        session.set_strategy(match way {
            Way::Auto => Strategy::Auto,
            Way::Inline => Strategy::Inline,
            Way::Stripe => Strategy::Stripe,
        });
        session.seek(self.position);
        self.in_calls(|position, data| {
            if seek_each_call {
                session.seek(position);
            }
            session.apply_keystream_inout(data);
        })
    }

    /// Calls `apply` with a position in the keystream and the piece of the message that is there.
    fn in_calls(&self, mut apply: impl FnMut(u64, InOutBuf<'_, '_, u8>)) -> Vec<u8> {
        let plaintext = self.plaintext();
        let offset = usize::from(self.misalignment % 64);
        let mut buffer = vec![0; offset + plaintext.len()];
        let out = &mut buffer[offset..];
        if self.in_place {
            out.copy_from_slice(&plaintext);
        }
        let mut done = 0;
        for piece in self.pieces() {
            let out = &mut out[done..done + piece];
            let data = if self.in_place {
                out.into()
            } else {
                InOutBuf::new(&plaintext[done..done + piece], out).unwrap()
            };
            apply(u64::from(self.position) + done as u64, data);
            done += piece;
        }
        buffer.split_off(offset)
    }

    fn counter(&self, position: u64) -> u128 {
        self.start
            .counter_block()
            .wrapping_add(u128::from(position / 16))
    }

    fn pieces(&self) -> Vec<usize> {
        let mut rest = usize::from(self.length);
        let mut pieces = Vec::new();
        // Zeros alone would go on without end, and a million calls of a byte find nothing new.
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

fn skip(position: u64) -> usize {
    (position % 16) as usize
}

impl Server {
    /// Made once each: their threads outlive the input.
    fn accelerator(&self) -> &'static Accelerator {
        static CPU: LazyLock<Vec<Accelerator>> = LazyLock::new(|| {
            ["", "-face", "-avx512", "-vaes", "-aes", "-aes,-avx2"]
                .map(|mask| built(Accelerator::builder().cpu_mask(mask), CipherDevice::Cpu))
                .into()
        });
        static SOFTWARE: LazyLock<Accelerator> =
            LazyLock::new(|| built(Accelerator::builder(), CipherDevice::Software));
        fn built(builder: Builder, device: CipherDevice) -> Accelerator {
            builder.cipher_device(device).build().unwrap()
        }
        match self {
            Self::Cpu(hidden) => &CPU[*hidden as usize],
            Self::Software => &SOFTWARE,
        }
    }
}

impl Hidden {
    fn features(self) -> &'static [Feature] {
        match self {
            Self::Nothing => &[],
            Self::Face => &[Feature::Face],
            Self::Avx512 => &[Feature::Avx512],
            Self::Vaes => &[Feature::Vaes],
            Self::Aes => &[Feature::Aes],
            Self::AesAndAvx2 => &[Feature::Aes, Feature::Avx2],
        }
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
