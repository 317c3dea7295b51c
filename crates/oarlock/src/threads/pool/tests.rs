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
        at_end: || (),
    };
    // SAFETY: from Box::into_raw just now.
    let crew = unsafe { Box::from_raw(Crew::new(Arc::new(LiveLimits::new(limits)))) };
    crew.alive.store(1, Ordering::Relaxed);
    // Between the end of its sleep and here somebody posts, who may make no other.
    let lacking = crew.board.post_background(Arc::new(Work), true);
    assert_eq!((lacking.asleep, lacking.missing), (0, 1));
    assert!(crew.retire() && crew.is_needed_after_all());
    assert_eq!(crew.alive.load(Ordering::Relaxed), 1);

    let idle = Crew::new(Arc::new(LiveLimits::new(limits)));
    // SAFETY: from Box::into_raw just now.
    let idle = unsafe { Box::from_raw(idle) };
    idle.alive.store(1, Ordering::Relaxed);
    assert!(idle.retire() && !idle.is_needed_after_all());
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
        at_end: || (),
    });
    let work = Arc::new(Work(AtomicUsize::new(0)));
    // As if making one failed for this piece of work, and was not tried for the next.
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
        at_end: || (),
    };
    // SAFETY: from Box::into_raw just now.
    let crew = unsafe { Box::from_raw(Crew::new(Arc::new(LiveLimits::new(limits)))) };
    crew.alive.store(4, Ordering::Relaxed);
    let gone: usize = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| usize::from(crew.retire())))
            .collect();
        asking.into_iter().filter_map(|asks| asks.join().ok()).sum()
    });
    assert_eq!((gone, crew.alive.load(Ordering::Relaxed)), (2, 2));
}
