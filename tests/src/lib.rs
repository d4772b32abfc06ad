//! Integration tests of the whole, and the harness that they share.

pub mod cluster;
pub mod corpus;
pub mod left_out;
pub mod olm;
pub mod shipped;
pub mod trap;
