//! Prefetches keystream while a program waits for its next packet, so that the packet costs one XOR:
//! `cargo run --release --package oarlock --example prefetch -- 1000`; the argument is a number of packets.

use std::error::Error;
use std::time::{Duration, Instant};

use oarlock::cipher::StreamCipher;
use oarlock::{Accelerator, Algorithm, Strategy};

const KEY: [u8; 32] = [7; 32];
const IV: [u8; 16] = [9; 16];

fn main() -> Result<(), Box<dyn Error>> {
    let packets: usize = std::env::args()
        .nth(1)
        .map_or(Ok(1000), |count| count.parse())?;
    let accelerator = Accelerator::builder().build()?;
    // Slow ciphers gain: computing AES keystream takes no longer than reading it back would.
    let mut ahead = accelerator.stream(Algorithm::Twofish256Ctr, &KEY, &IV)?;
    let mut at_once = accelerator.stream(Algorithm::Twofish256Ctr, &KEY, &IV)?;
    at_once.set_strategy(Strategy::Inline);

    let (mut with, mut without) = (Duration::ZERO, Duration::ZERO);
    let mut made = 0;
    for number in 0..packets {
        // Here the program would wait for input. With `Strategy::Prefetch`, the pool does this instead.
        made += ahead.prefill(Duration::from_micros(200));

        let mut packet = [number as u8; 1400];
        let mut same = packet;
        let start = Instant::now();
        ahead.apply_keystream(&mut packet);
        with += start.elapsed();
        let start = Instant::now();
        at_once.apply_keystream(&mut same);
        without += start.elapsed();
        if packet != same {
            return Err(format!("packet {number} depends on when its keystream was made").into());
        }
    }
    println!("{packets} packets: {with:.1?} with keystream made ahead, {without:.1?} without");
    println!("{made} bytes were made ahead");
    Ok(())
}
