//! A certificate authority for tests.
