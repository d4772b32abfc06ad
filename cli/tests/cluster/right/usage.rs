use serde_json::{Value, json};

use crate::interrupt::{interrupt, waiting};
use crate::stage::Stage;

/// A permission, what it is used for, and what happens without it.
pub(super) struct Right {
    pub(super) resource: &'static str,
    pub(super) verb: &'static str,
    pub(super) usage: Usage,
    /// The exit code, and a part of the output.
    pub(super) without: (i32, &'static str),
}

/// One or more commands, and the objects that exist before they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Usage {
    /// A launch that takes longer than a watch may be refused.
    Awaited,
    /// A launch whose pod is not admitted: events contain the reason.
    Denied,
    /// A launch.
    Launch,
    /// A launch whose service account already exists with other properties.
    Remade,
    /// A launch into a ConfigMap that was created for another image.
    Adapted,
    /// A launch of an image whose content already exists.
    Sealed,
    /// A launch if a Job with its name already exists.
    Taken,
    /// A launch of an image that does not exist: its Job is ended.
    Ended,
    /// A launch of an image that is not a bundle: its log contains the reason.
    Logged,
    /// A launch with a pull secret of another type.
    Refused,
    /// The output of a dry run in a namespace in which OpenShift assigns uids.
    Assigned,
    /// A launch with `--rm`.
    Removed,
    /// A launch that is cancelled.
    Cancelled,
    /// A check whether a pod would be admitted.
    Tried,
    /// A launch that reports events as soon as they occur.
    Watched,
}

/// The repository that denies all access.
pub(super) const REFUSED: &str = "cli/right-refused";

const FORBIDDEN: i32 = 75;

const fn right(
    resource: &'static str,
    verb: &'static str,
    usage: Usage,
    without: (i32, &'static str),
) -> Right {
    Right { resource, verb, usage, without }
}

/// The permissions in all manifests for launchers.
pub(super) const RIGHTS: [Right; 31] = [
    right("configmaps", "create", Usage::Launch, (FORBIDDEN, "failed to create the ConfigMap")),
    right("configmaps", "get", Usage::Adapted, (FORBIDDEN, "failed to read the ConfigMap")),
    right("configmaps", "list", Usage::Launch, (FORBIDDEN, "failed to watch the ConfigMaps")),
    right("configmaps", "watch", Usage::Awaited, (FORBIDDEN, "failed to watch the ConfigMaps")),
    right("configmaps", "patch", Usage::Adapted, (FORBIDDEN, "failed to annotate the ConfigMap")),
    right("configmaps", "delete", Usage::Removed, (FORBIDDEN, "failed to delete the ConfigMap")),
    right(
        "configmaps",
        "update",
        Usage::Launch,
        (FORBIDDEN, "permissions get and update on ConfigMaps"),
    ),
    right(
        "serviceaccounts",
        "create",
        Usage::Launch,
        (FORBIDDEN, "failed to create the ServiceAccount"),
    ),
    right(
        "serviceaccounts",
        "get",
        Usage::Remade,
        (FORBIDDEN, "failed to read the ServiceAccount"),
    ),
    right(
        "serviceaccounts",
        "delete",
        Usage::Remade,
        (FORBIDDEN, "failed to delete the ServiceAccount"),
    ),
    right("roles", "create", Usage::Launch, (FORBIDDEN, "failed to create the Role ")),
    right("roles", "get", Usage::Remade, (FORBIDDEN, "failed to read the Role ")),
    right("roles", "patch", Usage::Sealed, (0, "is created again")),
    right("roles", "delete", Usage::Remade, (FORBIDDEN, "failed to delete the Role ")),
    right("rolebindings", "create", Usage::Launch, (FORBIDDEN, "failed to create the RoleBinding")),
    right("rolebindings", "get", Usage::Remade, (FORBIDDEN, "failed to read the RoleBinding")),
    right("rolebindings", "delete", Usage::Remade, (FORBIDDEN, "failed to delete the RoleBinding")),
    right("jobs", "create", Usage::Launch, (FORBIDDEN, "failed to create the Job")),
    right("jobs", "get", Usage::Taken, (FORBIDDEN, "failed to read the Job")),
    right("jobs", "list", Usage::Launch, (FORBIDDEN, "failed to watch the Jobs")),
    right("jobs", "watch", Usage::Awaited, (FORBIDDEN, "failed to watch the Jobs")),
    right("jobs", "patch", Usage::Ended, (41, "the Job goes on")),
    right("jobs", "delete", Usage::Cancelled, (FORBIDDEN, "failed to delete the Job")),
    right("pods", "list", Usage::Launch, (FORBIDDEN, "failed to watch the Pods")),
    right("pods", "watch", Usage::Awaited, (FORBIDDEN, "failed to watch the Pods")),
    right("pods", "create", Usage::Tried, (0, "pod-inject is skipped")),
    // The launch works without these, but reports less.
    right("pods/log", "get", Usage::Logged, (11, "without the log")),
    right("events", "list", Usage::Denied, (67, "")),
    right("events", "watch", Usage::Watched, (0, "may not watch events")),
    right("namespaces", "get", Usage::Assigned, (0, "runAsUser: 65532")),
    right("secrets", "get", Usage::Refused, (42, "")),
];

impl Usage {
    pub(super) const ALL: [Self; 15] = [
        Self::Awaited,
        Self::Launch,
        Self::Remade,
        Self::Adapted,
        Self::Sealed,
        Self::Taken,
        Self::Ended,
        Self::Logged,
        Self::Denied,
        Self::Refused,
        Self::Assigned,
        Self::Removed,
        Self::Cancelled,
        Self::Tried,
        Self::Watched,
    ];

    /// Returns the exit code, and a part of the output, if nothing is forbidden.
    pub(super) fn with_all_rights(self) -> (i32, &'static str) {
        match self {
            Self::Launch | Self::Remade | Self::Adapted | Self::Removed => (0, ""),
            Self::Sealed => (0, "is reused"),
            Self::Awaited => (58, "timed out after 25 s"),
            Self::Taken => (76, "was not created by unlade"),
            Self::Ended => (41, "the Job is over"),
            Self::Logged => (11, "with the log"),
            Self::Denied => (77, "no PriorityClass"),
            Self::Refused => (57, "no-pull-secret"),
            Self::Assigned => (0, "runAsUser: none"),
            Self::Cancelled => (73, "the Job was deleted"),
            Self::Tried => (0, "pod-inject is ok"),
            Self::Watched => (0, "may list and watch events"),
        }
    }

    /// Returns the objects that exist before it, derived from those that a launch would create.
    pub(super) fn prepared(self, launched: &[Value], name: &str) -> Vec<Value> {
        let mut objects: Vec<_> = match self {
            Self::Remade => {
                let kinds = ["ServiceAccount", "Role", "RoleBinding"].map(Value::from);
                launched.iter().filter(|it| kinds.contains(&it["kind"])).cloned().collect()
            }
            Self::Adapted => {
                let config_map = launched.iter().find(|it| it["kind"] == "ConfigMap");
                let mut config_map = config_map.unwrap().clone();
                config_map["metadata"]["annotations"]["unlade.dev/image"] =
                    json!("of.test/other:1");
                vec![config_map]
            }
            Self::Taken => vec![json!({
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {},
                "spec": {"suspend": true, "template": {"spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "none", "image": "unlade.test/none:1"}],
                }}},
            })],
            _ => Vec::new(),
        };
        for object in &mut objects {
            let is_job = object["kind"] == "Job";
            object["metadata"]["name"] =
                if is_job { first_job(name) } else { name.to_owned() }.into();
        }
        objects
    }

    /// Runs the commands, and returns the exit code with the output or the visible effect.
    pub(super) fn run(
        self,
        stage: &Stage<'_>,
        name: &str,
        user: &str,
        flags: &[&str],
    ) -> (Option<i32>, String) {
        let image = |of: &str| format!("{}/cli/{of}:1", stage.cluster.registry());
        let launch = |of: &str, more: &[&str]| {
            let image = image(of);
            let own = ["launch", &image, "--name", name, "--as", user];
            let done = stage.unlade([&own, flags, more].concat());
            (done.code, format!("{}{}", done.stdout, done.stderr))
        };
        let checked = |category: &str, name: &str| {
            let image = image("right");
            let own = ["check", &image, "-o", "json", "--as", user];
            let done = stage.unlade([&own, flags].concat());
            let document: Value = serde_json::from_str(&done.stdout).unwrap();
            let mut checks = document["checks"].as_array().unwrap().iter();
            let check = checks.find(|it| it["category"] == category && it["name"] == name).unwrap();
            (done.code, check.clone())
        };
        match self {
            Self::Launch | Self::Remade | Self::Adapted | Self::Taken => launch("right", &[]),
            Self::Awaited => {
                launch("right", &["--node-selector=no=such", "--schedule-timeout=25s"])
            }
            Self::Sealed => {
                // A tag is injected for it, and the namespace has a range of uids.
                let flags = ["--reuse=tag", "--user=65532"];
                let _ = launch("right", &flags);
                let (code, output) = launch("right", &flags);
                let is_reused = output.contains("already contains the content");
                let becomes = if is_reused { "is reused" } else { "is created again" };
                (code, format!("{output}\nthe content {becomes}"))
            }
            Self::Removed => launch("right", &["--rm"]),
            Self::Ended => {
                let (code, output) = launch("right-missing", &[]);
                let job = stage.namespace.get(&format!("job/{}", first_job(name))).unwrap();
                let is_over = job["spec"]["activeDeadlineSeconds"] == 1;
                let becomes = if is_over { "is over" } else { "goes on" };
                (code, format!("{output}\nthe Job {becomes}"))
            }
            Self::Logged => {
                let (code, output) = launch("right-bad", &["-o", "json"]);
                let last = output.lines().rfind(|line| line.starts_with('{')).unwrap_or("{}");
                let last: Value = serde_json::from_str(last).unwrap();
                let log = last["failure"]["evidence"]["log"].as_array();
                let has_log = log.is_some_and(|lines| !lines.is_empty());
                let with = if has_log { "with" } else { "without" };
                (code, format!("{output}\n{with} the log"))
            }
            Self::Denied => {
                launch("right", &["--priority-class=no-such", "--schedule-timeout=15s"])
            }
            Self::Refused => launch("right-refused", &["--pull-secret=no-pull-secret"]),
            Self::Assigned => {
                let flags = ["--dry-run=server", "--strategy=inject", "-o", "json"];
                let (code, output) = launch("right", &flags);
                let list: Value = serde_json::from_str(&output).unwrap();
                let items = list["items"].as_array().unwrap();
                let job = items.iter().find(|it| it["kind"] == "Job").unwrap();
                let uid = &job["spec"]["template"]["spec"]["securityContext"]["runAsUser"];
                let uid = uid.as_i64().map_or_else(|| "none".to_owned(), |uid| uid.to_string());
                (code, format!("runAsUser: {uid}"))
            }
            Self::Cancelled => {
                let more = ["--cancel-on-interrupt", "--name", name, "--as", user];
                let (mut child, _) = waiting(stage, &[&more, flags].concat());
                interrupt(&mut child)
            }
            Self::Tried => {
                let (code, check) = checked("admission", "pod-inject");
                (code, format!("pod-inject is {}", check["outcome"].as_str().unwrap()))
            }
            Self::Watched => {
                let (code, check) = checked("permissions", "events");
                (code, check["message"].as_str().unwrap().to_owned())
            }
        }
    }
}

fn first_job(name: &str) -> String {
    format!("{name}-1")
}
