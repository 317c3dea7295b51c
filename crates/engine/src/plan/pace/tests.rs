use std::time::{Duration, Instant};

use super::*;
use crate::costs::cost::{Cost, Machine};
use crate::costs::live::LiveMachine;
use crate::plan::ahead::{LOOKS, REQUESTS_PER_TIMED};
use crate::plan::cut::{PAGE, STRIPE_BYTES_MAX};
use crate::plan::fan_out;
use crate::plan::wake::STREAK;

const LOOKS_TO_PREFETCH: u32 = LOOKS.least as u32;
const STREAK_TO_WAKE: u32 = STREAK.least as u32;

/// A pool in a given state.
#[derive(Default)]
struct Told {
    available: usize,
    awake: usize,
    are_crowded: bool,
}

impl Helpers for Told {
    fn available(&self) -> usize {
        self.available
    }
    fn are_crowded(&self, _: Instant) -> bool {
        self.are_crowded
    }
    fn awake(&self) -> usize {
        self.awake
    }
    fn machine(&self) -> Machine {
        MACHINE
    }
}

const MACHINE: Machine = Machine {
    handoff_ns: 600.0,
    wake_ns: 20_000.0,
    other_core_bytes_per_ns: 36.0,
    own_core_bytes_per_ns: 30.0,
};

/// Returns a pace without setup time.
fn pace(bytes_per_second: u64) -> Pace {
    Pace::new(Cost::new(0, bytes_per_second))
}

const ASLEEP: Told = Told {
    available: 3,
    awake: 0,
    are_crowded: false,
};
const AWAKE: Told = Told {
    available: 3,
    awake: 2,
    are_crowded: false,
};
const ONE_AWAKE: Told = Told {
    available: 1,
    awake: 1,
    are_crowded: false,
};
/// The rate: at one byte a nanosecond, bytes are nanoseconds.
const RATE: u64 = 1_000_000_000;
const RING_BYTES: usize = 128 << 10;
const SHORT: usize = (ASLEEP_NS_MIN / 2.0) as usize;
const LONG: usize = (ASLEEP_NS_MIN * 2.0) as usize;

/// A session's requests, at times that the test chooses.
struct Session {
    pace: Pace,
    now: Instant,
    /// Whether awake helpers take part; otherwise stripes take as long as inline.
    helpers_come: bool,
}

impl Session {
    /// Returns a session of a cipher whose keystream is not made ahead.
    fn new() -> Self {
        Self {
            pace: pace(RATE),
            now: Instant::now(),
            helpers_come: true,
        }
    }

    fn of_stream(bytes_per_second: u64) -> Self {
        let mut session = Self::new();
        session.pace = pace(bytes_per_second);
        session.pace.may_make_ahead(RING_BYTES);
        session
    }

    /// Serves one request `gap` after the last, in the time that follows from the rate and the way.
    fn request(&mut self, gap: Duration, bytes: usize, pool: &Told) -> Way {
        let began = self.now + gap;
        let way = self.pace.choose(bytes, began, pool);
        let mut ns = bytes as f64 / self.pace.cost.bytes_per_ns;
        if let Way::Stripe { helpers } = way
            && pool.awake > 0
            && self.helpers_come
        {
            ns /= (helpers + 1) as f64;
            let live = LiveMachine::new(MACHINE);
            self.pace.joined(&live, Duration::ZERO);
        }
        self.now = began + Duration::from_nanos(ns as u64);
        self.pace.learn(way, bytes, began, self.now);
        way
    }

    /// Serves one, and returns whether keystream is to be made ahead.
    fn ahead(&mut self, gap: Duration, bytes: usize, pool: &Told) -> bool {
        self.request(gap, bytes, pool);
        self.pace.wants_keystream_ahead()
    }
}

#[test]
fn where_no_core_is_free_all_is_inline() {
    let mut session = Session::new();
    let pool = Told {
        available: 0,
        awake: 2,
        are_crowded: false,
    };
    for bytes in [0, 1, SHORT, LONG, usize::MAX] {
        assert_eq!(
            session.pace.choose(bytes, session.now, &pool),
            Way::Inline,
            "{bytes}"
        );
    }
}

#[test]
fn sleeping_helpers_are_woken_for_a_request_that_outlasts_the_wake_up() {
    let mut session = Session::new();
    let apart = 10 * WATCH;
    assert_eq!(session.request(apart, SHORT, &ASLEEP), Way::Inline);
    assert_eq!(
        session.request(apart, LONG, &ASLEEP),
        Way::Stripe { helpers: 3 }
    );
}

#[test]
fn helpers_awake_are_used_where_they_gain_and_the_rest_woken_where_it_pays() {
    let mut session = Session::new();
    let choose = |session: &mut Session, bytes| session.request(WATCH, bytes, &AWAKE);
    // A page is one stripe.
    assert_eq!(choose(&mut session, PAGE), Way::Inline);
    assert_eq!(choose(&mut session, SHORT), Way::Stripe { helpers: 2 });
    assert_eq!(choose(&mut session, LONG), Way::Stripe { helpers: 3 });
    // No more than a core is there for.
    let pool = Told {
        available: 1,
        awake: 9,
        are_crowded: false,
    };
    let way = session.request(WATCH, SHORT, &pool);
    assert_eq!(way, Way::Stripe { helpers: 1 });
}

#[test]
fn a_streak_wakes_helpers_ahead_and_a_pause_ends_it() {
    let mut session = Session::new();
    let close = WATCH / 2;
    // The first follows nothing.
    for _ in 0..STREAK_TO_WAKE {
        assert_eq!(session.request(close, SHORT, &ASLEEP), Way::Inline);
    }
    assert_eq!(session.request(WATCH, SHORT, &ASLEEP), Way::Inline);
    for _ in 1..STREAK_TO_WAKE {
        assert_eq!(session.request(close, SHORT, &ASLEEP), Way::Inline);
    }
    assert_eq!(
        session.request(close, SHORT, &ASLEEP),
        Way::Stripe { helpers: 3 }
    );
}

#[test]
fn waking_ahead_in_vain_backs_off_until_a_helper_is_met_awake() {
    let mut session = Session::new();
    let close = WATCH / 2;
    // Returns how many requests are inline before a helper is woken; runs on until that is found to be of no use.
    let until_woken = |session: &mut Session| {
        let mut way = || session.request(close, SHORT, &ASLEEP);
        let inline = (0..1000).take_while(|_| way() == Way::Inline).count();
        (0..1000).find(|_| way() == Way::Inline).unwrap();
        inline as u32
    };
    assert_eq!(until_woken(&mut session), STREAK_TO_WAKE);
    assert_eq!(until_woken(&mut session), 2 * STREAK_TO_WAKE - 1);
    assert_eq!(until_woken(&mut session), 4 * STREAK_TO_WAKE - 1);
    session.request(close, SHORT, &AWAKE);
    session.request(WATCH, SHORT, &ASLEEP);
    assert_eq!(until_woken(&mut session), STREAK_TO_WAKE - 1);
}

#[test]
fn a_thread_under_way_teaches_nothing_about_stripes() {
    let mut session = Session::new();
    session.helpers_come = false;
    for _ in 0..=STREAK_TO_WAKE {
        session.request(WATCH / 2, SHORT, &ASLEEP);
    }
    // A thread counts as awake while it is being made.
    for _ in 0..4 {
        let way = session.request(Duration::ZERO, SHORT, &AWAKE);
        assert_ne!(way, Way::Inline);
    }
}

#[test]
fn the_back_off_has_no_end_to_overflow_at() {
    let mut session = Session::new();
    session.pace.waking.streak_to_wake = u32::MAX;
    session.pace.streak = u32::MAX;
    for _ in 0..4 {
        session.request(WATCH / 2, SHORT, &ASLEEP);
    }
    assert_eq!(session.pace.waking.streak_to_wake, u32::MAX);
}

#[test]
fn of_requests_that_stand_alone_most_are_spared_the_look() {
    let mut session = Session::new();
    // Whether the first one is isolated is unknown.
    session.request(WATCH, SHORT, &ASLEEP);
    assert!(session.pace.looks_at(SHORT));
    session.request(WATCH, SHORT, &ASLEEP);
    for _ in 0..PASSED_OVER {
        assert!(!session.pace.looks_at(SHORT));
        assert!(session.pace.looks_at(LONG), "worth a wake-up by itself");
        session.pace.pass_over();
    }
    assert!(session.pace.looks_at(SHORT));
    // Consecutive requests are not isolated.
    session.now = Instant::now();
    session.request(WATCH / 2, SHORT, &ASLEEP);
    assert!(session.pace.looks_at(SHORT));
    session.pace.pass_over();
    assert!(session.pace.looks_at(SHORT));
}

#[test]
fn a_slow_cipher_with_pauses_is_made_ahead_from_the_third_look_on() {
    let mut session = Session::of_stream(RATE / 8);
    let pause = Duration::from_millis(1);
    for _ in 1..LOOKS_TO_PREFETCH {
        assert!(!session.ahead(pause, 4096, &ASLEEP));
    }
    assert!(session.ahead(pause, 4096, &ASLEEP));
    session.pace.prefetch_failed();
    let more = (0..100)
        .take_while(|_| !session.ahead(pause, 4096, &ASLEEP))
        .count();
    assert_eq!(more as u32, 4 * LOOKS_TO_PREFETCH - 1, "not so soon again");
}

#[test]
fn a_consumer_with_other_work_finds_keystream_and_one_without_shares_its_requests() {
    for (gap_us, expected) in [(20, true), (0, false)] {
        // 32 KiB packets at 4 GB/s.
        let mut session = Session::of_stream(4 * RATE);
        let gap = Duration::from_micros(gap_us);
        let is_ahead = (0..50)
            .map(|_| session.ahead(gap, 32 << 10, &ONE_AWAKE))
            .last();
        assert_eq!(is_ahead, Some(expected), "{gap_us}");
    }
}

#[test]
fn short_requests_in_a_row_are_seen_by_their_bytes() {
    let mut session = Session::of_stream(RATE / 8);
    let one = Told {
        available: 1,
        awake: 0,
        are_crowded: false,
    };
    let bytes = session.pace.unseen_bytes_max();
    for look in 1..=LOOKS_TO_PREFETCH {
        // As many requests of 64 bytes as fit, and the time that they take.
        session.pace.add_unseen(bytes - 64);
        let unseen = Duration::from_nanos(8 * (bytes as u64 - 64));
        let is_ahead = session.ahead(unseen, 64, &one);
        assert_eq!(is_ahead, look == LOOKS_TO_PREFETCH, "{look}");
    }
    assert!(session.pace.streak >= 1, "no pause between them");
}

#[test]
fn keystream_that_comes_slowly_is_made_ahead_no_more() {
    let mut session = Session::of_stream(10 * RATE);
    let (bytes, pause) = (32 << 10, Duration::from_millis(1));
    assert!((0..10).any(|_| session.ahead(pause, bytes, &ASLEEP)));
    let inline_ns = session.pace.cost.ns(bytes);
    // Each timed one follows the others, each with its pause.
    let mut taken = |ns: f64| {
        let others = (pause.as_nanos() as f64 + ns) * f64::from(REQUESTS_PER_TIMED - 1);
        let began = session.now + pause + Duration::from_nanos(others as u64);
        session.now = began + Duration::from_nanos(ns as u64);
        session
            .pace
            .learn_taking(REQUESTS_PER_TIMED, bytes, 0, began, session.now)
    };
    assert!((0..100).all(|_| taken(inline_ns / 2.0)));
    // One interrupted request changes nothing.
    assert!(taken(1e6));
    assert!((0..100).any(|_| !taken(1.5 * inline_ns)));
}

#[test]
fn streams_are_given_up_when_pauses_end_and_stripes_are_better() {
    let mut session = Session::of_stream(6 * RATE);
    let (bytes, pause) = (64 << 10, Duration::from_micros(40));
    assert!((0..50).any(|_| session.ahead(pause, bytes, &ONE_AWAKE)));
    let mut taken = || {
        // Half of a request's keystream is ready, and the next request follows at once.
        let ns = session.pace.cost.ns(bytes) * 0.75;
        let others = Duration::from_nanos((ns * f64::from(REQUESTS_PER_TIMED - 1)) as u64);
        let began = session.now + others;
        session.now = began + Duration::from_nanos(ns as u64);
        session
            .pace
            .learn_taking(REQUESTS_PER_TIMED, bytes, bytes / 2, began, session.now)
    };
    assert!((0..100).any(|_| !taken()));
}

/// Stripes would finish more of these requests sooner, but not after the next pause.
#[test]
fn streams_outlast_a_burst() {
    let mut session = Session::of_stream(6 * RATE);
    let (bytes, pause) = (64 << 10, Duration::from_millis(1));
    assert!((0..50).any(|_| session.ahead(pause, bytes, &ONE_AWAKE)));
    let mut taken = || {
        let ns = session.pace.cost.ns(bytes) * 0.9;
        let began = session.now;
        session.now += Duration::from_nanos(ns as u64);
        session
            .pace
            .learn_taking(1, bytes, bytes * 3 / 4, began, session.now)
    };
    assert!((0..60).all(|_| taken()));
    assert!((0..60).any(|_| !taken()));
}

#[test]
fn requests_much_longer_than_the_streams_are_not_made_ahead() {
    let one = Told {
        available: 1,
        awake: 0,
        are_crowded: false,
    };
    // Too short to wake a helper for.
    let is_ahead = |gap, bytes| {
        let mut session = Session::of_stream(8 * RATE);
        (0..50).any(|_| session.ahead(gap, bytes, &one))
    };
    let pause = Duration::from_millis(1);
    assert!(!is_ahead(pause, 2 * RING_BYTES + 1));
    // After a pause half of a request of twice the length is ready. Without pauses stripes are equally fast.
    assert!(is_ahead(pause, 2 * RING_BYTES));
    assert!(!is_ahead(Duration::ZERO, 2 * RING_BYTES));
}

#[test]
fn streams_that_take_longer_than_expected_are_given_up_and_not_soon_begun_again() {
    let one = Told {
        available: 1,
        awake: 0,
        are_crowded: false,
    };
    // Too short to be cut, so only inline and streams remain.
    let (rate, bytes) = (8 * RATE, PAGE);
    let mut session = Session::of_stream(rate);
    assert!((0..200).any(|_| session.ahead(Duration::ZERO, bytes, &one)));
    let inline_ns = session.pace.cost.ns(bytes);
    // Most of it is computed inline, and the whole takes longer than inline alone.
    let mut taken = || {
        let ns = 1.1 * inline_ns;
        let others = Duration::from_nanos((ns * f64::from(REQUESTS_PER_TIMED - 1)) as u64);
        let began = session.now + others;
        session.now = began + Duration::from_nanos(ns as u64);
        session
            .pace
            .learn_taking(REQUESTS_PER_TIMED, bytes, bytes * 3 / 4, began, session.now)
    };
    let kept = (0..1000).take_while(|_| taken()).count();
    assert!((1..50).contains(&kept), "{kept}");
    session.pace.prefetch_failed();
    let again = (0..8 * LOOKS_TO_PREFETCH).any(|_| session.ahead(Duration::ZERO, bytes, &one));
    assert!(!again, "what they took is still known");
}

#[test]
fn uneven_requests_in_a_row_are_no_pauses() {
    let mut session = Session::of_stream(RATE);
    let mut gap_ns = Vec::new();
    for round in 0..100 {
        // 2.5 ms on average, and those that are timed now less and now more.
        let began = session.now + Duration::from_micros(2500) * (REQUESTS_PER_TIMED - 1);
        let ms = if round % 2 == 0 { 2 } else { 3 };
        session.now = began + Duration::from_millis(ms);
        session
            .pace
            .ahead
            .timed(REQUESTS_PER_TIMED, began, session.now);
        gap_ns.push(session.pace.ahead.gap_ns());
    }
    let watch_ns = WATCH.as_nanos() as f64;
    assert!(gap_ns[50..].iter().all(|ns| *ns < watch_ns), "{gap_ns:?}");
}

#[test]
fn streams_that_stripes_were_left_for_give_way_once_these_may_be_tried_again() {
    let (rate, bytes) = (4 * RATE, RING_BYTES);
    let mut session = Session::of_stream(rate);
    session.pace.stripes.barred = 100;
    assert!((0..50).any(|_| session.ahead(Duration::ZERO, bytes, &ONE_AWAKE)));
    let inline_ns = session.pace.cost.ns(bytes);
    let mut taken = || {
        let ns = 0.6 * inline_ns;
        let others = Duration::from_nanos((ns * f64::from(REQUESTS_PER_TIMED - 1)) as u64);
        let began = session.now + others;
        session.now = began + Duration::from_nanos(ns as u64);
        session
            .pace
            .learn_taking(REQUESTS_PER_TIMED, bytes, bytes / 2, began, session.now)
    };
    assert!((0..100).any(|_| !taken()), "two threads would take half");
}

/// What was known of stripes comes from a few requests, while helpers woke.
#[test]
fn streams_in_use_leave_stripes_another_try_and_the_better_of_both_stays() {
    let bytes = 64 << 10;
    for stripes in [0.66, 0.85] {
        let mut session = Session::of_stream(2 * RATE);
        let inline_ns = session.pace.cost.ns(bytes);
        let (helpers, available) = (1, 1);
        let slow = SentFor {
            inline_ns,
            helpers,
            available,
        };
        (0..4).for_each(|_| session.pace.stripes.learn(slow, 0.8 * inline_ns));
        session.pace.ahead.helpers = helpers;
        let (mut is_in_streams, mut in_streams) = (true, 0);
        for number in 0..40_000 {
            let began = session.now;
            let way = match is_in_streams {
                true => Way::Inline,
                false => session.pace.choose(bytes, began, &ONE_AWAKE),
            };
            let share = match way {
                Way::Inline if is_in_streams => 0.74,
                Way::Inline => 1.0,
                Way::Stripe { .. } => stripes,
            };
            session.now += Duration::from_nanos((share * inline_ns) as u64);
            let now = session.now;
            if is_in_streams {
                in_streams += u32::from(number >= 20_000);
                is_in_streams = session.pace.learn_taking(1, bytes, bytes / 2, began, now);
                if !is_in_streams {
                    session.pace.prefetch_failed();
                }
                continue;
            }
            session.pace.waking = Waking::default();
            session.pace.learn(way, bytes, began, now);
            is_in_streams = session.pace.wants_keystream_ahead();
        }
        let in_streams = f64::from(in_streams) / 20_000.0;
        let is_fit = if stripes < 0.74 {
            in_streams < 0.1
        } else {
            in_streams > 0.9
        };
        assert!(is_fit, "{in_streams} with stripes at {stripes}");
    }
}

#[test]
fn helpers_that_others_crowd_out_are_asked_for_nothing() {
    let mut session = Session::new();
    for awake in [0, 3] {
        let mut pool = Told {
            available: 3,
            awake,
            are_crowded: true,
        };
        for bytes in [SHORT, LONG, 100 * LONG] {
            assert_eq!(session.request(WATCH, bytes, &pool), Way::Inline, "{bytes}");
        }
        pool.are_crowded = false;
        let way = session.request(WATCH, 100 * LONG, &pool);
        assert_eq!(way, Way::Stripe { helpers: 3 });
    }
}

#[test]
fn helpers_are_woken_for_what_outlasts_the_wake_up_and_the_calls() {
    for (available, wake_us, at_least_us) in [(1, 20, 60), (1, 80, 97), (3, 20, 60), (15, 80, 97)] {
        let mut pace = pace(RATE);
        pace.machine.wake_ns = f64::from(wake_us) * 1e3;
        let is_worth_it = |us: u32| pace.asleep(f64::from(us) * 1e3, available).is_some();
        let least = (1..1000).find(|us| is_worth_it(*us));
        assert_eq!(least, Some(at_least_us + 1), "{available} {wake_us}");
        assert_eq!((pace.asleep_ns_min() / 1e3) as u32, at_least_us);
    }
}

/// Consecutive requests on a machine of 16 CPUs, where helpers cost what [`fan_out`](crate::plan::fan_out) says. Of the
/// helpers that are asked, those that were awake come; the others are awake for the next request.
#[test]
fn of_many_cpus_as_many_are_asked_as_a_request_is_worth() {
    for (bytes, few_ns, many_ns) in [
        (4_650, 3_500.0, 3_500.0),
        (17_900, 3_500.0, 3_500.0),
        (71_000, 3_500.0, 3_500.0),
        (298_000, 3_500.0, 3_500.0),
        (1_000_000, 3_500.0, 3_500.0),
        // As measured: each of a few helpers cost more, each of many cost less.
        (298_000, 10_000.0, 6_000.0),
        (298_000, 2_000.0, 8_000.0),
    ] {
        let inline_ns = bytes as f64;
        let ns_with = |helpers: usize| match helpers {
            0 => inline_ns,
            1..=4 => fan_out::awake_ns(inline_ns, few_ns, helpers),
            _ => fan_out::awake_ns(inline_ns, many_ns, helpers),
        };
        let mut session = Session::new();
        let mut pool = Told {
            available: 15,
            awake: 0,
            are_crowded: false,
        };
        let live = LiveMachine::new(MACHINE);
        let mut taken_ns = Vec::new();
        for _ in 0..1000 {
            let began = session.now;
            let way = session.pace.choose(bytes, began, &pool);
            let (mut ns, mut awake) = (inline_ns, 0);
            if let Way::Stripe { helpers } = way {
                ns = ns_with(helpers.min(pool.awake));
                ns += helpers.saturating_sub(pool.awake) as f64 * fan_out::WAKE_CALL_NS;
                awake = helpers;
                if pool.awake > 0 {
                    session.pace.joined(&live, Duration::ZERO);
                }
            }
            pool.awake = awake;
            session.now = began + Duration::from_nanos(ns as u64);
            session.pace.learn(way, bytes, began, session.now);
            taken_ns.push(ns);
        }
        let mean_ns = taken_ns[200..].iter().sum::<f64>() / (taken_ns.len() - 200) as f64;
        let best_ns = (0..=15).map(ns_with).fold(f64::MAX, f64::min);
        assert!(mean_ns < 1.1 * best_ns, "{bytes}: {mean_ns} of {best_ns}");
    }
}

/// After a pause, helpers that are woken for a long request may finish it sooner than keystream that is ready.
#[test]
fn streams_of_a_burst_are_compared_with_helpers_that_wake_up() {
    let pause = Duration::from_millis(2);
    let pool = |available| Told {
        available,
        awake: 0,
        are_crowded: false,
    };
    for (available, expected) in [(1, true), (15, false)] {
        // 5 GB/s, 11 from another core, and rings that hold all of a request.
        let bytes = 4 << 20;
        let mut session = Session::of_stream(5 * RATE);
        session.pace.may_make_ahead(bytes);
        session.pace.ahead.bytes_per_ns = Some(11.0);
        let is_ahead = (0..50).any(|_| session.ahead(pause, bytes, &pool(available)));
        assert_eq!(is_ahead, expected, "{available}");
    }
}

#[test]
fn stripes_that_gain_nothing_are_left_for_a_while_and_tried_again() {
    let mut session = Session::new();
    session.helpers_come = false;
    let pool = Told {
        available: 1,
        awake: 1,
        are_crowded: false,
    };
    let bytes = SHORT / 2;
    let ways: Vec<_> = (0..1000)
        .map(|_| session.request(Duration::ZERO, bytes, &pool))
        .collect();
    let is_striped = |way: &Way| *way != Way::Inline;
    let tried = ways.iter().filter(|way| is_striped(way)).count();
    assert!(is_striped(&ways[0]));
    assert!((2..=20).contains(&tried), "{tried}");
}

#[test]
fn short_stripes_go_on_where_they_gain() {
    let mut session = Session::new();
    let bytes = 4 * PAGE;
    let mut request = || session.request(Duration::ZERO, bytes, &AWAKE);
    let ways: Vec<_> = (0..1000).map(|_| request()).collect();
    assert!(!ways.contains(&Way::Inline));
    // Now and then a third thread is woken, without success.
    let more = ways
        .iter()
        .filter(|way| **way != Way::Stripe { helpers: 2 });
    assert!((1..10).contains(&more.count()));
}

#[test]
fn a_cipher_as_fast_as_the_way_between_cores_is_not_made_ahead() {
    let mut session = Session::of_stream(20 * RATE);
    for _ in 0..50 {
        assert!(!session.ahead(Duration::from_millis(1), 64 << 10, &AWAKE));
    }
}

#[test]
fn streams_are_cut_into_granules_that_fit() {
    for rate in [1, 30_000_000, 150_000_000, RATE, u64::MAX] {
        for stream_bytes in [128, 1024, 65536, 16 * 4097, 1 << 22] {
            let size = pace(rate).ring_size(stream_bytes, 3);
            assert_eq!(size.granule_bytes * size.segment, stream_bytes);
            assert!((128..=PAGE).contains(&size.granule_bytes) || stream_bytes == 16 * 4097);
            assert!(size.granule_bytes.is_multiple_of(16), "{size:?}");
        }
    }
}

#[test]
fn the_rate_follows_inline_requests_alone() {
    let mut pace = pace(RATE);
    let began = Instant::now();
    let twice_as_fast = began + Duration::from_micros(5);
    pace.learn(Way::Stripe { helpers: 1 }, 10_000, began, twice_as_fast);
    assert_eq!(pace.cost.bytes_per_ns, 1.0);
    for _ in 0..100 {
        pace.learn(Way::Inline, 10_000, began, twice_as_fast);
    }
    assert!((pace.cost.bytes_per_ns - 2.0).abs() < 1e-3, "{pace:?}");
    assert!(pace.long_bytes() as f64 >= 1.99 * LONG_NS, "{pace:?}");
    // A clock that does not advance changes nothing.
    pace.learn(Way::Inline, 1000, began, began);
    assert!(pace.cost.bytes_per_ns.is_finite());
}

#[test]
fn no_rate_is_too_low_or_too_high_to_plan_with() {
    for rate in [0, 1, u64::MAX] {
        let mut pace = pace(rate);
        assert!(
            pace.cost.bytes_per_ns > 0.0 && pace.long_bytes() > 0,
            "{rate}"
        );
        for bytes in [0, 1, usize::MAX] {
            pace.choose(bytes, Instant::now(), &AWAKE);
        }
    }
}

#[test]
fn stripes_are_pages_within_their_bounds() {
    for bytes in [0, 1, 63, 16 << 10, 1 << 20, (1 << 20) + 1, 1 << 30, 1 << 45] {
        for threads in [1, 2, 3, 64, 4097] {
            for rate in [40_000_000, 500_000_000, 27_000_000_000, u64::MAX] {
                let stripe = pace(rate).stripe_bytes(bytes, threads);
                assert!(
                    stripe.is_multiple_of(PAGE) && (PAGE..=STRIPE_BYTES_MAX).contains(&stripe),
                    "{bytes} {threads} {rate}: {stripe}"
                );
            }
        }
    }
}
