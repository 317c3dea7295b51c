//! How the module is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Threads and fork handlers of ours may outlive an unload, so there is none.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // What is missing is found now, not when a program loads it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,relro,-z,now");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liboarlock_pkcs11.so");
}
