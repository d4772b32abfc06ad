//! Credential helpers: programs that store credentials (docker-credential-helpers).

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use unlade_directory::read_at_most;
use wait_timeout::ChildExt;

use super::{Credentials, Error, Identity};
use crate::limit;

/// The user name that marks the secret as a token instead of a password.
const TOKEN_USER: &str = "<token>";
/// What helpers print if they have no credentials for a server (`credentials/error.go`).
const NOT_FOUND: &str = "credentials not found in native keychain";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(default)]
    username: String,
    secret: String,
}

/// Asks the helper `name` for the credentials for `server`. Returns `None` if it has none.
pub(super) fn get(name: &str, server: &str, time: Duration) -> Result<Option<Identity>, Error> {
    let fails = |problem: String| Error::Helper { name: name.to_owned(), problem };
    // A name with a slash would be a path.
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(is_part) {
        return Err(fails("this is not the name of a helper".to_owned()));
    }
    let mut command = Command::new(format!("docker-credential-{name}"));
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Its own group, so that its children can be ended too.
    let mut child = command.process_group(0).spawn().map_err(|error| fails(error.to_string()))?;
    let start = Instant::now();
    let result = talk(&mut child, server, start, time);
    let left = time.saturating_sub(start.elapsed());
    let status = match &result {
        Ok(_) => child.wait_timeout(left).ok().flatten(),
        Err(_) => None,
    };
    let Some(status) = status else {
        end(&mut child);
        return Err(fails(result.err().unwrap_or_else(|| late(time))));
    };
    let output = result.map_err(&fails)?;
    if !status.success() {
        let text = String::from_utf8_lossy(&output);
        if text.trim() == NOT_FOUND {
            return Ok(None);
        }
        // Its output can contain anything, so it is not shown.
        return Err(fails(status.to_string()));
    }
    parse(&output)
        .ok_or_else(|| fails("its output does not contain credentials as JSON".to_owned()))
}

/// Parses the output of a helper. Returns `None` if it is not valid.
#[expect(clippy::option_option, reason = "a helper can also have no credentials")]
pub(super) fn parse(output: &[u8]) -> Option<Option<Identity>> {
    let output = serde_json::from_slice(output).ok()?;
    Some(match output {
        Output { secret, .. } if secret.is_empty() => None,
        Output { username, secret } if username == TOKEN_USER => {
            Some(Identity::Token(secret.into()))
        }
        Output { username, secret } => Some(Identity::Password(Credentials::new(username, secret))),
    })
}

/// Sends the server to the helper, and returns what the helper prints until `time` after `start`.
fn talk(
    child: &mut Child,
    server: &str,
    start: Instant,
    time: Duration,
) -> Result<Vec<u8>, String> {
    if let Some(mut input) = child.stdin.take() {
        // A helper need not read its input; a server's name fits into the pipe.
        _ = input.write_all(server.as_bytes());
    }
    let Some(output) = child.stdout.take() else { return Err("it has no output".to_owned()) };
    let (sender, receiver) = mpsc::channel();
    // It ends with the last process that holds the output.
    thread::spawn(move || {
        _ = sender.send(read_at_most(output, limit::FILE));
    });
    match receiver.recv_timeout(time.saturating_sub(start.elapsed())) {
        Ok(Ok(Some(bytes))) => Ok(bytes),
        Ok(Ok(None)) => Err(format!("its output is larger than {} bytes", limit::FILE)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(late(time)),
    }
}

fn late(time: Duration) -> String {
    format!("it did not end within {} s", time.as_secs().max(1))
}

/// Ends the helper and its children.
fn end(child: &mut Child) {
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    // A helper may have left its group.
    _ = child.kill();
    _ = child.wait();
}
