//! Files over TLS: the sender on sockets of every kind, and the example server with other programs.

mod https;
mod sender;
