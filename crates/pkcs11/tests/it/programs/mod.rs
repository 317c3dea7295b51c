//! Unmodified programs.

mod java;
mod nss;
mod openssl;
mod ssh;
mod tools;
