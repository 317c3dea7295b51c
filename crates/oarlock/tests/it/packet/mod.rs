//! Packets: those of other implementations, invalid ones, and many at once.

mod esp;
mod srtp;
mod srtp_by_hand;
mod srtp_context;
mod srtp_ffmpeg;
mod srtp_libsrtp;
mod tls;
