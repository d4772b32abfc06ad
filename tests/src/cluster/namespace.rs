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

/// Set, it keeps the namespaces of tests that failed.
const KEEP: &str = "UNLADE_KEEP_NAMESPACES";

/// How often an object is looked at while a test waits for it, at most and at least. Every look is a
/// process, and they may take the CPU from what is waited for.
const INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// A namespace that goes with the test. If the test fails, it first tells what is in it.
#[derive(Debug)]
pub struct Namespace<'c> {
    cluster: &'c Cluster,
    name: String,
    /// Kind and name of objects that are in no namespace and go with this one.
    cluster_wide: Mutex<Vec<[String; 2]>>,
}

impl<'c> Namespace<'c> {
    /// Makes it, and waits until pods can be created in it.
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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates or changes an object; without a namespace of its own it gets this one.
    ///
    /// # Panics
    ///
    /// If the API server refuses.
    pub fn apply(&self, object: &Value) {
        self.try_apply(object).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Creates or changes an object; without a namespace of its own it gets this one.
    ///
    /// # Errors
    ///
    /// The API server's words if it refuses.
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

    /// Creates or changes an object that is in no namespace, and that goes with this one.
    ///
    /// # Panics
    ///
    /// If the API server refuses.
    pub fn apply_cluster_wide(&self, object: &Value) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = object.get("metadata").and_then(|metadata| metadata.get("name"));
        let named = text(object.get("kind")).zip(text(name));
        let (kind, name) = named.unwrap_or_else(|| panic!("no kind and name: {object}"));
        self.takes_along(&kind, &name);
        self.cluster.kubectl().apply(object).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Has an object go with this namespace that is in none, and that something else makes.
    pub fn takes_along(&self, kind: &str, name: &str) {
        let object = [kind, name].map(str::to_owned);
        self.cluster_wide.lock().unwrap_or_else(PoisonError::into_inner).push(object);
    }

    /// Reads an object such as `job/unpack`.
    ///
    /// # Panics
    ///
    /// If the API server doesn't answer.
    pub fn get(&self, object: &str) -> Option<Value> {
        let answer = self.cluster.kubectl().get(&self.name, object);
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads all objects of a kind, such as `jobs`.
    ///
    /// # Panics
    ///
    /// If the API server refuses.
    pub fn list(&self, kind: &str) -> Vec<Value> {
        let text = self.kubectl(["get", kind, "--output=json"]);
        let text = text.unwrap_or_else(|error| panic!("{error}"));
        let list: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let items = list.get("items").and_then(Value::as_array);
        items.unwrap_or_else(|| panic!("no list of {kind}: {text}")).clone()
    }

    /// Waits until an object is as wanted, and gives it.
    ///
    /// # Panics
    ///
    /// If it isn't by the deadline; it says how the object was last.
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
                    let last = last.map_or_else(|| "not there".into(), |value| value.to_string());
                    panic!("{object} is not as wanted after {deadline:?}; it is {last}");
                }
                // What has taken long may take an eighth longer.
                _ => thread::sleep((start.elapsed() / 8).clamp(shortest, longest)),
            }
        }
    }

    /// Runs kubectl in this namespace.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`] with what it said if it failed.
    pub fn kubectl<'a>(&'a self, args: impl IntoIterator<Item = &'a str>) -> Result<String, Error> {
        let mut all = vec!["--namespace", &self.name];
        all.extend(args);
        self.cluster.kubectl().run(all)
    }

    /// What happened here: Jobs, pods, events and logs. What can't be told is left out.
    pub fn dump(&self) -> String {
        let mut text = format!("namespace {}\n", self.name);
        let mut tell = |title: &str, args: &[&str]| {
            let answer = self.kubectl(args.iter().copied());
            let answer = answer.unwrap_or_else(|error| error.to_string());
            let _ = writeln!(text, "--- {title}\n{}", answer.trim_end());
            answer
        };
        tell("jobs, pods, config maps", &["get", "jobs,pods,configmaps", "--output=wide"]);
        tell("events", &["get", "events", "--sort-by=.lastTimestamp"]);
        tell("pods", &["describe", "pods"]);
        for pod in tell("logs of", &["get", "pods", "--output=name"]).lines() {
            tell(pod, &["logs", pod, "--all-containers", "--prefix", "--tail=100"]);
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
        // Policies and webhooks go even if the namespace is kept: they could be in others' way.
        let cluster_wide = self.cluster_wide.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut gone = std::mem::take(cluster_wide);
        if !(failed && env::var_os(KEEP).is_some()) {
            gone.push(["namespace".to_owned(), self.name.clone()]);
        }
        for [kind, name] in gone {
            // Nobody waits for it: the test is over.
            let delete = ["delete", &kind, &name, "--ignore-not-found", "--wait=false"];
            if let Err(error) = self.cluster.kubectl().run(delete) {
                eprintln!("failed to {error}");
            }
        }
    }
}
