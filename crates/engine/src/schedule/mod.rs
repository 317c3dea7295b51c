//! Parts of every scheduler of devices: the [framework](crate::framework) and the cryptoserver are made of them.

mod health;

pub use self::health::{Fault, Given, Health, Patience, Rules};
