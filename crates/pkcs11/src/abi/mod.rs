//! The functions of the standard.
//!
//! `calls.rs` has the functions, `lists.rs` their lists, by which programs find them.
#![allow(unsafe_code)]

mod calls;
mod lists;

pub(crate) use lists::functions;
