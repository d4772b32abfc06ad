//! Private entry points for fuzzing and measurements. They are not part of the API.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use unlade_config_map::ConfigMap;

use crate::api::{self, Kubeconfig, Pace, Policy, Request, Response, Server, SystemClock, connect};
use crate::args;

/// Parses a command line, which does not include the name of the program.
pub fn arguments(args: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    args::parse(args).map(|_| ()).map_err(|error| unlade_text::chain(&error))
}

/// Reads the current context of the kubeconfig at `path`.
pub fn kubeconfig(path: &Path) -> Result<(), String> {
    Kubeconfig::read(path, None).map(|_| ()).map_err(|error| unlade_text::chain(&error))
}

/// A response of an API server: its status, its `Retry-After` in seconds, and its body.
pub type Reply<'a> = (u16, Option<u64>, &'a [u8]);

/// Fills a ConfigMap through an API server that responds with `read` to the first request and with
/// `written` to the second. The error contains the time until the next attempt.
pub fn fill(read: Reply<'_>, written: Reply<'_>, encoded: &ConfigMap) -> Result<(), String> {
    let server = Script(RefCell::new(vec![written, read]));
    let (policy, clock) = (Policy::default(), SystemClock::start());
    let mut pace = Pace::new(&policy, &clock);
    api::attempt(&server, encoded, unlade_config_map::fill, &pace)
        .map(|_| ())
        .map_err(|error| format!("{} {:?}", unlade_text::chain(&error), pace.next_wait(&error)))
}

/// The responses, the first of which is the last element.
struct Script<'a>(RefCell<Vec<Reply<'a>>>);

impl Server for Script<'_> {
    fn call(&self, _: &Request, _: Duration) -> Result<Response, connect::Error> {
        let (status, seconds, body) = self.0.borrow_mut().pop().unwrap_or_default();
        Ok(Response { status, retry_after: seconds.map(Duration::from_secs), body: body.to_vec() })
    }
}
