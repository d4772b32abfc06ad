//! The Roles of manifests/launcher and its variants are sufficient, and each of their rules is
//! necessary.

/// The purpose of each permission.
mod usage;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use unlade_testbed::registry::{Answer, Fault};
use unlade_tests::manifest::Overlay;

use crate::stage::{PATIENCE, Stage};
use usage::{REFUSED, RIGHTS, Right, Usage};

/// The number of commands that run at the same time. They mostly wait.
const AT_ONCE: usize = 8;

const DIAGNOSIS: &str = "manifests/launcher/diagnosis";

/// The permissions of launchers that create a service account for each bundle, and grant it its
/// permissions.
const TO_MAKE_ACCOUNTS: [(&str, &str); 11] = [
    ("configmaps", "update"),
    ("serviceaccounts", "create"),
    ("serviceaccounts", "get"),
    ("serviceaccounts", "delete"),
    ("roles", "create"),
    ("roles", "get"),
    ("roles", "patch"),
    ("roles", "delete"),
    ("rolebindings", "create"),
    ("rolebindings", "get"),
    ("rolebindings", "delete"),
];

/// The permissions that `DIAGNOSIS` adds.
const TO_DIAGNOSE: [(&str, &str); 5] = [
    ("pods/log", "get"),
    ("events", "list"),
    ("events", "watch"),
    ("namespaces", "get"),
    ("secrets", "get"),
];

/// A service account that lacks one permission or none, and the command that it runs.
struct Case {
    /// The name of the launched ConfigMap.
    name: String,
    lacks: Option<&'static Right>,
    usage: Usage,
}

impl Case {
    fn lacking(right: &'static Right) -> Self {
        let resource = right.resource.replace('/', "-");
        let name = format!("no-{}-{resource}", right.verb);
        Self { name, lacks: Some(right), usage: right.usage }
    }

    fn with_all(usage: Usage) -> Self {
        Self { name: format!("all-{usage:?}").to_lowercase(), lacks: None, usage }
    }

    /// Returns the expected exit code, and a part of the expected output.
    fn expected(&self) -> (i32, &'static str) {
        self.lacks.map_or_else(|| self.usage.with_all_rights(), |right| right.without)
    }

    /// Returns the name of its account.
    fn account(&self) -> String {
        format!("with-{}", self.name)
    }

    /// Returns the objects of the manifests, named after the case and without the permission that
    /// it lacks.
    fn objects(&self, manifests: &[Value]) -> Vec<Value> {
        let name = self.account();
        let mut objects = manifests.to_vec();
        for object in &mut objects {
            object["metadata"]["name"] = json!(name);
            if object["kind"] == "Role" {
                object["rules"] = rules(object).filter(|rule| !self.lacks_rule(rule)).collect();
            } else if object["kind"] == "RoleBinding" {
                object["roleRef"]["name"] = json!(name);
                object["subjects"][0]["name"] = json!(name);
            }
        }
        objects
    }

    fn lacks_rule(&self, rule: &Value) -> bool {
        self.lacks.is_some_and(|right| {
            rule["resources"][0] == right.resource && rule["verbs"][0] == right.verb
        })
    }
}

/// Returns the rules of a Role, one for each resource and verb.
fn rules(role: &Value) -> impl Iterator<Item = Value> {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let rules = list(&role["rules"]).into_iter().flat_map(move |rule| {
        let pairs = list(&rule["resources"]).into_iter().flat_map(|resource| {
            list(&rule["verbs"]).into_iter().map(move |verb| (resource.clone(), verb))
        });
        let pairs: Vec<_> = pairs.collect();
        pairs.into_iter().map(move |(resource, verb)| {
            json!({"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": [verb]})
        })
    });
    rules.collect::<Vec<_>>().into_iter()
}

/// Removes each permission of the Role in turn, except `left_out`. Every launch gets `flags`.
fn each_right_is_needed(
    stage: &Stage<'_>,
    manifests: &[Value],
    left_out: &[(&str, &str)],
    flags: &[&str],
) {
    let role = manifests.iter().find(|object| object["kind"] == "Role").unwrap();
    let granted: BTreeSet<_> = rules(role)
        .map(|rule| ["resources", "verbs"].map(|of| rule[of][0].as_str().unwrap().to_owned()))
        .collect();
    let expected = RIGHTS.iter().map(|right| (right.resource, right.verb));
    let expected: BTreeSet<_> = expected
        .filter(|right| !left_out.contains(right))
        .map(|(resource, verb)| [resource, verb].map(str::to_owned))
        .collect();
    assert_eq!(granted, expected);
    assert_eq!(expected.len() + left_out.len(), RIGHTS.len(), "{left_out:?}");
    let mut cases: Vec<_> = rules(role)
        .map(|rule| {
            let right = RIGHTS.iter().find(|right| {
                rule["resources"][0] == right.resource && rule["verbs"][0] == right.verb
            });
            Case::lacking(right.unwrap_or_else(|| panic!("nothing uses {rule}")))
        })
        .collect();
    let mut usages: Vec<_> = cases.iter().map(|case| case.usage).collect();
    usages.sort_unstable();
    usages.dedup();
    cases.extend(usages.into_iter().map(Case::with_all));
    // Start with the commands that take longest.
    cases.sort_by_key(|case| case.usage);

    let namespace = stage.namespace.name();
    let accounts = cases.iter().flat_map(|case| case.objects(manifests));
    let prepared = prepared(stage);
    let objects =
        accounts.chain(cases.iter().flat_map(|case| case.usage.prepared(&prepared, &case.name)));
    let objects = objects.map(|mut object| {
        object["metadata"]["namespace"] = json!(namespace);
        object
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Value>()});
    stage.cluster.kubectl().apply(&list).unwrap();
    let user = |case: &Case| format!("system:serviceaccount:{namespace}:{}", case.account());
    wait_until_allowed(stage, "list", "pods", &user(cases.last().unwrap()));

    let queue = Mutex::new(cases.iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        while let Some(case) = { queue.lock().unwrap_or_else(PoisonError::into_inner).next() } {
            let user = user(case);
            let begun = Instant::now();
            let (code, output) = case.usage.run(stage, &case.name, &user, flags);
            println!(
                "| {} | {:?} | {:.1} s |",
                case.name,
                case.usage,
                begun.elapsed().as_secs_f32()
            );
            let (expected, words) = case.expected();
            // On a busy node, the kubelet may fail to retrieve a secret that exists. A caller who
            // may not read the secret cannot find that out.
            let is_unretrieved = (expected, code) == (42, Some(56))
                && output.contains("the kubelet failed to retrieve the pull secret");
            if code != Some(expected) && !is_unretrieved || !output.contains(words) {
                let name = &case.name;
                let text = format!("{name}: not {expected} with {words:?}: {code:?}: {output}");
                wrong.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}

/// Returns the objects that a launch of `prepared` would create, by kind.
fn prepared(stage: &Stage<'_>) -> Vec<Value> {
    let image = stage.push("right");
    let dry = ["launch", &image, "--name", "prepared", "--dry-run=client", "-o", "json"];
    let list: Value = serde_json::from_str(&stage.unlade(dry).success()).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// Waits until a permission is in effect. Permissions take effect a moment after they are granted,
/// in the same order.
pub(crate) fn wait_until_allowed(stage: &Stage<'_>, verb: &str, resource: &str, user: &str) {
    let end = Instant::now() + PATIENCE;
    while stage.namespace.kubectl(["auth", "can-i", verb, resource, "--as", user]).is_err() {
        assert!(Instant::now() < end, "{user} may not {verb} {resource}");
    }
}

/// Returns the objects that kubectl builds from a kustomization.
fn built(stage: &Stage<'_>, kustomization: &Value) -> Vec<Value> {
    Overlay::new(&kustomization.to_string()).build(stage.cluster.kubectl())
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_each_permission_of_the_launcher_is_needed() {
    Stage::open("cli-right", |stage| {
        let testbed = stage.cluster.testbed();
        let unauthorized = Fault::always(Answer::Status(401));
        stage.push("right-refused");
        let _fault = testbed.fault_registry(REFUSED, unauthorized).unwrap();
        stage.push_empty("right-bad");
        stage.kubectl(&["create", "secret", "generic", "no-pull-secret"]);
        let range = "openshift.io/sa.scc.uid-range=1000/1000";
        stage.kubectl(&["annotate", "namespace", stage.namespace.name(), range]);
        let resources = ["manifests/launcher"];
        let manifests = built(stage, &json!({"resources": resources, "components": [DIAGNOSIS]}));
        each_right_is_needed(stage, &manifests, &[], &[]);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_each_permission_of_the_launcher_for_a_given_account_is_needed() {
    Stage::open("cli-right-given", |stage| {
        let manifests = built(stage, &json!({"resources": ["manifests/launcher-for-account"]}));
        // The Role of the unpacker, for every name that is launched here.
        let mut unpacker = built(stage, &json!({"resources": ["manifests/unpacker"]}));
        let names = RIGHTS.iter().map(|right| Case::lacking(right).name);
        let names = names.chain(Usage::ALL.map(|usage| Case::with_all(usage).name));
        let names: Value = names.collect();
        for object in &mut unpacker {
            if object["kind"] == "Role" {
                object["rules"][0]["resourceNames"] = names.clone();
            }
            stage.namespace.apply(object);
        }
        let left_out = [&TO_MAKE_ACCOUNTS[..], &TO_DIAGNOSE].concat();
        let flags = ["--service-account", "unlade-unpacker"];
        each_right_is_needed(stage, &manifests, &left_out, &flags);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_a_token_of_the_manifests_account_is_enough() {
    Stage::open("cli-right-token", |stage| {
        let kustomization = json!({
            "namespace": stage.namespace.name(),
            "resources": ["manifests/launcher"],
            "components": [DIAGNOSIS],
        });
        let overlay = Overlay::new(&kustomization.to_string());
        stage.kubectl(&["apply", "--kustomize", overlay.path()]);
        let token = stage.kubectl(&["create", "token", "unlade-launcher"]);
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = crate::check::kubeconfig(stage, directory.path(), token.trim());
        let user = format!("system:serviceaccount:{}:unlade-launcher", stage.namespace.name());
        wait_until_allowed(stage, "list", "pods", &user);
        let image = stage.push("right");
        let checked = stage.unlade(["check", &image, "-o", "json", "--kubeconfig", &kubeconfig]);
        let checked: Value = serde_json::from_str(&checked.success()).unwrap();
        let rights = checked["checks"].as_array().unwrap().iter();
        let mut rights = rights.filter(|check| check["category"] == "permissions").peekable();
        assert!(
            rights.peek().is_some() && rights.all(|check| check["outcome"] == "ok"),
            "{checked}"
        );
        let stdout = stage.unlade(["launch", &image, "--kubeconfig", &kubeconfig]).success();
        assert!(stdout.contains("hello-operator.v0.2.0"), "{stdout}");
    });
}
