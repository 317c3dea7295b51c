//! Shows the one function of a PKCS#11 module to the loader, which the target `pkcs11` has in the program itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=C_GetFunctionList");
    // That of the module under test, which the target `token` has in the program, is left out: it has its list by another way.
    println!("cargo:rustc-link-arg-bins=-Wl,--allow-multiple-definition");
}
