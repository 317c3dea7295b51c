//! Helpers that end when they have nothing to do.

use std::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::pool::board::{Background, Board, Next, Patience, Sleep};
use crate::pool::census::Census;

/// Sleeps for no time, so that the helper ends wherever it may.
struct Leaves;

impl Patience for Leaves {
    fn begins(&mut self) -> bool {
        false
    }
    fn goes_on(&mut self) -> bool {
        false
    }
    fn was_rewarded(&mut self) {}
    fn was_woken(&mut self) {}
    fn sleep(&mut self) -> Sleep {
        Sleep::Long(Duration::ZERO)
    }
}

/// A board and the helpers that serve it: at most one.
struct Crew {
    board: Board,
    alive: Census,
}

impl Crew {
    /// Starts a helper as the pool does; this is its main function.
    fn start(crew: &Arc<Self>) {
        if !crew.alive.enter(1) {
            return;
        }
        crew.board.enlist();
        let crew = Arc::clone(crew);
        thread::spawn(move || {
            loop {
                match crew.board.next(None, &mut Leaves) {
                    Next::Background { work, .. } => {
                        work.work(&mut || true);
                        crew.board.end_background(None);
                    }
                    Next::Job { work, .. } => {
                        work.work(&mut || true);
                        crew.board.end_job(None);
                    }
                    Next::Idle if crew.alive.retire(0, 1, &crew.board) => return,
                    Next::Idle => crew.board.enlist(),
                    Next::Work(_) | Next::Closed => unreachable!(),
                }
            }
        });
    }
}

/// Helpers that end as soon as they have nothing to do leave behind nothing that was posted at that moment: if no helper
/// came for it, its caller would wait forever, which loom reports.
#[test]
fn a_helper_that_ends_leaves_nothing_behind() {
    struct Once(AtomicUsize);
    impl Background for Once {
        fn work(&self, _: &mut dyn FnMut() -> bool) -> bool {
            self.0.fetch_add(1, Ordering::Release);
            false
        }
        fn refused(&self) {}
    }
    for is_job in [false, true] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let crew = Arc::new(Crew {
                board: Board::new(),
                alive: Census::new(),
            });
            let works = [(); 2].map(|()| std::sync::Arc::new(Once(AtomicUsize::new(0))));
            for work in &works {
                let lacking = match is_job {
                    true => crew.board.post_job(work.clone()),
                    false => crew.board.post_background(work.clone(), true),
                };
                crew.board.wake(lacking.asleep);
                for _ in 0..lacking.missing {
                    Crew::start(&crew);
                }
            }
            for work in &works {
                // A caller does not wait until the board accepts background work: it may have been refused.
                while work.0.load(Ordering::Acquire) == 0 && (is_job || crew.board.has_work()) {
                    thread::yield_now();
                }
            }
        });
    }
}
