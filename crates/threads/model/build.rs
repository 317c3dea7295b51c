//! The engine's sources take loom's synchronization for the standard library's under `cfg(loom)`. Set here for
//! the model check alone: as a flag of the whole build it would compile every crate once more.

fn main() {
    println!("cargo::rustc-cfg=loom");
}
