//! The protocol between the unpacker, which runs in a pod, and the launcher, which starts it and
//! needs to know its result.
//!
//! The pod reports its [outcomes](outcome) in its exit code, its termination message and its log.
//! The launcher keeps its [records](record) in annotations of the objects that it creates, and a
//! fill removes those that describe the earlier content. Neither is part of the format of the
//! ConfigMap, whose [marks](crate::mark) describe the content.

pub mod outcome;
pub mod record;
