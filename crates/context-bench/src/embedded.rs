//! Files of `catalog/` that are part of the program.

/// The files `NAME.yaml` of a folder of `catalog/`, each with its text.
macro_rules! embedded {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$((
            concat!($name, ".yaml"),
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/catalog/", $folder, "/", $name, ".yaml"
            )),
        )),*]
    };
}

pub(crate) use embedded;
