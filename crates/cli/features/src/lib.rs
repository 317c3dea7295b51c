//! Nothing. `make run` selects this package together with `oarlock-cli` without features, of which it compiles the
//! program alone: cargo gives each crate the features that all selected packages ask for, so what is compiled for the
//! part of the command that comes first serves the whole command.
