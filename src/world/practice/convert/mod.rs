//! The baseline converter: old definition to the new TOML, mechanically.
