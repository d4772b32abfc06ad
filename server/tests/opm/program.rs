//! Runs the real opm.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use unlade_testbed::{Olm, Settings};

/// The time in which opm must listen.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Opm(PathBuf);

/// A running `opm serve`, which is stopped when this value is dropped.
pub(crate) struct Running {
    command: Command,
    child: Child,
    port: u16,
    log: File,
}

impl Opm {
    pub(crate) fn find() -> Self {
        let settings = Settings::from_env().unwrap();
        let programs = Olm::prepare(&settings.cache, &mut |line| eprintln!("{line}")).unwrap();
        Self(programs.program("opm"))
    }

    /// Serves a catalog from a cache, and fails if opm does not accept that cache.
    pub(crate) fn serve(&self, catalog: &Path, cache: &Path) -> Running {
        let mut command = Command::new(&self.0);
        command.arg("serve").arg(catalog).arg("--cache-dir").arg(cache);
        command.args(["--cache-enforce-integrity", "--pprof-addr", ""]);
        command.args(["--termination-log", "/dev/null"]);
        let log = tempfile::tempfile().unwrap();
        command.stderr(log.try_clone().unwrap());
        let (child, port) = start(&mut command);
        Running { command, child, port, log }
    }
}

/// Starts opm with a free port, which another program may take before opm does.
fn start(command: &mut Command) -> (Child, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // The last port counts.
    (command.arg("--port").arg(port.to_string()).spawn().unwrap(), port)
}

impl Running {
    /// Returns the address as soon as opm listens there.
    pub(crate) async fn address(&mut self) -> String {
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            let exit = self.child.try_wait().unwrap();
            let is_late = Instant::now() > end;
            if exit.is_some() || is_late {
                let mut log = String::new();
                self.log.rewind().unwrap();
                self.log.read_to_string(&mut log).unwrap();
                if exit.is_some() && !is_late && log.contains("address already in use") {
                    self.log.set_len(0).unwrap();
                    (self.child, self.port) = start(&mut self.command);
                    continue;
                }
                panic!("opm does not listen: {exit:?}: {log}");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
