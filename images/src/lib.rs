//! The tool image, and the image that also serves catalogs.
//!
//! [`unpacker::Unpacker`] describes the image for releases and for the pods of tests.
//! [`opm::Opm`] adds the server of catalogs.
//! [`tree::write`] writes the files of an image to a directory, for an engine to copy.
//!
//! ```
//! use unlade_images::unpacker::Unpacker;
//!
//! let image = Unpacker::new("target/shipped/unlade-unpacker").image();
//! assert_eq!(image.config.entrypoint, ["/unlade-unpacker"]);
//! ```

pub mod opm;
pub mod tree;
pub mod unpacker;
