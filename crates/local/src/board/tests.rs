use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Instant;

use oarlock::Accelerator;
use oarlock::rsa::RsaPrivateKey;
use oarlock_testing::{seeded_noise, skip};

use super::*;

/// Returns a key; reports a skip and returns `None` on a CPU without lanes.
fn rsa(bits: usize) -> Option<AcceleratedRsa> {
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oarlock/tests/keys");
    let pem = std::fs::read_to_string(keys.join(format!("rsa{bits}.pem"))).unwrap();
    let accelerator = Accelerator::builder().build().unwrap();
    let rsa = accelerator.rsa(&RsaPrivateKey::from_pem(&pem).unwrap());
    if rsa.lanes().is_none() {
        skip("lanes for RSA");
        return None;
    }
    Some(rsa)
}

fn secret() -> Zeroizing<[u8; 32]> {
    Zeroizing::new([7; 32])
}

/// Lets `owners` owners of a board, each with its own mapping, compute `numbers` numbers each while `beside` runs. Checks
/// every power, and returns the counts of outcomes.
fn meet(
    rsa: &AcceleratedRsa,
    owners: usize,
    numbers: u32,
    beside: impl Fn(&Shared) + Send,
) -> [usize; 3] {
    let file = Board::create().unwrap();
    let counts = [const { AtomicUsize::new(0) }; 3];
    let (start, is_over) = (Barrier::new(owners), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..owners as u32)
            .map(|owner| {
                let board = Board::map(&file, 4, &secret()).unwrap();
                let (counts, start) = (&counts, &start);
                scope.spawn(move || {
                    start.wait();
                    for number in 0..numbers {
                        let number = (owner * 10_000 + number + 2).to_be_bytes();
                        let outcome = board.power(rsa, &number);
                        let kind = match &outcome {
                            Outcome::Power(power) => {
                                assert_eq!(*power, rsa.raw_private(&number).unwrap());
                                0
                            }
                            Outcome::Alone => 1,
                            Outcome::Full | Outcome::Failed => 2,
                        };
                        counts[kind].fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        let (memory, is_over) = (Memory::map(&file).unwrap(), &is_over);
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                beside(memory.shared().unwrap());
            }
        });
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        is_over.store(true, Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    counts.map(AtomicUsize::into_inner)
}

fn wait_a_little(_: &Shared) {
    std::thread::sleep(Duration::from_millis(1));
}

#[test]
fn powers_are_right_and_most_are_computed_together() {
    for (bits, numbers) in [(2048, 100), (4096, 20)] {
        let Some(rsa) = rsa(bits) else { return };
        let [powers, _, failed] = meet(&rsa, 8, numbers, wait_a_little);
        // Without AVX-512, aws-lc alone may be as fast.
        let is_sure = rsa.lanes() == Some(8);
        assert!(!is_sure || powers > numbers as usize, "{bits}: {powers}");
        assert_eq!(failed, 0);
    }
}

#[test]
fn one_that_is_alone_is_told_so_soon() {
    let Some(rsa) = rsa(2048) else { return };
    let board = Board::map(Board::create().unwrap(), 4, &secret()).unwrap();
    let took = (0..20).map(|_| {
        let began = Instant::now();
        assert_eq!(board.power(&rsa, &[2]), Outcome::Alone);
        began.elapsed()
    });
    let least = took.min().unwrap();
    assert!(least < Duration::from_millis(50), "{least:?}");
    let shared = board.memory.shared().unwrap();
    assert_eq!(shared.waiting.load(Relaxed), 0);
    for slot in &shared.slots {
        assert_eq!(slot.state.load(Relaxed) & STAGE, FREE);
        assert!(slot.words.iter().all(|word| word.load(Relaxed) == 0));
    }
}

#[test]
fn numbers_that_are_none_fail_and_others_do_not() {
    let Some(rsa) = rsa(2048) else { return };
    let board = Board::map(Board::create().unwrap(), 4, &secret()).unwrap();
    for number in [
        &[0xff; 256][..],
        &[1; 300],
        &[1; 512],
        &[1; 513],
        &[1; 5000],
        &[],
    ] {
        assert!(!matches!(board.power(&rsa, number), Outcome::Power(_)));
    }
    let file = Board::create().unwrap();
    std::thread::scope(|scope| {
        for owner in 0..4u8 {
            let (board, rsa) = (Board::map(&file, 4, &secret()).unwrap(), &rsa);
            scope.spawn(move || {
                for _ in 0..50 {
                    // One of the four requests something that cannot be computed.
                    let number = if owner == 0 {
                        vec![0xff; 256]
                    } else {
                        vec![owner; 200]
                    };
                    if let Outcome::Power(power) = board.power(rsa, &number) {
                        assert_eq!(power, rsa.raw_private(&number).unwrap());
                    }
                }
            });
        }
    });
}

/// Leaves slots like processes that were killed while waiting, while computing, and before writing.
#[test]
fn slots_of_processes_that_have_ended_are_in_nobodys_way() {
    let Some(rsa) = rsa(2048) else { return };
    let board = Board::map(Board::create().unwrap(), 4, &secret()).unwrap();
    let shared = board.memory.shared().unwrap();
    for (place, stage) in [WAITING, RUNNING, CLAIMED, DONE].into_iter().enumerate() {
        shared.slots[place].state.store(stage, Relaxed);
        shared.slots[place].since.store(now(), Relaxed);
    }
    shared.waiting.store(0b11, Relaxed);
    for number in 2..10u8 {
        // The waiting request may be computed too, and its owner never collects it.
        if let Outcome::Power(power) = board.power(&rsa, &[number]) {
            assert_eq!(power, rsa.raw_private(&[number]).unwrap());
        }
    }
    assert_eq!(shared.waiting.load(Relaxed), 0);

    // All slots are in use by dead processes, and after a while they are reused.
    for slot in &shared.slots {
        slot.state.store(RUNNING, Relaxed);
        slot.since.store(now(), Relaxed);
    }
    assert_eq!(board.power(&rsa, &[2]), Outcome::Full);
    for slot in &shared.slots {
        slot.since.store(now() - LOST - 1, Relaxed);
    }
    assert_eq!(board.power(&rsa, &[2]), Outcome::Alone);
}

/// The process that kept the time was killed early and its request is still there, or only the bit of a request is set.
#[test]
fn who_kept_the_time_and_is_gone_holds_nobody_up_for_long() {
    let Some(rsa) = rsa(2048) else { return };
    let file = Board::create().unwrap();
    let [dead, board] = [(); 2].map(|()| Board::map(&file, 4, &secret()).unwrap());
    let shared = board.memory.shared().unwrap();
    let number = &[3][..];
    let mut least = [Duration::MAX; 2];
    for at in [0, 1, 0, 1, 0, 1] {
        let gone = dead.claimed(dead.memory.shared().unwrap()).unwrap();
        if at == 0 {
            gone.write(number);
            gone.put(gone.number_seal(&dead.sealer, number));
            gone.to(WAITING).unwrap();
        }
        shared.waiting.fetch_or(gone.bit(), AcqRel);
        let began = Instant::now();
        match board.power(&rsa, &[2]) {
            Outcome::Power(power) => assert_eq!(power, rsa.raw_private(&[2]).unwrap()),
            outcome => assert_eq!(outcome, Outcome::Alone),
        }
        least[at] = least[at].min(began.elapsed());
        // Its request no longer counts as waiting.
        assert_eq!(shared.waiting.load(Relaxed), 0);
    }
    assert!(least.iter().all(|least| *least < Duration::from_millis(50)));
}

#[test]
fn who_computes_and_stops_is_not_waited_for_without_end_and_writes_to_nobody_else() {
    let Some(rsa) = rsa(2048) else { return };
    let board = Board::map(Board::create().unwrap(), 4, &secret()).unwrap();
    let shared = board.memory.shared().unwrap();
    fn taken(shared: &Shared) -> (&Slot, usize, u32) {
        loop {
            let place = shared.waiting.load(Acquire).trailing_zeros() as usize;
            if let Some(slot) = shared.slots.get(place) {
                let state = slot.state.load(Acquire);
                if let Some(held) = (Held { slot, place, state }).taken(shared) {
                    return (held.slot, held.place, held.state);
                }
            }
        }
    }
    std::thread::scope(|scope| {
        // Another process takes the request and is stopped.
        shared.pace.gap.store(400_000, Relaxed);
        let stopped = scope.spawn(|| taken(shared));
        let began = Instant::now();
        while board.power(&rsa, &[2]) != Outcome::Failed {}
        assert!(began.elapsed() < Duration::from_secs(20));
        let (slot, place, state) = stopped.join().unwrap();
        // Its owner has gone; when the other process continues, the slot is wiped and freed.
        let held = Held { slot, place, state };
        assert_eq!(slot.state.load(Relaxed), state & !STAGE | ABANDONED);
        held.write(&rsa.raw_private(&[2]).unwrap());
        held.end(DONE);
        assert_eq!(slot.state.load(Relaxed), state & !STAGE | FREE);
        assert!(slot.words.iter().all(|word| word.load(Relaxed) == 0));
        // If the slot was taken for lost and reused, it stays as it is.
        let next = (state & !STAGE).wrapping_add(STAGE + 1) | RUNNING;
        slot.state.store(next, Relaxed);
        held.write(&rsa.raw_private(&[2]).unwrap());
        held.end(DONE);
        assert_eq!(slot.state.load(Relaxed), next);
        held.free();
        assert_eq!(slot.state.load(Relaxed), next);
    });
}

/// Checks that a process with the memory but without the key has nothing signed, and that the others accept no power from
/// it.
#[test]
fn numbers_and_powers_without_a_seal_are_left() {
    let Some(rsa) = rsa(2048) else { return };
    let file = Board::create().unwrap();
    let other = Zeroizing::new([8; 32]);
    std::thread::scope(|scope| {
        for owner in 0..6u8 {
            let secret = if owner < 3 { secret() } else { other.clone() };
            let (board, rsa) = (Board::map(&file, 4, &secret).unwrap(), &rsa);
            scope.spawn(move || {
                for number in 0..40u8 {
                    let number = [owner, number, 2];
                    if let Outcome::Power(power) = board.power(rsa, &number) {
                        assert_eq!(power, rsa.raw_private(&number).unwrap());
                    }
                }
            });
        }
    });
    let memory = Memory::map(&file).unwrap();
    let slot = &memory.shared().unwrap().slots[0];
    let held = Held {
        slot,
        place: 0,
        state: (STAGE + 1) | RUNNING,
    };
    let (number, power) = (&[2][..], &[3; 256][..]);
    let [sealer, stranger] = [secret(), other].map(|secret| Sealer::new(&secret));
    let seal = held.number_seal(&sealer, number);
    held.put(held.power_seal(&sealer, seal, power));
    assert!(held.has(held.power_seal(&sealer, seal, power)));
    let next = Held {
        state: held.state + STAGE + 1,
        ..held
    };
    let elsewhere = Held { place: 1, ..held };
    for other in [
        next.number_seal(&sealer, number),
        elsewhere.number_seal(&sealer, number),
        held.number_seal(&sealer, &[2, 3]),
        held.number_seal(&stranger, number),
    ] {
        assert!(!held.has(held.power_seal(&sealer, other, power)));
    }
    assert!(!held.has(next.power_seal(&sealer, seal, power)));
    assert!(!held.has(held.power_seal(&stranger, seal, power)));
    assert!(!held.has(held.power_seal(&stranger, held.number_seal(&stranger, number), power)));
    assert!(!held.has(held.power_seal(&sealer, seal, &power[1..])));
    // The seal of a number is not valid for a power, nor the reverse.
    assert!(!held.has(seal));
    held.put(seal);
    assert!(held.has(held.number_seal(&sealer, number)));
    assert!(!held.has(held.number_seal(&sealer, power)));
    assert!(!held.has(next.number_seal(&sealer, number)));
    assert!(!held.has(elsewhere.number_seal(&sealer, number)));
    assert!(!held.has(held.power_seal(&sealer, seal, number)));
}

/// Covers times of another clock, and false ones.
#[test]
fn a_pace_that_is_wrong_keeps_nobody_waiting() {
    let Some(rsa) = rsa(2048) else { return };
    let board = Board::map(Board::create().unwrap(), 4, &secret()).unwrap();
    let pace = &board.memory.shared().unwrap().pace;
    for time in [1, u64::MAX / 2, u64::MAX] {
        for gap in [1, 1_000_000, u64::MAX] {
            for (of, value) in [(&pace.last, time), (&pace.busy, time), (&pace.gap, gap)] {
                of.store(value, Relaxed);
            }
            let began = Instant::now();
            assert_eq!(board.power(&rsa, &[2]), Outcome::Alone);
            assert!(
                began.elapsed() < Duration::from_secs(1),
                "{:?}",
                began.elapsed()
            );
        }
    }
}

/// A process does not read its own number from the memory, where another could have changed it.
#[test]
fn who_computes_has_its_own_number() {
    let Some(rsa) = rsa(2048) else { return };
    let [..] = meet(&rsa, 4, 60, |shared| {
        for slot in &shared.slots {
            slot.words[0].store(7, Relaxed);
        }
        std::thread::sleep(Duration::from_micros(50));
    });
}

/// Checks that random writes to the memory make no process crash, hang or accept a wrong power.
#[test]
fn nonsense_in_the_memory_does_no_harm() {
    let Some(rsa) = rsa(2048) else { return };
    let round = AtomicUsize::new(0);
    let [..] = meet(&rsa, 4, 60, |shared| {
        let seed = round.fetch_add(1, Relaxed) as u64;
        let noise = seeded_noise(seed, 32);
        let word = |at: usize| u64::from_le_bytes(noise[8 * at..8 * at + 8].try_into().unwrap());
        let slot = &shared.slots[word(0) as usize % SLOTS];
        match word(1) % 7 {
            0 => shared.waiting.store(word(2), Relaxed),
            1 => slot.state.store(word(2) as u32, Relaxed),
            2 => slot.bytes.store(word(2) as u32, Relaxed),
            3 => slot.since.store(word(2), Relaxed),
            4 => slot.words[word(2) as usize % WORDS].store(word(3), Relaxed),
            5 => shared.pace.gap.store(word(2), Relaxed),
            _ => {
                shared.pace.last.store(word(2), Relaxed);
                shared.pace.busy.store(word(3), Relaxed);
            }
        }
        std::thread::sleep(Duration::from_micros(word(3) % 500));
    });
}
