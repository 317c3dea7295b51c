//! The tables of powers of a GCM key, kept for the next context of its thread. They have 4 KiB, more than glibc's malloc has
//! a cache for.

use std::cell::Cell;

use oarlock_kernels::gcm::Tables;

/// Tables, or none, in the room of a pointer.
#[derive(Default)]
pub(super) struct Room(Option<Box<[Tables; 1]>>);

impl AsRef<[Tables]> for Room {
    #[inline(always)]
    fn as_ref(&self) -> &[Tables] {
        match &self.0 {
            Some(tables) => &**tables,
            None => &[],
        }
    }
}

impl AsMut<[Tables]> for Room {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [Tables] {
        match &mut self.0 {
            Some(tables) => &mut **tables,
            None => &mut [],
        }
    }
}

thread_local! {
    static SPARE: Cell<Room> = const { Cell::new(Room(None)) };
}

/// Room for tables; none where memory is short.
#[inline]
pub(super) fn take() -> Room {
    // There is none either when the thread is at its end.
    let spare = SPARE.try_with(Cell::take).unwrap_or_default();
    if spare.0.is_some() { spare } else { made() }
}

#[inline(never)]
fn made() -> Room {
    let mut tables = Vec::new();
    if tables.try_reserve_exact(1).is_err() {
        return Room(None);
    }
    tables.push(Tables::empty());
    Room(tables.into_boxed_slice().try_into().ok())
}

/// Keeps room that no key uses any more, and that has been wiped.
#[inline]
pub(super) fn keep(room: Room) {
    let _ = SPARE.try_with(|spare| spare.set(room));
}

#[cfg(test)]
mod tests {
    use oarlock_kernels::aes::Backend;
    use oarlock_kernels::cpu::Cpu;
    use oarlock_kernels::gcm::Gcm;

    use super::*;

    #[test]
    fn room_comes_back_for_another_key() {
        let tag = |gcm: &Gcm<Room>| {
            gcm.seal(&[1; 12], b"aad", (&mut [0; 3000][..]).into())
                .unwrap()
        };
        for cpu in [Cpu::detect(), Cpu::PORTABLE] {
            let mut gcm = Gcm::unkeyed_with(take(), Backend::preferred(cpu));
            for long_messages in 0..4_u8 {
                let mut fresh = Gcm::unkeyed_with(Room::default(), Backend::preferred(cpu));
                for key in [[long_messages; 32], [7; 32]] {
                    gcm.set_key(&key).unwrap();
                    fresh.set_key(&key).unwrap();
                    for _ in 0..long_messages {
                        assert_eq!(tag(&gcm), tag(&fresh));
                    }
                }
                let tables = gcm.set_tables(Room::default());
                let place = tables.as_ref().as_ptr();
                assert!(tables.0.is_some() && !gcm.has_tables());
                keep(tables);
                assert_eq!(tag(&gcm), tag(&fresh));
                gcm.set_tables(take());
                assert_eq!(tag(&gcm), tag(&fresh));
                let tables = gcm.set_tables(Room::default());
                assert_eq!(
                    tables.as_ref().as_ptr(),
                    place,
                    "not the room that was kept"
                );
                gcm.set_tables(tables);
            }
        }
    }
}
