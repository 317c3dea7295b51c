//! Single-threaded programs, and the helpers that the provider creates in them: what helpers may do, how soon they end, and
//! what such a program can still do. See the rows of docs/internals/process-model.md.

use std::process::Command;

use oarlock_testing::{has_cpus, is_root};

use crate::host::{Accelerated, succeeds};

/// User namespaces require a program with one thread (unshare(2)).
#[test]
fn a_quiet_program_has_one_thread_again() {
    if !is_root("a namespace of users") || !has_cpus() {
        return;
    }
    for accelerated in with_helpers() {
        succeeds(&mut moment(&accelerated, "unshare"));
        succeeds(&mut moment(&accelerated, "pauses"));
    }
}

#[test]
fn helpers_give_up_their_rights_and_keep_nothing_that_the_program_drops() {
    if !is_root("a program with capabilities") || !has_cpus() {
        return;
    }
    for accelerated in with_helpers() {
        succeeds(&mut moment(&accelerated, "rights"));
        succeeds(&mut moment(&accelerated, "capset"));
    }
}

/// The C library changes the user of each thread, and aborts if one fails. So helpers must be able to follow.
#[test]
fn a_program_may_change_its_user_while_a_helper_is_there() {
    if !is_root("a program that changes its user") || !has_cpus() {
        return;
    }
    for accelerated in with_helpers() {
        for _ in 0..10 {
            succeeds(&mut moment(&accelerated, "user"));
        }
    }
}

#[test]
fn without_threads_there_is_never_a_helper() {
    for strategy in ["auto", "stripe", "prefetch"] {
        let accelerated = Accelerated::with(&format!("strategy={strategy},max_threads=0"));
        succeeds(&mut moment(&accelerated, "off"));
    }
    // The environment sets the option.
    for accelerated in with_helpers() {
        let mut off = moment(&accelerated, "off");
        succeeds(off.env("OARLOCK_OPTIONS", "max_threads=0"));
    }
}

/// Each library context loads the provider, and all share its helpers.
#[test]
fn library_contexts_share_one_pool() {
    if !has_cpus() {
        return;
    }
    for accelerated in with_helpers() {
        let mut contexts = moment(&accelerated, "contexts");
        succeeds(contexts.arg(accelerated.conf()));
    }
}

fn with_helpers() -> [Accelerated; 2] {
    ["stripe", "prefetch"].map(Accelerated::forced)
}

fn moment(accelerated: &Accelerated, which: &str) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/languages/helpers.py");
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-I", script, which]);
    accelerated.apply(&mut python);
    python
}
