//! Shows the one function of a PKCS#11 module to the loader, which the target `pkcs11` has in the program itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=C_GetFunctionList");
}
