//! [`Check`]: preflight checks that find out whether a launch would succeed.
//!
//! The checks change nothing: they ask for permissions with access reviews, and create objects as
//! dry runs.

mod account;
mod admission;
mod cluster;
mod node;
mod olm;
mod pull_credentials;
mod quota;
mod review;
mod right;

use k8s_openapi::api::core::v1::Namespace;
use serde::{Serialize, Serializer};

use self::cluster::Cluster;
use crate::object::{Facts, Plan, assigns_uids};
use crate::{Failure, Launcher, Remedy, Request};

/// The result of one preflight check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Check {
    /// The category of the check.
    pub category: Category,
    /// The name of the check, such as `reachable`. Several checks may have the same name, such as
    /// one for each pull secret.
    pub name: &'static str,
    /// The outcome of the check.
    pub outcome: Outcome,
    /// A human-readable sentence in lower case about the result. It quotes the messages of other
    /// programs.
    pub message: String,
    /// What to do about it, or what else is worth knowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Changes to the launch, each of which may help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
}

/// The category of a check. Checks are reported in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Category {
    /// The API server and the namespace.
    KubernetesApi,
    /// The request: images and options.
    Request,
    /// The permissions of the current user.
    Permissions,
    /// Admission of the objects by Pod Security, webhooks, policies and LimitRanges.
    Admission,
    /// The support for image volumes.
    ImageVolumes,
    /// The quotas of the namespace.
    Quota,
    /// The service account that the options name.
    ServiceAccount,
    /// The pull secrets that the options name.
    PullSecrets,
    /// The nodes that the pod may run on.
    Nodes,
    /// OLM's catalogs, some of which need a program that the tool image does not have.
    Olm,
}

/// The subject of the checks, in addition to the namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The bundle image to launch.
    pub image: Option<&'a str>,
    /// Whether to check the CatalogSources of the cluster, which matter if the tool image
    /// replaces the images of OLM's catalog-operator.
    pub olm: bool,
    /// Whether the request has a [`Credentials`](crate::Credentials).
    pub lends_credentials: bool,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing is wrong.
    Ok,
    /// A launch may succeed nevertheless, or the check was inconclusive.
    Warning,
    /// A launch would fail.
    Failed,
    /// The check was skipped, because it depends on a failed check or because the user lacks a
    /// permission.
    Skipped,
}

/// The categories that are checked only if the namespace exists and the request is valid.
const DEPENDENT: [Category; 5] = [
    Category::Permissions,
    Category::Admission,
    Category::Quota,
    Category::PullSecrets,
    Category::Nodes,
];

impl Category {
    /// Returns the name of the category, such as `kubernetes-api`, which is also its JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::KubernetesApi => "kubernetes-api",
            Self::Request => "request",
            Self::Permissions => "permissions",
            Self::Admission => "admission",
            Self::ImageVolumes => "image-volumes",
            Self::Quota => "quota",
            Self::ServiceAccount => "service-account",
            Self::PullSecrets => "pull-secrets",
            Self::Nodes => "nodes",
            Self::Olm => "olm",
        }
    }
}

impl Serialize for Category {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Launcher {
    /// Checks whether a launch in this namespace would succeed, in particular that of the image in
    /// `subject`. This takes about forty requests, most of them concurrent, and leaves nothing
    /// behind.
    ///
    /// Every problem is reported as a check, even an API server that cannot be reached. Checks of
    /// the same category are adjacent.
    pub async fn check(&self, namespace: &str, subject: Subject<'_>) -> Vec<Check> {
        let Subject { image, olm, lends_credentials } = subject;
        let options = &self.options;
        // A dry run does not pull the image, so any reference will do.
        let request = Request::new(image.unwrap_or(&options.tool_image), namespace);
        let plan = Plan::new(&request, options);
        let cluster = Cluster { client: &self.client, namespace };

        let (server, found) = futures::join!(cluster.server(), cluster.namespace());
        let mut checks = vec![server];
        let is_served = !has_failed(&checks);
        if is_served {
            checks.push(found.check);
        }
        let (asked, plan) = match plan {
            Ok(plan) => (report_valid(&plan, image), Some(plan)),
            Err(error) => (LEGAL.report(Outcome::Failed, error.into()), None),
        };
        let is_reached = !has_failed(&checks);
        checks.push(asked);
        let skipped =
            |category| Topic(category, "all").skipped("skipped, because an earlier check failed");
        let launches = async {
            match plan.filter(|_| is_reached) {
                // Boxed because the future holds all requests at once.
                Some(plan) => {
                    Box::pin(run_dependent(
                        &cluster,
                        &plan,
                        (image.is_some(), lends_credentials),
                        found.object,
                    ))
                    .await
                }
                None => DEPENDENT.map(skipped).into(),
            }
        };
        let catalogs = async {
            match (olm, is_served) {
                (false, _) => None,
                (true, false) => Some(skipped(Category::Olm)),
                (true, true) => Some(olm::check(&cluster).await),
            }
        };
        let (launches, catalogs) = futures::join!(launches, catalogs);
        checks.extend(launches);
        checks.extend(catalogs);
        checks
    }
}

/// Runs the checks that need an existing namespace and a valid request.
async fn run_dependent(
    cluster: &Cluster<'_>,
    plan: &Plan<'_>,
    (has_image, lends_credentials): (bool, bool),
    namespace: Option<Namespace>,
) -> Vec<Check> {
    let pod = &plan.options().pod;
    let facts =
        Facts { assigns_uids: namespace.as_ref().is_some_and(assigns_uids), ..Facts::default() };
    let secrets = async {
        let name = has_image.then(|| plan.name());
        let account = account::check(cluster, pod.service_account.as_deref(), name).await;
        let given = &*pod.pull_secrets;
        // Kubernetes adds the secrets of the account only to pods that name none.
        let is_added = given.is_empty() && !lends_credentials;
        let secrets = if is_added { &*account.pull_secrets } else { given };
        // The launch lends the credentials for the image, so the secrets need not have them.
        let image = (has_image && !lends_credentials).then(|| plan.image());
        let secrets = if lends_credentials && secrets.is_empty() {
            Vec::new()
        } else {
            pull_credentials::checks(cluster, secrets, image, plan.tool_image()).await
        };
        let lent = lends_credentials.then(pull_credentials::lent);
        account.checks.into_iter().chain(lent).chain(secrets)
    };
    let (rights, (admission, pod), quotas, secrets, nodes) = futures::join!(
        right::checks(cluster, pod.service_account.is_none(), lends_credentials),
        admission::checks(cluster, plan, &facts, lends_credentials, namespace.as_ref()),
        quota::list(cluster),
        secrets,
        node::checks(cluster, plan, &facts),
    );
    let quota = quota::check(quotas, plan, lends_credentials, pod.as_ref());
    rights.into_iter().chain(admission).chain([quota]).chain(secrets).chain(nodes).collect()
}

const LEGAL: Topic = Topic(Category::Request, "legal");

fn report_valid(plan: &Plan<'_>, image: Option<&str>) -> Check {
    let tool = plan.tool_image();
    LEGAL.ok(match image {
        Some(image) => {
            format!("{image} is a valid image reference; the unpacker comes from {tool}")
        }
        None => format!("the unpacker comes from {tool}"),
    })
}

fn has_failed(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.outcome == Outcome::Failed)
}

/// The category and the name of a check.
#[derive(Debug, Clone, Copy)]
struct Topic(Category, &'static str);

impl Topic {
    fn ok(self, message: impl Into<String>) -> Check {
        self.check(Outcome::Ok, message)
    }

    fn warning(self, message: impl Into<String>) -> Check {
        self.check(Outcome::Warning, message)
    }

    fn failed(self, message: impl Into<String>) -> Check {
        self.check(Outcome::Failed, message)
    }

    fn skipped(self, message: impl Into<String>) -> Check {
        self.check(Outcome::Skipped, message)
    }

    /// Returns a check that reports the failure that a launch would have.
    fn report(self, outcome: Outcome, failure: Failure) -> Check {
        // This remedy is to run the checks, which the reader has just done.
        let remedies = failure.remedies.into_iter().filter(|&it| it != Remedy::Check).collect();
        Check { hint: failure.hint, remedies, ..self.check(outcome, failure.message) }
    }

    fn check(self, outcome: Outcome, message: impl Into<String>) -> Check {
        let Self(category, name) = self;
        Check::new(category, name, outcome, message)
    }
}

impl Check {
    /// Returns a check without a hint.
    pub fn new(
        category: Category,
        name: &'static str,
        outcome: Outcome,
        message: impl Into<String>,
    ) -> Self {
        Self { category, name, outcome, message: message.into(), hint: None, remedies: Vec::new() }
    }

    #[must_use]
    fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    #[must_use]
    fn with_remedies(self, remedies: &[Remedy]) -> Self {
        Self { remedies: remedies.to_vec(), ..self }
    }
}

/// Joins words as `a, b and c`, with `last` instead of `and`.
fn join_words<T: AsRef<str>>(words: &[T], last: &str) -> String {
    match words {
        [] => String::new(),
        [word] => word.as_ref().to_owned(),
        [first @ .., end] => {
            let first: Vec<_> = first.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", first.join(", "), end.as_ref())
        }
    }
}
