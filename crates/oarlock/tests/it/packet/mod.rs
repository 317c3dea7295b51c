//! Packets: what other implementations make, what nobody should send, and many at once.

mod esp;
