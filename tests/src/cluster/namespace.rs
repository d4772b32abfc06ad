//! A namespace for one test.

use std::env;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unlade_testbed::Error;

use super::Cluster;

/// The variable that keeps the namespaces of failed tests, if it is set.
const KEEP: &str = "UNLADE_KEEP_NAMESPACES";

/// The shortest and the longest interval at which a test reads an object that it waits for. Every
/// read starts a process, which may take processor time from what the test is waiting for.
const INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// A namespace that is deleted with the test. If the test fails, its content is printed first.
#[derive(Debug)]
pub struct Namespace<'c> {
    cluster: &'c Cluster,
    name: String,
    /// The kinds and names of cluster-scoped objects that are deleted with this namespace.
    cluster_wide: Mutex<Vec<[String; 2]>>,
}

impl<'c> Namespace<'c> {
    /// Creates the namespace, and waits until pods can be created in it.
    pub(super) fn create(cluster: &'c Cluster, test: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let readable: String = test
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .take(40)
            .collect();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", readable.trim_matches('-'), std::process::id());
        let namespace = Self { cluster, name, cluster_wide: Mutex::default() };
        namespace.apply(&json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": namespace.name, "labels": {"unlade.dev/test": "true"}},
        }));
        let wait = ["wait", "--for=create", "--timeout=300s", "serviceaccount/default"];
        namespace.kubectl(wait).unwrap_or_else(|error| panic!("{error}"));
        namespace
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates or changes an object, in this namespace unless it has another.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses.
    pub fn apply(&self, object: &Value) {
        self.try_apply(object).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Creates or changes an object, in this namespace unless it has another.
    ///
    /// # Errors
    ///
    /// Returns the message of the API server if it refuses.
    pub fn try_apply(&self, object: &Value) -> Result<(), Error> {
        let mut object = object.clone();
        let is_namespace = object.get("kind").is_some_and(|kind| kind == "Namespace");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
            && !is_namespace
        {
            metadata.entry("namespace").or_insert_with(|| json!(self.name));
        }
        self.cluster.kubectl().apply(&object)
    }

    /// Creates or changes a cluster-scoped object, which is deleted with this namespace.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses.
    pub fn apply_cluster_wide(&self, object: &Value) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = object.get("metadata").and_then(|metadata| metadata.get("name"));
        let named = text(object.get("kind")).zip(text(name));
        let (kind, name) = named.unwrap_or_else(|| panic!("no kind and name: {object}"));
        self.takes_along(&kind, &name);
        self.cluster.kubectl().apply(object).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Deletes a cluster-scoped object that something else creates together with this namespace.
    pub fn takes_along(&self, kind: &str, name: &str) {
        let object = [kind, name].map(str::to_owned);
        self.cluster_wide.lock().unwrap_or_else(PoisonError::into_inner).push(object);
    }

    /// Reads an object such as `job/unpack`.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not respond.
    pub fn get(&self, object: &str) -> Option<Value> {
        let answer = self.cluster.kubectl().get(&self.name, object);
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads all objects of a kind, such as `jobs`.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses.
    pub fn list(&self, kind: &str) -> Vec<Value> {
        let text = self.kubectl(["get", kind, "--output=json"]);
        let text = text.unwrap_or_else(|error| panic!("{error}"));
        let list: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let items = list.get("items").and_then(Value::as_array);
        items.unwrap_or_else(|| panic!("no list of {kind}: {text}")).clone()
    }

    /// Waits until an object meets a condition, and returns the object.
    ///
    /// # Panics
    ///
    /// Panics with the last state of the object if the deadline passes.
    #[track_caller]
    pub fn wait(
        &self,
        object: &str,
        deadline: Duration,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let start = Instant::now();
        let end = start + deadline;
        let [shortest, longest] = INTERVALS;
        loop {
            let last = self.get(object);
            match last {
                Some(value) if is_wanted(&value) => return value,
                _ if Instant::now() >= end => {
                    let last = last.map_or_else(|| "missing".into(), |value| value.to_string());
                    panic!(
                        "{object} does not meet the condition after {deadline:?}; its last state is {last}"
                    );
                }
                // The interval grows with the time so far, so the wait takes at most an eighth
                // longer.
                _ => thread::sleep((start.elapsed() / 8).clamp(shortest, longest)),
            }
        }
    }

    /// Runs kubectl in this namespace.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] with its output if it fails.
    pub fn kubectl<'a>(&'a self, args: impl IntoIterator<Item = &'a str>) -> Result<String, Error> {
        let mut all = vec!["--namespace", &self.name];
        all.extend(args);
        self.cluster.kubectl().run(all)
    }

    /// Returns the content of the namespace: Jobs, pods, events and logs, as far as they can be
    /// read.
    pub fn dump(&self) -> String {
        let mut text = format!("namespace {}\n", self.name);
        let mut print = |title: &str, args: &[&str]| {
            let answer = self.kubectl(args.iter().copied());
            let answer = answer.unwrap_or_else(|error| error.to_string());
            let _ = writeln!(text, "--- {title}\n{}", answer.trim_end());
            answer
        };
        print("jobs, pods, config maps", &["get", "jobs,pods,configmaps", "--output=wide"]);
        print("events", &["get", "events", "--sort-by=.lastTimestamp"]);
        print("pods", &["describe", "pods"]);
        for pod in print("logs of", &["get", "pods", "--output=name"]).lines() {
            print(pod, &["logs", pod, "--all-containers", "--prefix", "--tail=100"]);
        }
        text
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        let failed = thread::panicking();
        if failed {
            eprintln!("{}", self.dump());
        }
        // Policies and webhooks are deleted even if the namespace is kept, because they could
        // affect other tests.
        let cluster_wide = self.cluster_wide.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut gone = std::mem::take(cluster_wide);
        if !(failed && env::var_os(KEEP).is_some()) {
            gone.push(["namespace".to_owned(), self.name.clone()]);
        }
        for [kind, name] in gone {
            // Do not wait for the deletion, because the test has ended.
            let delete = ["delete", &kind, &name, "--ignore-not-found", "--wait=false"];
            if let Err(error) = self.cluster.kubectl().run(delete) {
                eprintln!("{error}");
            }
        }
    }
}
