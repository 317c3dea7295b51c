//! Under `cfg(loom)` the engine's sources use loom's synchronization instead of the standard library's. It is set here, only
//! for the model check: as a flag of the whole build it would make every crate compile again.

fn main() {
    println!("cargo::rustc-cfg=loom");
}
