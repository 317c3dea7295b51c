//! Values divided among several threads.

use std::marker::PhantomData;

use super::tickets::{Role, Tickets};

/// A slice divided into runs of values, each of which one thread takes.
pub struct Slots<'a, T> {
    first: *mut T,
    count: usize,
    run: usize,
    tickets: Tickets,
    _values: PhantomData<&'a mut [T]>,
}

// SAFETY: the pointer comes from a slice borrowed for 'a, whose values may go to other threads; `take`, the only access to
// it, hands no value out twice.
unsafe impl<T: Send> Sync for Slots<'_, T> {}

impl<'a, T> Slots<'a, T> {
    /// Divides `values` into runs of `run` values; the last may be shorter. Runs are longer if there would be more of them
    /// than tickets can count.
    pub fn new(values: &'a mut [T], run: usize) -> Self {
        let count = values.len();
        let run = run.max(1).max(count.div_ceil(u32::MAX as usize));
        Self {
            first: values.as_mut_ptr(),
            count,
            run,
            tickets: Tickets::new(count.div_ceil(run) as u32),
            _values: PhantomData,
        }
    }

    /// Takes the next run for a thread in this role; `None` if all have been taken.
    pub fn take(&self, role: Role) -> Option<&'a mut [T]> {
        let start = self.tickets.take(role)? as usize * self.run;
        let length = self.run.min(self.count - start);
        // SAFETY: the ticket is below the number that `new` created, so `start` is within the slice and `length` does not
        // pass its end. Its values are initialized and valid for 'a. No other thread has this run: tickets hand each number
        // out once, runs do not overlap, and `new` borrowed the slice mutably for 'a.
        Some(unsafe { std::slice::from_raw_parts_mut(self.first.add(start), length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_given_out_once() {
        for (count, run) in [(0, 1), (1, 4), (7, 3), (64, 8), (5, 0)] {
            let mut values = vec![0_u32; count];
            let slots = Slots::new(&mut values, run);
            std::thread::scope(|scope| {
                for role in [Role::Caller, Role::Helper, Role::Helper] {
                    let slots = &slots;
                    scope.spawn(move || {
                        while let Some(values) = slots.take(role) {
                            values.iter_mut().for_each(|value| *value += 1);
                        }
                    });
                }
            });
            assert!(values.iter().all(|value| *value == 1), "{values:?}");
        }
    }
}
