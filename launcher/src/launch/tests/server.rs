//! An API server in memory, as far as the launcher needs one, and in place of the Job controller
//! and the pods a closure.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::sleep;
use unlade_format::{Content, Directory, File, Limits, encode, fill, record};

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;
type OnJob = Box<dyn FnMut(&mut State, &Value) + Send>;

/// The server, and the kinds that it denies. Clones are the same.
#[derive(Clone)]
pub(super) struct Server(Arc<Mutex<(State, OnJob)>>, &'static [&'static str]);

/// What it holds.
#[derive(Default)]
pub(super) struct State {
    objects: BTreeMap<(String, String), Value>,
    version: u64,
    watches: Vec<(String, String, UnboundedSender<Value>)>,
}

impl Server {
    /// `on_job` is called with each Job that was created.
    pub(super) fn new(on_job: impl FnMut(&mut State, &Value) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new((State::default(), Box::new(on_job)))), &[])
    }

    /// The same, and these kinds may not be read, or what else is said here is missing.
    pub(super) fn without(self, kinds: &'static [&'static str]) -> Self {
        Self(self.0, kinds)
    }

    pub(super) fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let is_creation = head.method == Method::POST && head.uri.path().ends_with("/jobs");
                if is_creation && server.1.contains(&"prompt creations of jobs") {
                    // As hyper does, this goes on when nobody waits for the answer any more.
                    let late = tokio::spawn(async move {
                        sleep(Duration::from_secs(3)).await;
                        server.answer(&head, &body)
                    });
                    return Ok::<_, Infallible>(late.await.unwrap());
                }
                Ok::<_, Infallible>(server.answer(&head, &body))
            }
        });
        kube::Client::new(service, "default")
    }

    /// Has an object there.
    pub(super) fn put(&self, kind: &str, object: Value) {
        self.lock().0.put(kind, object);
    }

    /// How many objects of a kind there are.
    pub(super) fn count(&self, kind: &str) -> usize {
        self.lock().0.count(kind)
    }

    /// The only object of a kind whose name ends so.
    pub(super) fn object(&self, kind: &str, suffix: &str) -> Value {
        let server = self.lock();
        let mut found = server.0.objects.iter();
        let found = found.find(|((its, name), _)| its == kind && name.ends_with(suffix));
        found.unwrap().1.clone()
    }

    fn lock(&self) -> MutexGuard<'_, (State, OnJob)> {
        self.0.lock().unwrap()
    }

    fn answer(&self, head: &http::request::Parts, body: &[u8]) -> Answer {
        let (state, on_job) = &mut *self.lock();
        let mut parts = head.uri.path().split('/').skip_while(|part| *part != "namespaces").skip(2);
        let (kind, name) = (parts.next().unwrap_or("namespaces"), parts.next().unwrap_or_default());
        let query = head.uri.query().unwrap_or_default().replace("%3D", "=").replace("%2C", ",");
        let query = query.replace("%2F", "/").replace("%20", " ").replace('+', " ");
        let key = (kind.to_owned(), name.to_owned());
        let sent = || serde_json::from_slice::<Value>(body).unwrap();
        if parts.next() == Some("log") {
            return whole(200, "the last words\n".to_owned());
        }
        if self.1.contains(&kind) {
            return refused(403, "Forbidden");
        }
        if head.uri.path().ends_with("/namespaces/default") {
            return json_of(200, &json!({"metadata": {"name": "default"}}));
        }
        match head.method {
            Method::POST if query.contains("dryRun") && self.1.contains(&"dry runs of pods") => {
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
                if self.1.contains(&"answers to creations") {
                    return refused(504, "Timeout");
                }
                json_of(201, &object)
            }
            Method::PATCH if self.1.contains(&"patches of jobs") && kind == "jobs" => {
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
                let items: Vec<_> = state.of(kind, &query).cloned().collect();
                let version = state.version.to_string();
                json_of(200, &json!({"metadata": {"resourceVersion": version}, "items": items}))
            }
            _ => match state.objects.get(&key) {
                Some(object) => json_of(200, object),
                None => refused(404, "NotFound"),
            },
        }
    }
}

impl State {
    /// Stores an object, and tells those who watch.
    pub(super) fn put(&mut self, kind: &str, object: Value) -> Value {
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

    /// Fills the ConfigMap as the pod of this Job would.
    pub(super) fn fill(&mut self, job: &Value) {
        let filled = self.filled(job);
        self.put("configmaps", filled);
    }

    /// The same, and nobody who watches is told.
    pub(super) fn fill_unseen(&mut self, job: &Value) {
        let filled = self.filled(job);
        self.put_unseen("configmaps", filled);
    }

    /// How many objects of a kind there are.
    pub(super) fn count(&self, kind: &str) -> usize {
        self.objects.keys().filter(|(its, _)| its == kind).count()
    }

    fn filled(&self, job: &Value) -> Value {
        let file = File {
            directory: Directory::Manifests,
            name: "csv.yaml".into(),
            bytes: b"kind: ClusterServiceVersion\n".to_vec(),
        };
        let content = Content::assemble(vec![file], &Limits::default()).unwrap().content;
        let attempt = job["metadata"]["uid"].as_str().map(str::to_owned);
        let image = job["metadata"]["annotations"][record::IMAGE].as_str();
        let source_image = image.map(str::to_owned);
        let options = encode::Options { attempt, source_image, ..encode::Options::default() };
        let encoded = encode(&content, &options).unwrap();
        let owner = job["metadata"]["ownerReferences"][0]["name"].as_str().unwrap();
        let config_map = self.objects[&("configmaps".to_owned(), owner.to_owned())].clone();
        let config_map = serde_json::from_value(config_map).unwrap();
        serde_json::to_value(fill(config_map, &encoded[0]).unwrap()).unwrap()
    }

    fn of<'s>(&'s self, kind: &'s str, query: &'s str) -> impl Iterator<Item = &'s Value> {
        let of_kind = self.objects.iter().filter(move |((its, _), _)| its == kind);
        of_kind.map(|(_, object)| object).filter(move |object| is_selected(object, query))
    }

    fn watch(&mut self, kind: &str, query: &str) -> Answer {
        let (sender, receiver) = unbounded();
        let from = parameter(query, "resourceVersion").unwrap().parse::<u64>().unwrap();
        let is_later = |object: &&Value| {
            let version = object["metadata"]["resourceVersion"].as_str().unwrap();
            version.parse::<u64>().unwrap() > from
        };
        let missed = self.of(kind, query).filter(is_later);
        let missed: Vec<_> =
            missed.map(|object| json!({"type": "MODIFIED", "object": object})).collect();
        self.watches.push((kind.to_owned(), query.to_owned(), sender));
        let lines = stream::iter(missed)
            .chain(receiver)
            .map(|event| Ok::<_, Infallible>(Frame::data(Bytes::from(format!("{event}\n")))));
        Response::new(StreamBody::new(lines).boxed_unsync())
    }
}

fn key_of(kind: &str, object: &Value) -> (String, String) {
    (kind.to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned())
}

fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether the selectors of a query take an object.
fn is_selected(object: &Value, query: &str) -> bool {
    let is_taken = |selector: &str, part: fn(&Value, &str) -> Value| {
        let mut terms = parameter(query, selector).unwrap_or_default().split(',');
        terms.all(|term| {
            let Some((key, value)) = term.split_once('=') else { return true };
            part(object, key) == value
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

fn refused(code: u16, reason: &str) -> Answer {
    json_of(
        code,
        &json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}),
    )
}

fn json_of(code: u16, value: &Value) -> Answer {
    whole(code, value.to_string())
}

fn whole(code: u16, text: String) -> Answer {
    let body = Full::new(Bytes::from(text)).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}
