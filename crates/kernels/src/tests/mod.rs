//! One body of tests, instantiated by every backend the machine has.

mod aes;
