//! Files over TLS: the sender over sockets of any kind, and the example server with other programs.

mod https;
mod sender;
