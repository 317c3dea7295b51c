//! Unmodified programs.

mod example;
mod java;
mod nss;
mod openssl;
mod ssh;
mod tools;
