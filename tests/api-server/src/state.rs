//! [`State`]: the objects that the server stores, and how requests change them.

use std::collections::BTreeMap;
use std::convert::Infallible;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{StreamExt, stream};
use http::{Method, request::Parts};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{encode, fill};

use crate::OnJob;
use crate::response::{Response, json_of, refused, whole};

/// The objects that the server stores.
#[derive(Default)]
pub struct State {
    objects: BTreeMap<(String, String), Value>,
    version: u64,
    watches: Vec<(String, String, UnboundedSender<Value>)>,
    /// The kinds of which a quota limits the number of objects.
    quotas: BTreeMap<String, usize>,
}

impl State {
    /// Carries out a request.
    pub(crate) fn respond(
        &mut self,
        head: &Parts,
        body: &[u8],
        denied: &[&str],
        on_job: &mut OnJob,
    ) -> Response {
        let state = self;
        let mut parts = head.uri.path().split('/').skip_while(|part| *part != "namespaces").skip(2);
        let (kind, name) = (parts.next().unwrap_or("namespaces"), parts.next().unwrap_or_default());
        let query = head.uri.query().unwrap_or_default().replace("%3D", "=").replace("%2C", ",");
        let query = query.replace("%2F", "/").replace("%20", " ").replace('+', " ");
        let query = query.replace("%28", "(").replace("%29", ")");
        let key = (kind.to_owned(), name.to_owned());
        let sent = || serde_json::from_slice::<Value>(body).unwrap();
        if parts.next() == Some("log") {
            return whole(200, "the last words\n".to_owned());
        }
        if denied.contains(&kind) {
            return refused(403, "Forbidden");
        }
        if head.uri.path().ends_with("/namespaces/default") {
            return json_of(200, &json!({"metadata": {"name": "default"}}));
        }
        if head.uri.path() == "/version" {
            return json_of(200, &version());
        }
        match head.method {
            Method::POST if head.uri.path().ends_with("accessreviews") => {
                let mut review = sent();
                review["status"] = json!({"allowed": true});
                json_of(201, &review)
            }
            // Admission comes before the storage, which knows whether the name is taken.
            Method::POST if state.is_full(kind) => refused(403, "exceeded quota: small"),
            Method::POST if query.contains("dryRun") && denied.contains(&"dry runs of pods") => {
                refused(403, "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"")
            }
            Method::POST if query.contains("dryRun") => json_of(201, &sent()),
            Method::POST => {
                let mut object = sent();
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                if state.objects.contains_key(&(kind.to_owned(), name.clone())) {
                    return refused(409, "AlreadyExists");
                }
                object["metadata"]["uid"] = json!(format!("uid of {kind}/{name}"));
                let object = state.put(kind, object);
                if kind == "jobs" {
                    on_job(state, &object);
                }
                json_of(201, &object)
            }
            Method::PATCH if denied.contains(&"patches of jobs") && kind == "jobs" => {
                refused(403, "Forbidden")
            }
            Method::PATCH => {
                let Some(object) = state.objects.get(&key) else { return refused(404, "NotFound") };
                let (mut object, mut patch) = (object.clone(), sent());
                let expected = patch["metadata"]
                    .as_object_mut()
                    .and_then(|metadata| metadata.remove("resourceVersion"))
                    .unwrap_or_default();
                if !expected.is_null() && expected != object["metadata"]["resourceVersion"] {
                    return refused(409, "Conflict");
                }
                merge(&mut object, &patch);
                json_of(200, &state.put(kind, object))
            }
            Method::DELETE => match state.objects.remove(&key) {
                Some(object) => json_of(200, &object),
                None => refused(404, "NotFound"),
            },
            _ if query.contains("watch=") => state.watch(kind, &query),
            _ if name.is_empty() => {
                let items: Vec<_> = state.select(kind, &query).cloned().collect();
                let version = state.version.to_string();
                json_of(200, &json!({"metadata": {"resourceVersion": version}, "items": items}))
            }
            _ => match state.objects.get(&key) {
                Some(object) => json_of(200, object),
                None => refused(404, "NotFound"),
            },
        }
    }

    /// Stores an object, and sends it to all watches.
    pub fn put(&mut self, kind: &str, object: Value) -> Value {
        let is_new = !self.objects.contains_key(&key_of(kind, &object));
        let object = self.put_unseen(kind, object);
        let event = json!({"type": if is_new { "ADDED" } else { "MODIFIED" }, "object": object});
        self.watches.retain(|(its, query, watch)| {
            its != kind
                || !is_selected(&object, query)
                || watch.unbounded_send(event.clone()).is_ok()
        });
        object
    }

    fn put_unseen(&mut self, kind: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key_of(kind, &object), object.clone());
        object
    }

    /// Fills the ConfigMaps as the pod of this Job would.
    pub fn fill(&mut self, job: &Value) {
        self.fill_some(job, |_| true);
    }

    /// Fills those ConfigMaps of the Job whose image fulfils a condition.
    pub fn fill_some(&mut self, job: &Value, is_filled: impl Fn(&str) -> bool) {
        for (config_map, image) in bundles(job).into_iter().filter(|(_, image)| is_filled(image)) {
            let filled = self.filled(job, &config_map, &image);
            self.put("configmaps", filled);
        }
    }

    /// Does the same for the only Job whose name has this prefix.
    pub(crate) fn fill_of(&mut self, prefix: &str) {
        let mut jobs = self.objects.iter().filter(|((kind, _), _)| kind == "jobs");
        let job = jobs.find(|((_, name), _)| name.starts_with(prefix)).unwrap().1.clone();
        self.fill(&job);
    }

    /// Does the same without an event for watches.
    pub fn fill_unseen(&mut self, job: &Value) {
        for (config_map, image) in bundles(job) {
            let filled = self.filled(job, &config_map, &image);
            self.put_unseen("configmaps", filled);
        }
    }

    /// Adds a quota that allows this number of objects of a kind.
    pub(crate) fn limit(&mut self, kind: &str, n: usize) {
        self.quotas.insert(kind.to_owned(), n);
    }

    fn is_full(&self, kind: &str) -> bool {
        self.quotas.get(kind).is_some_and(|&n| self.count(kind) >= n)
    }

    /// Returns the number of objects of a kind.
    pub fn count(&self, kind: &str) -> usize {
        self.objects.keys().filter(|(its, _)| its == kind).count()
    }

    /// Returns the only object of a kind whose name has this suffix.
    ///
    /// # Panics
    ///
    /// Panics if no such object exists.
    pub fn object(&self, kind: &str, suffix: &str) -> Value {
        self.objects(kind, suffix).swap_remove(0)
    }

    /// Returns the objects of a kind whose name has this suffix.
    pub fn objects(&self, kind: &str, suffix: &str) -> Vec<Value> {
        let found = self.objects.iter();
        let found = found.filter(|((its, name), _)| its == kind && name.ends_with(suffix));
        found.map(|(_, object)| object.clone()).collect()
    }

    fn filled(&self, job: &Value, config_map: &str, image: &str) -> Value {
        let file = File {
            directory: Directory::Manifests,
            name: "csv.yaml".into(),
            bytes: b"kind: ClusterServiceVersion\n".to_vec(),
        };
        let content = Content::assemble(vec![file], &Limits::default()).unwrap().content;
        let attempt = job["metadata"]["uid"].as_str().map(str::to_owned);
        let source_image = Some(image.to_owned());
        let options =
            encode::Options::default().with_attempt(attempt).with_source_image(source_image);
        let encoded = encode(&content, &options).unwrap();
        let config_map = self.objects[&("configmaps".to_owned(), config_map.to_owned())].clone();
        let config_map = serde_json::from_value(config_map).unwrap();
        serde_json::to_value(fill(config_map, &encoded[0]).unwrap()).unwrap()
    }

    fn select<'s>(&'s self, kind: &'s str, query: &'s str) -> impl Iterator<Item = &'s Value> {
        let of_kind = self.objects.iter().filter(move |((its, _), _)| its == kind);
        of_kind.map(|(_, object)| object).filter(move |object| is_selected(object, query))
    }

    fn watch(&mut self, kind: &str, query: &str) -> Response {
        let (sender, receiver) = unbounded();
        let from = parameter(query, "resourceVersion").unwrap().parse::<u64>().unwrap();
        let is_later = |object: &&Value| {
            let version = object["metadata"]["resourceVersion"].as_str().unwrap();
            version.parse::<u64>().unwrap() > from
        };
        let missed = self.select(kind, query).filter(is_later);
        let missed: Vec<_> =
            missed.map(|object| json!({"type": "MODIFIED", "object": object})).collect();
        self.watches.push((kind.to_owned(), query.to_owned(), sender));
        let lines = stream::iter(missed)
            .chain(receiver)
            .map(|event| Ok::<_, Infallible>(Frame::data(Bytes::from(format!("{event}\n")))));
        Response::new(StreamBody::new(lines).boxed_unsync())
    }
}

/// Returns the ConfigMaps of a Job and their images, from the command of its container.
pub fn bundles(job: &Value) -> Vec<(String, String)> {
    let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
    let arguments: Vec<_> = command.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let values = |flag: &str| {
        let values = arguments.iter().filter_map(move |argument| argument.strip_prefix(flag));
        values.collect::<Vec<_>>()
    };
    let names = values("--bundle=").into_iter().map(|it| it.rsplit('=').next().unwrap());
    let images = values("--source-image=").into_iter();
    names.zip(images).map(|(name, image)| (name.to_owned(), image.to_owned())).collect()
}

/// Returns the response to `/version`, as kube reads it.
fn version() -> Value {
    let names = [
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ];
    names.into_iter().map(|name| (name.to_owned(), json!("v1.36.3"))).collect()
}

fn key_of(kind: &str, object: &Value) -> (String, String) {
    (kind.to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned())
}

fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Checks whether the selectors of a query match an object.
fn is_selected(object: &Value, query: &str) -> bool {
    let is_taken = |selector: &str, part: fn(&Value, &str) -> Value| {
        let (rest, any) = match parameter(query, selector).unwrap_or_default().split_once(" in (") {
            Some((rest, values)) => {
                let (rest, key) = rest.rsplit_once(',').unwrap_or(("", rest));
                (rest, Some((key, values.trim_end_matches(')'))))
            }
            None => (parameter(query, selector).unwrap_or_default(), None),
        };
        any.is_none_or(|(key, values)| values.split(',').any(|value| part(object, key) == value))
            && rest.split(',').filter(|term| !term.is_empty()).all(|term| {
                match term.split_once('=') {
                    Some((key, value)) => part(object, key) == value,
                    None => !part(object, term).is_null(),
                }
            })
    };
    is_taken("labelSelector", |object, key| object["metadata"]["labels"][key].clone())
        && is_taken("fieldSelector", |object, key| {
            let path = format!("/{}", key.replace('.', "/"));
            object.pointer(&path).cloned().unwrap_or_default()
        })
}

fn merge(object: &mut Value, patch: &Value) {
    match (object.as_object_mut(), patch.as_object()) {
        (Some(object), Some(patch)) => {
            for (key, value) in patch {
                if value.is_null() {
                    object.remove(key);
                } else {
                    merge(object.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
        }
        _ => {
            *object = patch.clone();
        }
    }
}
