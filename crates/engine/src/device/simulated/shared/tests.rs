//! The shared board in virtual time, and against threads that write arbitrary values to its memory.

use std::path::PathBuf;

use super::*;

struct File {
    folder: tempfile::TempDir,
    board: Figures,
}

impl File {
    fn new(units: usize, queues: usize) -> Self {
        let board = Figures {
            units,
            depth: 128,
            others: [1, 2, 3, 4, 5],
        };
        let folder = tempfile::tempdir().unwrap();
        let file = Self { folder, board };
        create(&file.path(), &file.board, queues).unwrap();
        file
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("board")
    }

    fn open(&self) -> Queue {
        Queue::open(&self.path(), &self.board).unwrap()
    }

    fn said(&self) -> String {
        let opened = Queue::open(&self.path(), &self.board);
        opened
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }
}

const MS: Duration = Duration::from_millis(1);
const MS_NS: u64 = 1_000_000;

fn ends(queue: &mut Queue, now_ns: u64) -> Vec<u64> {
    let mut ends = Vec::new();
    while let Some(end) = queue.next_started(now_ns).unwrap() {
        ends.push(end / MS_NS);
    }
    ends
}

#[test]
fn queues_take_turns_and_together_get_what_one_alone_gets() {
    let file = File::new(1, 2);
    let (mut one, mut two) = (file.open(), file.open());
    let began = 1000 * MS_NS;
    for _ in 0..4 {
        assert!(one.push(began, MS) && two.push(began, MS));
    }
    for _ in 0..4 {
        one.push(began, MS);
    }
    // A long time without a poll loses nothing and keeps the turns.
    two.advance(2000 * MS_NS);
    assert_eq!(
        ends(&mut one, 2000 * MS_NS),
        [1001, 1003, 1005, 1007, 1009, 1010, 1011, 1012]
    );
    assert_eq!(ends(&mut two, 2000 * MS_NS), [1002, 1004, 1006, 1008]);
    // A unit does not work before a request arrives.
    one.push(2000 * MS_NS, MS);
    one.advance(2000 * MS_NS);
    assert_eq!(ends(&mut one, 2000 * MS_NS), [2001]);
}

#[test]
fn units_work_beside_each_other_and_no_request_begins_before_it_is_there() {
    let file = File::new(2, 2);
    let (mut one, mut two) = (file.open(), file.open());
    for at in [10, 10, 10] {
        one.push(at * MS_NS, 2 * MS);
    }
    two.push(13 * MS_NS, MS);
    assert_eq!(one.next_end_min(20 * MS_NS), Some(2 * MS_NS));
    one.advance(20 * MS_NS);
    assert_eq!(ends(&mut one, 20 * MS_NS), [12, 12, 14]);
    assert_eq!(ends(&mut two, 20 * MS_NS), [14]);
}

#[test]
fn a_request_waits_until_a_unit_is_free() {
    let file = File::new(1, 1);
    let mut queue = file.open();
    queue.push(MS_NS, 3 * MS);
    queue.push(MS_NS, MS);
    queue.advance(2 * MS_NS);
    assert_eq!(ends(&mut queue, 2 * MS_NS), [4]);
    assert_eq!(queue.next_end_min(2 * MS_NS), Some(5 * MS_NS));
    queue.advance(4 * MS_NS);
    assert_eq!(ends(&mut queue, 4 * MS_NS), [5]);
}

#[test]
fn a_full_queue_takes_no_more() {
    let file = File::new(1, 1);
    let mut queue = file.open();
    // More than the bits of a slot's place can count.
    for _ in 0..3 {
        for _ in 0..TASKS_MAX {
            assert!(queue.push(MS_NS, Duration::ZERO));
        }
        assert!(!queue.push(MS_NS, Duration::ZERO));
        queue.advance(MS_NS);
        assert_eq!(ends(&mut queue, MS_NS).len(), TASKS_MAX);
    }
}

#[test]
fn what_is_no_board_is_refused() {
    let file = File::new(1, 2);
    assert!(
        create(&file.path(), &file.board, 2).is_err(),
        "there is one"
    );
    let other = Figures {
        others: [2; 5],
        ..file.board.clone()
    };
    let error = Queue::open(&file.path(), &other).err().unwrap().to_string();
    assert!(error.contains("other figures"), "{error}");
    let right = std::fs::read(file.path()).unwrap();
    for at in [0, 8, 12, 16] {
        let mut wrong = right.clone();
        wrong[at] ^= 1;
        std::fs::write(file.path(), wrong).unwrap();
        assert!(file.said().contains("the shared board"), "byte {at}");
    }
    for length in [0, 8, right.len() - 8, right.len() + 8] {
        let mut wrong = right.clone();
        wrong.resize(length, 0);
        std::fs::write(file.path(), wrong).unwrap();
        assert!(file.said().contains("no board"), "{length} bytes");
    }
    std::fs::write(file.path(), right).unwrap();
    let crowd = Figures {
        units: UNITS_MAX + 1,
        ..file.board.clone()
    };
    let error = Queue::open(&file.path(), &crowd).err().unwrap();
    assert!(error.to_string().contains("up to 64 units"), "{error}");
    let of_mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(file.path(), mode).unwrap();
    };
    of_mode(0o622);
    assert!(file.said().contains("another user may write to it"));
    of_mode(0o600);
    let _queues = [file.open(), file.open()];
    assert!(file.said().contains("each of its 2 queues"));
    for queues in [0, QUEUES_MAX + 1] {
        let path = file.folder.path().join("another");
        assert!(create(&path, &file.board, queues).is_err());
    }
}

#[test]
fn who_comes_after_begins_with_an_empty_queue() {
    let file = File::new(1, 1);
    let mut gone = file.open();
    gone.push(MS_NS, MS);
    gone.push(MS_NS, MS);
    gone.advance(MS_NS);
    // Imitate a killed process, which leaves its queue as it is.
    gone.generation = usize::MAX;
    let state = gone.queue(0)[HEAD].load(Relaxed);
    drop(gone);
    let mut queue = file.open();
    assert_ne!(queue.queue(0)[HEAD].load(Relaxed), state);
    queue.advance(10 * MS_NS);
    assert!(ends(&mut queue, 10 * MS_NS).is_empty());
    queue.push(10 * MS_NS, MS);
    queue.advance(20 * MS_NS);
    assert_eq!(ends(&mut queue, 20 * MS_NS), [11]);
}

/// A pseudo-random number (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[test]
fn a_queue_that_is_written_over_keeps_no_other_from_its_turns() {
    let file = File::new(2, 3);
    let (mut honest, attacker) = (file.open(), file.open());
    let mut seed = 1;
    let mut now_ns = 1000 * MS_NS;
    let mut done = 0;
    for round in 0..20_000_u64 {
        let queue = attacker.queue(attacker.number);
        for _ in 0..8 {
            let value = match random(&mut seed) % 6 {
                0 => random(&mut seed),
                1 => 0,
                2 => u64::MAX,
                // A request of the longest time that arrives in the future.
                3 => WAITING | VALUE,
                4 => STARTED | VALUE,
                _ => queue[HEAD].load(Relaxed) ^ (1 << (random(&mut seed) % 64)),
            };
            let at = match random(&mut seed) % 3 {
                0 => HEAD,
                _ => random(&mut seed) as usize % queue.len(),
            };
            queue[at].store(value, Relaxed);
        }
        if honest.waiting.len() < 4 {
            assert!(honest.push(now_ns, MS));
        }
        if round % 2 == 0 {
            attacker.advance(now_ns);
        }
        honest.advance(now_ns);
        let found = ends(&mut honest, now_ns);
        done += found.len();
        // On each unit, at most one long request of the attacker precedes each honest one.
        now_ns += MS_NS + 40 * TIME_NS_MAX * u64::from(round % 100 == 0);
        assert!(honest.first_unit().1 <= now_ns + TIME_NS_MAX);
    }
    assert!(done > 300, "{done}");
}

#[test]
fn its_owner_sees_that_a_queue_was_written_over_and_goes_on() {
    let file = File::new(1, 1);
    let mut queue = file.open();
    let mut noticed = 0;
    for case in 0..6 {
        queue.push(MS_NS, MS);
        queue.push(MS_NS, MS);
        let numbers = queue.queue(0);
        match case {
            0 => numbers[HEAD].store(u64::MAX, Relaxed),
            1 => numbers[HEAD].store(queue.epoch << 32 | 3, Relaxed),
            2 => slot_of(numbers, queue.head).0.store(EMPTY, Relaxed),
            3 => slot_of(numbers, queue.head)
                .0
                .store(STARTED | VALUE, Relaxed),
            4 => slot_of(numbers, queue.head).0.store(u64::MAX, Relaxed),
            _ => slot_of(numbers, queue.head).0.store(WAITING, Relaxed),
        }
        let is_noticed = queue.next_started(MS_NS).is_err();
        noticed += usize::from(is_noticed);
        queue.begin_anew();
    }
    assert_eq!(noticed, 6);
    queue.push(100 * MS_NS, MS);
    queue.advance(100 * MS_NS);
    assert_eq!(ends(&mut queue, 100 * MS_NS), [101]);
}

#[test]
fn a_head_that_somebody_moves_past_what_waits_is_noticed() {
    let file = File::new(1, 1);
    let mut queue = file.open();
    for _ in 0..3 {
        queue.push(MS_NS, MS);
    }
    queue.advance(MS_NS);
    let head = &queue.queue(0)[HEAD];
    head.store(head.load(Relaxed) + 1, Relaxed);
    // The first request was started; the second never would be.
    assert!(queue.next_started(MS_NS).unwrap().is_some());
    assert!(queue.next_started(MS_NS).is_err());
    // A stray request behind the queue's own is noticed only when the queue gets there.
    queue.begin_anew();
    slot_of(queue.queue(0), 0).0.store(WAITING, Relaxed);
    queue.advance(10 * MS_NS);
    assert!(queue.next_started(10 * MS_NS).unwrap().is_none());
    queue.push(10 * MS_NS, MS);
    queue.advance(10 * MS_NS);
    assert!(queue.next_started(10 * MS_NS).is_err());
    queue.begin_anew();
    queue.push(20 * MS_NS, MS);
    queue.advance(20 * MS_NS);
    assert_eq!(ends(&mut queue, 20 * MS_NS), [21]);
}

#[test]
fn whatever_the_file_says_is_the_turn_each_queue_has_its_own() {
    let file = File::new(1, 3);
    let mut queues = [(); 3].map(|()| file.open());
    for (at, turn) in (0..3).flat_map(|at| [(at, u64::MAX), (at, u64::MAX - 1), (at, 7)]) {
        queues[at].push(MS_NS, Duration::ZERO);
        queues[0].file.numbers()[TURN].store(turn, Relaxed);
        queues[at].advance(MS_NS);
        assert_eq!(ends(&mut queues[at], MS_NS), [1], "queue {at}, turn {turn}");
    }
}

#[test]
fn units_that_are_busy_for_ever_are_looked_at_again() {
    let file = File::new(2, 1);
    let mut queue = file.open();
    queue.push(MS_NS, MS);
    for unit in queue.units() {
        unit.store(u64::MAX, Relaxed);
    }
    assert!(queue.next_end_min(MS_NS).unwrap() <= 2 * MS_NS + TIME_NS_MAX);
    queue.advance(2 * MS_NS);
    assert_eq!(ends(&mut queue, 2 * MS_NS), [3]);
}

#[test]
fn an_owner_that_refills_its_queue_as_fast_as_it_is_emptied_leaves_the_others_their_turns() {
    use std::sync::atomic::AtomicBool;
    let file = File::new(1, 2);
    let (mut honest, attacker) = (file.open(), file.open());
    let (goes_on, has_begun) = (AtomicBool::new(true), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Requests of no time with an old arrival: a unit that has long been free runs them at once.
            while goes_on.load(Relaxed) {
                for slot in 0..SLOTS as u64 {
                    let (state, arrival) = slot_of(attacker.queue(attacker.number), slot);
                    arrival.store(0, Relaxed);
                    state.store(WAITING, Relaxed);
                }
                has_begun.store(true, Relaxed);
            }
        });
        while !has_begun.load(Relaxed) {
            std::hint::spin_loop();
        }
        let mut starved = 0;
        for round in 1..=200_u64 {
            let now_ns = round * 1000 * MS_NS;
            assert!(honest.push(now_ns, MS));
            // A poll may see a half-finished write of the attacker.
            let is_done = (0..3).any(|_| {
                honest.advance(now_ns);
                matches!(honest.next_started(now_ns), Ok(Some(_)))
            });
            if !is_done {
                starved += 1;
                honest.begin_anew();
            }
        }
        goes_on.store(false, Relaxed);
        assert_eq!(starved, 0, "rounds");
    });
}

#[test]
fn threads_that_move_it_on_at_once_start_each_request_once() {
    let file = File::new(3, 4);
    let queues: Vec<_> = (0..4).map(|_| file.open()).collect();
    let began = now_ns();
    let per_queue = 30_000;
    let busy_ns = 200;
    std::thread::scope(|scope| {
        for mut queue in queues {
            scope.spawn(move || {
                let (mut given, mut started, mut last) = (0, 0, 0);
                while started < per_queue {
                    let now = now_ns();
                    if given < per_queue && queue.push(now, Duration::from_nanos(busy_ns)) {
                        given += 1;
                    }
                    queue.advance(now);
                    while let Some(end) = queue.next_started(now).unwrap() {
                        started += 1;
                        last = end.max(last);
                    }
                }
                assert_eq!((given, started), (per_queue, per_queue));
                last
            });
        }
    });
    // The units need at least this long for the requests done.
    let file = Mapped::open(&file.path(), numbers(4)).unwrap().unwrap();
    let units = &file.numbers()[UNITS..UNITS + 3];
    let last = units.iter().map(|unit| unit.load(Relaxed)).max().unwrap();
    assert!(last - began >= 4 * per_queue as u64 * busy_ns / 3);
}
