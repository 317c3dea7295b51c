//! Shows the one function of a PKCS#11 module to the loader, which the target `pkcs11` has in the program itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=C_GetFunctionList");
    // The target `token` has the module under test in the program, whose function of this name is left out: the target gets
    // the list by another way. The target `pkcs11` asserts that the one that stays is its own.
    println!("cargo:rustc-link-arg-bins=-Wl,--allow-multiple-definition");
}
