//! Jobs that are paused, or threads, and how many of them wait for each other.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Whether jobs that are paused meet others.
#[derive(Default)]
pub(crate) struct Company {
    paused: AtomicU32,
    /// Jobs that were ever paused.
    joined: AtomicU64,
    /// Jobs that were paused since the last batch.
    gathered: AtomicU32,
    /// How often in a row one met nobody.
    lonely: AtomicU32,
    /// So many are computed at once before the next is paused.
    skipped: AtomicU32,
    /// Jobs that were paused and never went on.
    abandoned: AtomicU32,
    /// The process that all of this is of: a forked child has none of its parent's jobs.
    process: AtomicU32,
}

/// A job that is paused.
pub(crate) struct Visit<'a> {
    company: &'a Company,
    number: u64,
    found_others: bool,
}

/// As many private operations fill the lanes once, with two exponentiations each.
const BATCH: u32 = 4;
/// A turn may end before all that were woken together have had theirs.
const QUIET_TURNS: u32 = 2;
const TURNS_MAX: u32 = 8;
/// Without other jobs, at most one in 64 is paused.
const LONELY_MAX: u32 = 6;
/// A connection that is closed while its job is paused leaves the job's stack behind, 32 KiB that OpenSSL never frees.
/// Clients may do that on purpose. After so many, 8 MiB, no job is paused any more.
const ABANDONED_MAX: u32 = 256;

impl Company {
    /// `None` if this job had better be computed at once.
    pub(crate) fn join(&self) -> Option<Visit<'_>> {
        self.begin_in_this_process();
        if self.abandoned.load(Ordering::Relaxed) >= ABANDONED_MAX {
            return None;
        }
        let found_others = self.paused.load(Ordering::Relaxed) > 0;
        if !found_others {
            let skip = |left: u32| left.checked_sub(1);
            let order = Ordering::Relaxed;
            if self.skipped.fetch_update(order, order, skip).is_ok() {
                return None;
            }
        }
        self.paused.fetch_add(1, Ordering::Relaxed);
        Some(Visit {
            company: self,
            number: self.joined.fetch_add(1, Ordering::Relaxed) + 1,
            found_others,
        })
    }

    /// A job is paused that never goes on.
    pub(crate) fn abandon(&self) {
        self.paused.fetch_sub(1, Ordering::Relaxed);
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    fn begin_in_this_process(&self) {
        let process = std::process::id();
        // The first ones of all may come at once, and have nothing to forget.
        if [0, process].contains(&self.process.swap(process, Ordering::Relaxed)) {
            return;
        }
        for count in [
            &self.paused,
            &self.gathered,
            &self.lonely,
            &self.skipped,
            &self.abandoned,
        ] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Comes back when the caller should compute: its job makes a batch full, or no others join. Calls `turn` until
    /// then, which comes back after a turn of others and says whether the job is done. Returns whether others have joined.
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

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let company = self.company;
        company.paused.fetch_sub(1, Ordering::Relaxed);
        let met_others = self.found_others || company.joined.load(Ordering::Relaxed) > self.number;
        if met_others {
            company.lonely.store(0, Ordering::Relaxed);
            return;
        }
        let lonely = (company.lonely.load(Ordering::Relaxed) + 1).min(LONELY_MAX);
        company.lonely.store(lonely, Ordering::Relaxed);
        company.skipped.store((1 << lonely) - 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_without_company_is_paused_ever_less_often() {
        let company = Company::default();
        // 1, 2, 4, ..., 64 apart, and 64 from then on.
        let paused = (0..1000).filter(|_| company.join().is_some()).count();
        assert!((10..30).contains(&paused), "{paused}");
    }

    #[test]
    fn jobs_that_were_abandoned_are_no_company_and_not_without_end() {
        let company = Company::default();
        for _ in 0..ABANDONED_MAX {
            while company.join().map(std::mem::forget).is_none() {}
            company.abandon();
        }
        assert_eq!(company.paused.load(Ordering::Relaxed), 0);
        assert!((0..1000).all(|_| company.join().is_none()));
        // As in a child of a fork.
        company.process.fetch_add(1, Ordering::Relaxed);
        assert!(company.join().is_some());
    }

    #[test]
    fn one_that_meets_another_brings_all_back() {
        let company = Company::default();
        while company.lonely.load(Ordering::Relaxed) < LONELY_MAX {
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
        let company = Company::default();
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
        // However many come, it ends.
        turns = 0;
        company.gather(|| {
            turns += 1;
            visits.extend(company.join());
            false
        });
        assert_eq!(turns, TURNS_MAX);
        // Another has computed it meanwhile.
        turns = 0;
        company.gather(|| {
            turns += 1;
            true
        });
        assert_eq!(turns, 1);
        // Three wait, and the fourth waits for nobody.
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
