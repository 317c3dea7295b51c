//! The example program.

use std::process::Command;

use oarlock_testing::process::example;

use crate::common::{Home, module, succeeds};

#[test]
fn the_example_measures_a_key() {
    let home = Home::with(&["rsa", "p256"]);
    for (key, mechanism) in [("rsa", "rsa"), ("p256", "ecdsa")] {
        let mut rate: Command = example("rate");
        home.configures(&mut rate).arg(module());
        let said = succeeds(rate.args(["files", key, mechanism, "2", "0.2"]));
        let rate: u32 = said.split(' ').next().unwrap().parse().unwrap();
        assert!(rate > 10, "{said}");
    }
}
