//! Private entry points for fuzzing and measurements. They are not part of the API.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use unlade_config_map::ConfigMap;

use crate::api::{
    self, Access, Filled, Kubeconfig, Pace, Policy, Request, Response, Server, SystemClock, connect,
};
use crate::args;

/// Parses a command line, which does not include the name of the program. Returns a text that is
/// different for each command.
pub fn arguments(args: impl IntoIterator<Item = OsString>) -> Result<String, String> {
    let command = args::parse(args).map_err(|error| unlade_text::chain(&error))?;
    Ok(format!("{command:?}"))
}

/// Reads the current context of the kubeconfig at `path`. Returns a text that is different for each
/// server and namespace.
pub fn kubeconfig(path: &Path) -> Result<String, String> {
    let found = Kubeconfig::read(path, None).map_err(|error| unlade_text::chain(&error))?;
    let Kubeconfig { access, namespace, withholds_credentials } = found;
    let Access { address, host, base, tls, .. } = access;
    let name = tls.map(|tls| tls.name);
    Ok(format!("{address} {host} {base} {name:?} {namespace:?} {withholds_credentials}"))
}

/// A response of an API server: its status, its `Retry-After` in seconds, and its body.
pub type Reply<'a> = (u16, Option<u64>, &'a [u8]);

/// Fills a ConfigMap through an API server that responds with `read` to the first request and with
/// `written` to the second. Returns the ConfigMap that the server has after a success, as JSON. The
/// error contains the time until the next attempt.
pub fn fill(read: Reply<'_>, written: Reply<'_>, encoded: &ConfigMap) -> Result<Vec<u8>, String> {
    let server = Script { replies: RefCell::new(vec![written, read]), body: RefCell::default() };
    let (policy, clock) = (Policy::default(), SystemClock::start());
    let mut pace = Pace::new(&policy, &clock);
    api::attempt(&server, encoded, unlade_config_map::fill, &pace)
        .map(|filled| match filled {
            Filled::Written => server.body.take(),
            Filled::Unchanged => read.2.to_vec(),
        })
        .map_err(|error| format!("{} {:?}", unlade_text::chain(&error), pace.next_wait(&error)))
}

struct Script<'a> {
    /// The responses, the first of which is the last element.
    replies: RefCell<Vec<Reply<'a>>>,
    /// The body of the last request.
    body: RefCell<Vec<u8>>,
}

impl Server for Script<'_> {
    fn call(&self, request: &Request, _: Duration) -> Result<Response, connect::Error> {
        self.body.replace(request.body.clone());
        let (status, seconds, body) = self.replies.borrow_mut().pop().unwrap_or_default();
        Ok(Response { status, retry_after: seconds.map(Duration::from_secs), body: body.to_vec() })
    }
}
