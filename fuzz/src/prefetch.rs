//! Streams with keystream made ahead against RustCrypto: whatever is ready when, wherever the
//! session goes in between, and however its strategy and the options change.

use std::sync::LazyLock;
use std::time::Duration;

use aes::Aes128;
use arbitrary::Arbitrary;
use chacha20::ChaCha20;
use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use des::TdesEde3;
use inout::InOutBuf;
use oarlock::Algorithm;
use oarlock::cipher::{AcceleratedCtr, AnyStream};
use oarlock::{Accelerator, PrefetchWorker, Strategy};

fuzz_target!(|input: Input| {
    match input.cipher {
        Cipher::Aes => input.run::<ctr::Ctr128BE<Aes128>>(Algorithm::Aes128Ctr, 16),
        Cipher::ChaCha20 => input.run::<ChaCha20>(Algorithm::ChaCha20, 12),
        Cipher::TripleDes => input.run::<ctr::Ctr64BE<TdesEde3>>(Algorithm::TripleDesCtr, 8),
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    cipher: Cipher,
    key: [u8; 32],
    iv: Iv,
    shape: Shape,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Cipher {
    Aes,
    ChaCha20,
    TripleDes,
}

/// Wraps are too rare to be found by chance.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Iv {
    Any([u8; 16]),
    BeforeWrap { high: [u8; 16], ones: u8, less: u8 },
}

/// The shape of the rings; the smallest has a single granule.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Shape {
    Smallest,
    Small,
    Uneven,
    Idle,
    Default,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Apply {
        bytes: u16,
        in_place: bool,
    },
    /// A few bytes at a time.
    ApplyOften {
        bytes: u8,
        times: u8,
    },
    Seek(u32),
    /// From where the session is.
    SeekBy(i16),
    SetIv(Iv),
    Prefill {
        microseconds: u8,
    },
    Strategy(Way),
    /// Options of the accelerator, which sessions without options of their own take over.
    Options {
        way: Way,
        streams: u8,
    },
    /// Gives the workers time.
    Wait {
        microseconds: u8,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Way {
    Auto,
    Inline,
    Stripe,
    Prefetch,
}

impl Input {
    fn run<C: KeyIvInit + StreamCipher + StreamCipherSeek>(
        &self,
        operation: Algorithm,
        iv_bytes: usize,
    ) {
        let accelerator = self.shape.accelerator();
        let key = &self.key[..operation.key_bytes()];
        let iv = self.iv.bytes(iv_bytes);
        let mut ours = accelerator.stream(operation, key, &iv).unwrap();
        let mut theirs = C::new_from_slices(key, &iv).unwrap();
        for step in self.steps.iter().take(STEPS_MAX) {
            match step {
                Step::Apply { bytes, in_place } => {
                    apply(&mut ours, &mut theirs, usize::from(*bytes), *in_place, self);
                }
                Step::ApplyOften { bytes, times } => {
                    for _ in 0..*times {
                        apply(&mut ours, &mut theirs, usize::from(*bytes), true, self);
                    }
                }
                Step::Seek(position) => {
                    ours.seek(*position);
                    theirs.seek(*position);
                }
                Step::SeekBy(bytes) => {
                    let position: u64 = ours.current_pos();
                    let position = position.saturating_add_signed(i64::from(*bytes));
                    ours.seek(position);
                    theirs.seek(position);
                }
                Step::SetIv(iv) => {
                    let iv = iv.bytes(iv_bytes);
                    ours.set_iv(&iv).unwrap();
                    assert!(ours.set_iv(&[0; 3]).is_err());
                    theirs = C::new_from_slices(key, &iv).unwrap();
                }
                Step::Prefill { microseconds } => {
                    ours.prefill(Duration::from_micros((*microseconds).into()));
                }
                Step::Strategy(way) => ours.set_strategy(way.strategy()),
                Step::Options { way, streams } => {
                    let mut options = accelerator.options();
                    options.strategy = way.strategy();
                    options.cipher_streams = Some(usize::from(streams % 8) + 1);
                    accelerator.set_options(options).unwrap();
                }
                Step::Wait { microseconds } => {
                    std::thread::sleep(Duration::from_micros((*microseconds).into()));
                }
            }
            let (ours, theirs) = (ours.current_pos::<u64>(), theirs.current_pos::<u64>());
            assert_eq!(ours, theirs, "after {step:?}: {self:?}");
        }
    }
}

fn apply(
    ours: &mut AcceleratedCtr<AnyStream>,
    theirs: &mut impl StreamCipher,
    bytes: usize,
    in_place: bool,
    input: &Input,
) {
    let plaintext: Vec<u8> = (0..bytes).map(|i| (i * 31 % 251) as u8).collect();
    let mut expected = plaintext.clone();
    theirs.apply_keystream(&mut expected);
    let mut found = vec![0xaa; bytes];
    if in_place {
        found.copy_from_slice(&plaintext);
        ours.apply_keystream(&mut found);
    } else {
        ours.apply_keystream_inout(InOutBuf::new(&plaintext, &mut found).unwrap());
    }
    assert!(
        found == expected,
        "oarlock and RustCrypto differ: {input:?}"
    );
}

impl Shape {
    /// Made once each: their threads outlive the input.
    fn accelerator(self) -> &'static Accelerator {
        static ALL: LazyLock<[Accelerator; 5]> = LazyLock::new(|| {
            use PrefetchWorker::{Idle, Pool};
            [
                (16, 1, Pool),
                (16, 3, Pool),
                (48, 5, Pool),
                (64, 2, Idle),
                (4096, 4, Pool),
            ]
            .map(|(blocks, streams, worker)| {
                Accelerator::builder()
                    .max_threads(2)
                    .cipher_blocks(blocks)
                    .cipher_streams(streams)
                    .prefetch_worker(worker)
                    .strategy(Strategy::Prefetch)
                    .build()
                    .unwrap()
            })
        });
        &ALL[self as usize]
    }
}

impl Way {
    fn strategy(self) -> Strategy {
        match self {
            Self::Auto => Strategy::Auto,
            Self::Inline => Strategy::Inline,
            Self::Stripe => Strategy::Stripe,
            Self::Prefetch => Strategy::Prefetch,
        }
    }
}

impl Iv {
    fn bytes(self, bytes: usize) -> Vec<u8> {
        let mut iv = match self {
            Self::Any(iv) => iv,
            Self::BeforeWrap {
                mut high,
                ones,
                less,
            } => {
                high[16 - usize::from(ones % 16) - 1..].fill(0xff);
                high[15] -= less;
                high
            }
        }
        .to_vec();
        iv.split_off(16 - bytes)
    }
}

/// A thousand requests find what a million do.
const STEPS_MAX: usize = 64;
