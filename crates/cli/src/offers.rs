//! What the OpenSSL provider offers on this machine, and what it leaves to OpenSSL.

use oarlock::Accelerator;
use serde::Serialize;

/// Algorithms that are left to OpenSSL for one reason.
#[derive(Serialize)]
pub(crate) struct Withheld {
    pub(crate) operations: Vec<&'static str>,
    pub(crate) why: &'static str,
}

/// Names of what is offered.
pub(crate) fn offered(accelerator: &Accelerator) -> Vec<&'static str> {
    let offered = accelerator.provided().filter(|(_, why)| why.is_none());
    offered.map(|(operation, _)| operation.name()).collect()
}

/// What is not, by reason.
pub(crate) fn withheld(accelerator: &Accelerator) -> Vec<Withheld> {
    let mut withheld: Vec<Withheld> = Vec::new();
    for (operation, why) in accelerator.provided() {
        let Some(why) = why else { continue };
        match withheld.iter_mut().find(|one| one.why == why) {
            Some(one) => one.operations.push(operation.name()),
            None => withheld.push(Withheld {
                operations: vec![operation.name()],
                why,
            }),
        }
    }
    withheld
}
