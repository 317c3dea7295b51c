//! AES-CBC interleaved with HMAC: each packet's finished ciphertext is hashed while its next blocks are encrypted.

use super::chained::CbcHmac;
use super::hmac::{Hash, HashBackend, Lanes, Phase};
use crate::aes::Backend;
use crate::hash::{LANES_MAX, Own, Rows};
use crate::key::{BLOCK_BYTES, KeySize, Schedule};
use crate::wipe::wipe;
use crate::x86_64::batch::{beside, cbc, stitched};
use crate::x86_64::{AesNi, Avx512, ShaNi, Vaes512};

/// Bytes that one step hashes, and that the cipher encrypts during it.
const STEP_BYTES: usize = 64;

/// The most steps for lanes without data to encrypt, which have memory for that many.
const IDLE_STEPS: usize = 16;

/// Encrypts and authenticates packets that were checked. Returns false if no kernel does both at once.
pub(super) fn encrypt_then_mac<H: Hash>(
    backend: Backend,
    hash_backend: HashBackend,
    packets: &mut [CbcHmac<'_, H>],
) -> bool {
    let Some(first) = packets.first() else {
        return true;
    };
    let size = first.cipher.schedule.size;
    let mut sizes = packets.iter().map(|packet| packet.cipher.schedule.size);
    if H::BLOCK_BYTES != STEP_BYTES || !sizes.all(|other| other == size) {
        return false;
    }
    let aes_ni = match backend {
        Backend::AesNi(token) => token,
        Backend::Vaes256(token) => token.aes_ni(),
        Backend::Vaes512(token) => token.aes_ni(),
        _ => return false,
    };
    match (backend, hash_backend) {
        (Backend::Vaes512(vaes), HashBackend::Avx512(avx512)) if packets.len() > 4 => {
            let tokens = (vaes, avx512);
            let lanes = cbc::Lanes::new(size.rounds());
            let kernel = Wide {
                tokens,
                lanes,
                size,
            };
            run::<H, _, 16>(kernel, hash_backend, packets);
        }
        (_, HashBackend::ShaNi(sha)) if !matches!(H::OWN, Own::None) => {
            let tokens = (aes_ni, sha);
            if packets.len() == 1 {
                run::<H, _, 1>(Narrow::new(tokens, size), hash_backend, packets);
            } else {
                run::<H, _, 2>(Narrow::new(tokens, size), hash_backend, packets);
            }
        }
        _ => return false,
    }
    true
}

/// A kernel that encrypts `LANES` streams while it hashes the same number of messages.
trait Kernel<const LANES: usize> {
    /// Loads a stream's key and the block before its first into a lane.
    fn begin(&mut self, lane: usize, schedule: &Schedule, chain: &[u8; BLOCK_BYTES]);
    /// Sets the address at which a stream continues.
    fn place(&mut self, lane: usize, place: *mut u8);
    /// Encrypts `steps` times 64 bytes of each stream, and absorbs the same number of bytes of each message into its state.
    /// In each step, the hash reads a block that an earlier step encrypted.
    ///
    /// # Safety
    /// All pointers are valid for that many bytes; the keys are alive.
    unsafe fn step<H: Hash>(
        &mut self,
        messages: Option<(&mut Rows<H::Word>, &[*const u8; LANES_MAX])>,
        steps: usize,
    );
}

/// VAES interleaved with a hash on AVX-512.
struct Wide {
    tokens: (Vaes512, Avx512),
    lanes: cbc::Lanes<16>,
    size: KeySize,
}

impl Kernel<16> for Wide {
    fn begin(&mut self, lane: usize, schedule: &Schedule, chain: &[u8; BLOCK_BYTES]) {
        self.lanes.begin(lane, schedule, chain);
    }
    fn place(&mut self, lane: usize, place: *mut u8) {
        (self.lanes.from[lane], self.lanes.to[lane]) = (place, place);
    }
    unsafe fn step<H: Hash>(
        &mut self,
        messages: Option<(&mut Rows<H::Word>, &[*const u8; LANES_MAX])>,
        steps: usize,
    ) {
        let (tokens, lanes, size) = (self.tokens, &mut self.lanes, self.size);
        // SAFETY: the caller has `steps` times 64 bytes of each stream and message, and the keys, which `begin` laid out,
        // have length `size`.
        unsafe {
            match messages {
                Some((rows, from)) => {
                    beside::absorb_and_encrypt::<H>(tokens, rows, from, lanes, size, steps);
                }
                None => beside::encrypt(tokens.0, lanes, size, steps),
            }
        }
    }
}

/// AES-NI interleaved with SHA-NI.
struct Narrow<const N: usize> {
    tokens: (AesNi, ShaNi),
    streams: stitched::Streams<N>,
    size: KeySize,
}

impl<const N: usize> Narrow<N> {
    fn new(tokens: (AesNi, ShaNi), size: KeySize) -> Self {
        Self {
            tokens,
            streams: stitched::Streams {
                schedules: [core::ptr::null(); N],
                chain: [[0; BLOCK_BYTES]; N],
                places: [core::ptr::null_mut(); N],
            },
            size,
        }
    }
}

impl<const N: usize> Kernel<N> for Narrow<N> {
    fn begin(&mut self, lane: usize, schedule: &Schedule, chain: &[u8; BLOCK_BYTES]) {
        self.streams.schedules[lane] = schedule;
        self.streams.chain[lane] = *chain;
    }
    fn place(&mut self, lane: usize, place: *mut u8) {
        self.streams.places[lane] = place;
    }
    unsafe fn step<H: Hash>(
        &mut self,
        messages: Option<(&mut Rows<H::Word>, &[*const u8; LANES_MAX])>,
        steps: usize,
    ) {
        let (tokens, streams, size) = (self.tokens, &mut self.streams, self.size);
        // SAFETY: the caller has `steps` times 64 bytes of each stream and message, and the keys are alive;
        // `encrypt_then_mac` requires a hash that has its own instructions.
        unsafe { stitched::absorb_and_encrypt::<H, N>(tokens, messages, streams, size, steps) }
    }
}

/// The progress of a packet's encryption, in bytes from its start.
#[derive(Clone, Copy)]
struct Slot {
    start: *mut u8,
    bytes: usize,
    next: usize,
    end: usize,
}

impl Slot {
    const EMPTY: Self = Self {
        start: core::ptr::null_mut(),
        bytes: 0,
        next: 0,
        end: 0,
    };

    /// Returns the bytes still to encrypt.
    fn pending(&self) -> usize {
        self.end - self.next
    }

    /// Returns the bytes at the front of the packet that are final.
    fn ready(&self) -> usize {
        if self.pending() > 0 {
            self.next
        } else {
            self.bytes
        }
    }
}

/// Memory for lanes that have less than a step to encrypt, or nothing.
struct Spare<const LANES: usize> {
    rests: [[u8; STEP_BYTES]; LANES],
    idle: [u8; IDLE_STEPS * STEP_BYTES],
}

impl<const LANES: usize> Drop for Spare<LANES> {
    fn drop(&mut self) {
        wipe(self.rests.as_flattened_mut());
        wipe(&mut self.idle);
    }
}

/// Encrypts and authenticates packets whose keys have the same length.
fn run<H: Hash, K: Kernel<LANES>, const LANES: usize>(
    mut kernel: K,
    hash_backend: HashBackend,
    packets: &mut [CbcHmac<'_, H>],
) {
    let Some(first) = packets.first() else {
        return;
    };
    let mut lanes = Lanes::<H>::new(hash_backend, packets.len());
    let mut slots = [Slot::EMPTY; LANES];
    let mut spare = Spare {
        rests: [[0; STEP_BYTES]; LANES],
        idle: [0; IDLE_STEPS * STEP_BYTES],
    };
    for lane in 0..LANES {
        kernel.begin(lane, &first.cipher.schedule, first.iv);
    }
    let mut next = 0;
    loop {
        let mut busy = false;
        for (lane, slot) in slots.iter_mut().enumerate() {
            while lanes.left[lane] == 0 && slot.pending() == 0 {
                if lanes.phase[lane] != Phase::Idle {
                    let packet = &mut packets[lanes.request[lane]];
                    if lanes.next_phase(lane, packet.mac) {
                        continue;
                    }
                    let tag = &mut *packet.tag;
                    tag.copy_from_slice(&lanes.tails[lane][..tag.len()]);
                }
                let Some(packet) = packets.get_mut(next) else {
                    break;
                };
                let encrypted = packet.encrypted.clone();
                *slot = Slot {
                    bytes: packet.packet.len(),
                    start: packet.packet.as_mut_ptr(),
                    next: encrypted.start,
                    end: encrypted.end,
                };
                kernel.begin(lane, &packet.cipher.schedule, packet.iv);
                // SAFETY: the packet stays borrowed; nothing writes to the bytes to be read until they have been.
                unsafe { lanes.begin(lane, next, packet.mac, slot.start, slot.bytes) };
                lanes.release(lane, slot.ready());
                next += 1;
            }
            busy |= lanes.phase[lane] != Phase::Idle;
        }
        if !busy {
            return;
        }
        step(&mut kernel, &mut lanes, &mut slots, &mut spare);
    }
}

/// Advances all lanes as far as they can go together.
fn step<H: Hash, const LANES: usize>(
    kernel: &mut impl Kernel<LANES>,
    lanes: &mut Lanes<H>,
    slots: &mut [Slot; LANES],
    spare: &mut Spare<LANES>,
) {
    let mut steps = usize::MAX;
    let mut hashed = None;
    let mut encrypts = false;
    for (lane, slot) in slots.iter().enumerate() {
        let (left, pending) = (lanes.left[lane], slot.pending());
        if left > 0 {
            hashed = Some(lane);
        }
        if pending == 0 {
            steps = steps.min(IDLE_STEPS);
            if left > 0 {
                steps = steps.min(left);
            }
            continue;
        }
        encrypts = true;
        steps = steps.min((pending / STEP_BYTES).max(1));
        if left == 0 {
            // There will soon be something to hash.
            steps = steps.min(2);
        }
    }
    if !encrypts {
        return lanes.run();
    }
    let Spare { rests, idle } = spare;
    for (lane, (slot, rest)) in slots.iter().zip(&mut *rests).enumerate() {
        let place = match slot.pending() {
            0 => idle.as_mut_ptr(),
            // SAFETY: `pending` bytes from `next` on are within the packet, which stays borrowed, and fit into a step.
            pending @ 1..STEP_BYTES => unsafe {
                let from = slot.start.add(slot.next);
                core::ptr::copy_nonoverlapping(from, rest.as_mut_ptr(), pending);
                rest.as_mut_ptr()
            },
            // SAFETY: `next` is within the packet, which stays borrowed.
            _ => unsafe { slot.start.add(slot.next) },
        };
        kernel.place(lane, place);
    }
    // SAFETY: packets have `steps` steps left to encrypt, or their pointers lead to the spare memory. A message has `steps`
    // blocks that are already encrypted; or it has one, and each step encrypts the next.
    unsafe {
        match hashed {
            Some(one) => lanes.run_by(steps, one, |rows, from| {
                kernel.step::<H>(Some((rows, from)), steps);
            }),
            None => kernel.step::<H>(None, steps),
        }
    }
    for (lane, (slot, rest)) in slots.iter_mut().zip(rests).enumerate() {
        match slot.pending() {
            0 => continue,
            pending @ 1..STEP_BYTES => {
                // SAFETY: these are the bytes that were copied from the packet, which stays borrowed.
                unsafe {
                    let to = slot.start.add(slot.next);
                    core::ptr::copy_nonoverlapping(rest.as_ptr(), to, pending);
                }
                slot.next = slot.end;
            }
            _ => slot.next += steps * STEP_BYTES,
        }
        lanes.release(lane, slot.ready());
    }
}

const _: () = assert!(STEP_BYTES.is_multiple_of(BLOCK_BYTES));
