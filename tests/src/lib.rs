//! Integration tests of the whole, and the harness that they share.

pub mod corpus;
pub mod left_out;
