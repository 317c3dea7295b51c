use super::*;

#[test]
fn the_last_helper_does_not_go_when_work_has_come_meanwhile() {
    struct Work;
    impl Background for Work {
        fn work(&self, _: &mut dyn FnMut() -> bool) -> bool {
            false
        }
        fn refused(&self) {}
    }
    let limits = Limits {
        min_threads: 0,
        max_threads: 1,
        spin: false,
        scheduling: Scheduling::Normal,
        is_guest: false,
        at_end: || (),
    };
    // SAFETY: from Box::into_raw just now.
    let crew = unsafe { Box::from_raw(Crew::new(Arc::new(LiveLimits::new(limits)))) };
    assert!(crew.alive.enter(1));
    // Between the end of its sleep and this point, a caller posts, which may create no other helper.
    let lacking = crew.board.post_background(Arc::new(Work), true);
    assert_eq!((lacking.asleep, lacking.missing), (0, 1));
    assert!(!crew.retire());
    assert_eq!(crew.alive.count(), 1);

    let idle = Crew::new(Arc::new(LiveLimits::new(limits)));
    // SAFETY: from Box::into_raw just now.
    let idle = unsafe { Box::from_raw(idle) };
    assert!(idle.alive.enter(1));
    assert!(idle.retire());
    assert_eq!(idle.alive.count(), 0);
}

#[test]
fn where_no_thread_can_be_made_nothing_is_kept_for_one() {
    struct Work(AtomicUsize);
    impl Background for Work {
        fn work(&self, _: &mut dyn FnMut() -> bool) -> bool {
            false
        }
        fn refused(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let pool = Pool::new(Limits {
        min_threads: 0,
        max_threads: 1,
        spin: false,
        scheduling: Scheduling::Normal,
        is_guest: false,
        at_end: || (),
    });
    let work = Arc::new(Work(AtomicUsize::new(0)));
    // As if creating a helper failed for this piece of work, and was not tried for the next.
    pool.crew().board.post_background(work.clone(), true);
    pool.crew().cannot_start.store(true, Ordering::Relaxed);
    pool.crew().board.refuse_background();
    pool.in_background(work.clone(), true);
    assert_eq!(work.0.load(Ordering::Relaxed), 2);
    assert_eq!(Arc::strong_count(&work), 1);
}

#[test]
fn idle_helpers_that_ask_at_once_leave_those_to_be_kept() {
    let limits = Limits {
        min_threads: 2,
        max_threads: 4,
        spin: false,
        scheduling: Scheduling::Normal,
        is_guest: false,
        at_end: || (),
    };
    // SAFETY: from Box::into_raw just now.
    let crew = unsafe { Box::from_raw(Crew::new(Arc::new(LiveLimits::new(limits)))) };
    assert!((0..4).all(|_| crew.alive.enter(4)));
    let gone: usize = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| usize::from(crew.retire())))
            .collect();
        asking.into_iter().filter_map(|asks| asks.join().ok()).sum()
    });
    assert_eq!((gone, crew.alive.count()), (2, 2));
}

/// A guest's helpers give up their rights and end soon after their work, stripes or background, except those that are kept;
/// and they return whenever there is work.
#[test]
fn helpers_of_a_guest_end_soon_after_their_work_and_come_again() {
    struct Work(AtomicUsize);
    impl Background for Work {
        fn work(&self, _: &mut dyn FnMut() -> bool) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            false
        }
        fn refused(&self) {}
    }
    for min_threads in [0, 1] {
        let pool = Pool::new(Limits {
            min_threads,
            max_threads: 3,
            spin: false,
            scheduling: Scheduling::Normal,
            is_guest: true,
            at_end: || (),
        });
        let quiet = || pool.threads() == min_threads;
        let done = Arc::new(Work(AtomicUsize::new(0)));
        for round in 1..20 {
            let began = Instant::now();
            let here = std::sync::Barrier::new(3);
            // Neither thread goes on without two helpers.
            pool.run(2, &|_| _ = here.wait());
            oarlock_testing::until("they have ended after stripes", quiet);
            pool.in_background(done.clone(), true);
            oarlock_testing::until("it is done", || done.0.load(Ordering::Relaxed) == round);
            oarlock_testing::until("they have ended after background work", quiet);
            assert!(began.elapsed() < IDLE_TIME, "{round}");
        }
        // Helpers that are kept do not look again and again.
        std::thread::sleep(2 * GUEST_IDLE_TIME);
        assert!(quiet());
    }
}
