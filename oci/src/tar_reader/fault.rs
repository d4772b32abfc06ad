//! [`Fault`]: what Go rejects in a header, or readers read differently.

use std::io;

/// An error in a tar that Go rejects, or that readers read differently.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the tar header at byte {position} is invalid: {fault}")]
pub(super) struct Malformed {
    pub(super) position: u64,
    pub(super) fault: Fault,
}

/// A problem in a header.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
pub(super) enum Fault {
    #[error("the checksum does not match")]
    Checksum,
    #[error("a zero block is followed by other data")]
    LoneZeroBlock,
    #[error("no entry follows the extended header")]
    Dangling,
    #[error("the field {0} is not a number that fits in 63 bits")]
    Number(&'static str),
    #[error("the size is negative, or overflows 63 bits")]
    Size,
    #[error("the entry has data, although its kind has none")]
    Data,
    #[error("the target of the hard link is empty, contains \"..\", or ends in a slash or a dot")]
    HardLink,
    #[error("the entry has two extended headers of the same kind")]
    TwoHeaders,
    #[error("the field {0} is given twice")]
    Twice(&'static str),
    #[error("the long name is empty, or contains a NUL")]
    LongName,
    #[error("the PAX record is malformed")]
    Record,
    #[error("the PAX record {0:?} is empty, or is not valid")]
    Value(&'static str),
    #[error("the global PAX header sets {0:?}, which some readers apply and others do not")]
    Global(&'static str),
    #[error("the PAX record {0:?} is an attribute of overlayfs, which some engines apply")]
    Overlay(&'static str),
    #[error("the sparse file is malformed")]
    Sparse,
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}
