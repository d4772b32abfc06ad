//! A server as a process, and what it has used.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

/// What a server has used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The resident memory, in MiB.
    pub(crate) memory: f64,
    /// The maximum of the resident memory so far, in MiB.
    pub(crate) peak: f64,
}

/// A running server, which is stopped when this value is dropped.
pub(crate) struct Served {
    child: Child,
    start: Instant,
    ready: Duration,
    pub(crate) address: String,
}

impl Served {
    /// Starts a server, and waits until it listens.
    pub(crate) async fn start(mut command: Command) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let start = Instant::now();
        command.arg("--port").arg(port.to_string()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(child.try_wait().unwrap().is_none(), "the server has ended");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (ready, address) = (start.elapsed(), format!("http://127.0.0.1:{port}"));
        Self { child, start, ready, address }
    }

    /// Returns what the server has used since its start.
    pub(crate) fn sample(&self) -> Sample {
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.child.id()));
        let stat = read("stat").unwrap();
        // The name of the program, in parentheses, may contain spaces.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).unwrap().parse::<u64>().unwrap();
        // User and system time in hundredths of a second.
        let cpu = Duration::from_millis(10 * (ticks(11) + ticks(12)));
        let status = read("status").unwrap();
        let memory = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
            kib / 1024.0
        };
        Sample { wall: self.ready, cpu, memory: memory("VmRSS:"), peak: memory("VmHWM:") }
    }

    /// Returns what the server uses while `work` runs. The memory is that at its end.
    pub(crate) async fn sample_of<T>(&self, work: impl Future<Output = T>) -> Sample {
        let (before, start) = (self.sample(), Instant::now());
        work.await;
        let after = self.sample();
        Sample { wall: start.elapsed(), cpu: after.cpu.saturating_sub(before.cpu), ..after }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        assert!(self.start.elapsed() >= self.ready);
    }
}
