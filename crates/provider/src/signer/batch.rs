//! Paused jobs or waiting threads, and how many of them wait for each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use oarlock_engine::learn::{BackOff, Skips};

/// Tracks whether paused jobs meet others.
#[derive(Default)]
pub(crate) struct Company {
    paused: AtomicU32,
    /// The number of jobs that were ever paused.
    joined: AtomicU64,
    /// The number of jobs that were paused since the last batch.
    gathered: AtomicU32,
    /// Jobs are computed at once while the last paused ones met no other.
    alone: Skips,
    /// The process that these counts belong to: a forked child has none of its parent's jobs.
    process: AtomicU32,
}

/// A paused job, or a thread that waits.
pub(crate) struct Visit {
    company: Arc<Company>,
    number: u64,
    found_others: bool,
    process: u32,
}

/// The private operations that fill the lanes once, with two exponentiations each.
const BATCH: u32 = 4;
/// A turn may end before all jobs that were woken together have run.
const QUIET_TURNS: u32 = 2;
const TURNS_MAX: u32 = 8;
/// Without other jobs, at most one in 64 is paused.
const APART: BackOff = BackOff::doubling(1, 64);

impl Company {
    /// Joins the jobs that wait; `None` if this job should be computed at once.
    pub(crate) fn join(self: &Arc<Self>) -> Option<Visit> {
        let process = self.begin_in_this_process();
        let found_others = self.paused.load(Ordering::Relaxed) > 0;
        if !found_others && !self.alone.take_turn() {
            return None;
        }
        self.paused.fetch_add(1, Ordering::Relaxed);
        Some(Visit {
            company: Arc::clone(self),
            number: self.joined.fetch_add(1, Ordering::Relaxed) + 1,
            found_others,
            process,
        })
    }

    fn begin_in_this_process(&self) -> u32 {
        let process = std::process::id();
        // As in `Stacks::begin_in_this_process`.
        let of_parent = self.paused.load(Ordering::Relaxed);
        if ![0, process].contains(&self.process.swap(process, Ordering::Relaxed)) {
            self.paused.fetch_sub(of_parent, Ordering::Relaxed);
            self.gathered.store(0, Ordering::Relaxed);
            self.alone.succeeded();
        }
        process
    }

    /// Returns when the caller should compute: its job fills a batch, or no others join. Until then it calls `turn`,
    /// which returns after the other jobs have had a turn, and says whether the job is done. Returns whether others
    /// have joined.
    pub(crate) fn gather(&self, mut turn: impl FnMut() -> bool) -> bool {
        if self.gathered.fetch_add(1, Ordering::Relaxed) + 1 >= BATCH {
            self.gathered.store(0, Ordering::Relaxed);
            return true;
        }
        let mut joined = self.joined.load(Ordering::Relaxed);
        let mut quiet = 0;
        for _ in 0..TURNS_MAX {
            if turn() {
                return true;
            }
            let now = self.joined.load(Ordering::Relaxed);
            quiet = if now == joined { quiet + 1 } else { 0 };
            joined = now;
            if quiet == QUIET_TURNS {
                break;
            }
        }
        self.gathered.swap(0, Ordering::Relaxed) > 1
    }
}

impl Visit {
    pub(crate) fn company(&self) -> &Arc<Company> {
        &self.company
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        // A child has copies of its parent's visits, which its own count never included.
        if self.process != std::process::id() {
            return;
        }
        let company = &self.company;
        company.paused.fetch_sub(1, Ordering::Relaxed);
        let met_others = self.found_others || company.joined.load(Ordering::Relaxed) > self.number;
        if met_others {
            company.alone.succeeded();
        } else {
            company.alone.failed(0, APART);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_without_company_is_paused_ever_less_often() {
        let company = Arc::new(Company::default());
        // The pauses are 1, 2, 4, ..., 64 jobs apart, and 64 from then on.
        let paused = (0..1000).filter(|_| company.join().is_some()).count();
        assert!((10..30).contains(&paused), "{paused}");
    }

    #[test]
    fn a_child_of_a_fork_has_no_visits_of_its_parent() {
        let company = Arc::new(Company::default());
        let mut visits: Vec<_> = (0..3).map_while(|_| company.join()).collect();
        assert_eq!(company.paused.load(Ordering::Relaxed), 3);
        company.process.store(1, Ordering::Relaxed);
        visits.iter_mut().for_each(|visit| visit.process = 1);
        let own = company.join();
        assert_eq!(company.paused.load(Ordering::Relaxed), 1);
        drop(visits);
        assert_eq!(company.paused.load(Ordering::Relaxed), 1);
        drop(own);
        assert_eq!(company.paused.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_that_meets_another_brings_all_back() {
        let company = Arc::new(Company::default());
        while company.alone.failures() < 6 {
            drop(company.join());
        }
        let first = loop {
            if let Some(visit) = company.join() {
                break visit;
            }
        };
        let second = company.join();
        assert!(second.is_some());
        drop(first);
        drop(second);
        assert!(company.join().is_some());
    }

    #[test]
    fn a_job_comes_back_when_the_batch_is_full_or_no_others_join() {
        let company = Arc::new(Company::default());
        let mut visits: Vec<_> = company.join().into_iter().collect();
        let mut turns = 0;
        company.gather(|| {
            turns += 1;
            if turns <= 3 {
                visits.extend(company.join());
            }
            false
        });
        assert_eq!((turns, visits.len()), (5, 4));
        // It ends, however many jobs join.
        turns = 0;
        company.gather(|| {
            turns += 1;
            visits.extend(company.join());
            false
        });
        assert_eq!(turns, TURNS_MAX);
        // Another job has computed it in the meantime.
        turns = 0;
        company.gather(|| {
            turns += 1;
            true
        });
        assert_eq!(turns, 1);
        // Three wait, and the fourth waits for none.
        company.gathered.store(BATCH - 1, Ordering::Relaxed);
        turns = 0;
        company.gather(|| {
            turns += 1;
            true
        });
        assert_eq!(turns, 0);
        assert_eq!(company.gathered.load(Ordering::Relaxed), 0);
    }
}
