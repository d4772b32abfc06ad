//! [`Check`]: whether launches would go well, found out before one is tried.
//!
//! Nothing is made: rights are asked for by reviews, objects are created as dry runs.

mod access;
mod account;
mod admission;
mod cluster;
mod node;
mod olm;
mod pull_secret;
mod quota;
mod right;

use k8s_openapi::api::core::v1::Namespace;
use serde::Serialize;

use self::cluster::Cluster;
use crate::object::{Facts, Plan, assigns_uids};
use crate::{Failure, Launcher, Options, Remedy, Request, Strategy};

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Check {
    /// What it belongs to.
    pub category: Category,
    /// What was looked at, such as `reachable`. There can be several of a name, such as one for
    /// each pull secret.
    pub name: &'static str,
    /// What came out.
    pub outcome: Outcome,
    /// What was found, as one sentence for people: lowercase; words of others are quoted in it.
    pub message: String,
    /// What to do about it, or what else is to be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What to change about the launch: each of these may help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
}

/// What checks belong to, in the order in which they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Category {
    /// The API server and the namespace.
    KubernetesApi,
    /// What was asked for: images and options.
    Request,
    /// What who asks may do.
    Rights,
    /// What the API server takes: Pod Security, webhooks, policies, LimitRanges.
    Admission,
    /// Whether image volumes can be used.
    ImageVolumes,
    /// Quotas of the namespace.
    Quota,
    /// The service account that was given.
    ServiceAccount,
    /// The secrets that were given.
    PullSecrets,
    /// The nodes that the pod may run on.
    Nodes,
    /// OLM's catalogs, which our image in place of OLM's own may not fit.
    Olm,
}

/// What is looked at beside the namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// An image that is to be launched.
    pub image: Option<&'a str>,
    /// Whether our image can take the place of those of OLM's catalog-operator: the CatalogSources
    /// of the cluster.
    pub olm: bool,
}

/// What came out of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All is well.
    Ok,
    /// A launch goes well without it, or it can't be told.
    Warning,
    /// A launch would fail.
    Failed,
    /// It wasn't looked at, because it depends on one that failed, or because that is forbidden.
    LeftOut,
}

/// What is looked at only where there is a namespace and a legal request.
const LATER: [Category; 5] = [
    Category::Rights,
    Category::Admission,
    Category::Quota,
    Category::PullSecrets,
    Category::Nodes,
];

impl Category {
    /// Its name, such as `kubernetes-api`.
    pub fn name(self) -> &'static str {
        match self {
            Self::KubernetesApi => "kubernetes-api",
            Self::Request => "request",
            Self::Rights => "rights",
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

impl Launcher {
    /// Looks whether launches in this namespace would go well, that of the image of `subject`
    /// among them. It takes some forty requests, most of them at once, of which nothing stays.
    ///
    /// No check is an error of this function: that the API server can't be reached is a check that
    /// failed. Checks of one category stand together.
    pub async fn check(&self, namespace: &str, subject: Subject<'_>) -> Vec<Check> {
        let Subject { image, olm } = subject;
        let options = &self.options;
        // Any image will do for a dry run.
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
            Ok(plan) => (legal(&plan, image), Some(plan)),
            Err(error) => (LEGAL.of(Outcome::Failed, error.into()), None),
        };
        let is_reached = !has_failed(&checks);
        checks.push(asked);
        let skipped = |category| {
            Topic(category, "all").left_out("not looked at, because of what failed above")
        };
        let launches = async {
            match plan.filter(|_| is_reached) {
                // On the heap: it holds all requests at once.
                Some(plan) => Box::pin(all(&cluster, &plan, image.is_some(), found.object)).await,
                None => LATER.map(skipped).into(),
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

/// Everything that needs the namespace and a legal request.
async fn all(
    cluster: &Cluster<'_>,
    plan: &Plan<'_>,
    has_image: bool,
    namespace: Option<Namespace>,
) -> Vec<Check> {
    let pod = &plan.options().pod;
    let facts =
        Facts { assigns_uids: namespace.as_ref().is_some_and(assigns_uids), ..Facts::default() };
    let secrets = async {
        let name = has_image.then(|| plan.name());
        let account = account::check(cluster, pod.service_account.as_deref(), name).await;
        let given = &*pod.pull_secrets;
        let secrets = if given.is_empty() { &*account.pull_secrets } else { given };
        let image = has_image.then(|| plan.image());
        let secrets = pull_secret::checks(cluster, secrets, image, plan.tool_image()).await;
        account.checks.into_iter().chain(secrets)
    };
    let (rights, (admission, pod), quotas, secrets, nodes) = futures::join!(
        right::checks(cluster, pod.service_account.is_none()),
        admission::checks(cluster, plan, &facts, namespace.as_ref()),
        quota::list(cluster),
        secrets,
        node::checks(cluster, plan, &facts),
    );
    let quota = quota::check(quotas, plan, pod.as_ref());
    rights.into_iter().chain(admission).chain([quota]).chain(secrets).chain(nodes).collect()
}

const LEGAL: Topic = Topic(Category::Request, "legal");

fn legal(plan: &Plan<'_>, image: Option<&str>) -> Check {
    let tool = plan.tool_image();
    LEGAL.ok(match image {
        Some(image) => format!("{image} can be asked for; the unpacker comes from {tool}"),
        None => format!("the unpacker comes from {tool}"),
    })
}

/// Which strategies a launch may come to, those that it tries first before the others.
fn candidates(plan: &Plan<'_>) -> &'static [Strategy] {
    let options: &Options = plan.options();
    match options.strategy {
        Strategy::Auto if options.records_digest() && !plan.image().is_digest() => {
            &[Strategy::Inject]
        }
        Strategy::Auto => &[Strategy::ImageVolume, Strategy::Inject],
        Strategy::Inject => &[Strategy::Inject],
        Strategy::ImageVolume => &[Strategy::ImageVolume],
    }
}

fn has_failed(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.outcome == Outcome::Failed)
}

/// What a check is about.
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

    fn left_out(self, message: impl Into<String>) -> Check {
        self.check(Outcome::LeftOut, message)
    }

    /// A failure of a launch, before it is one.
    fn of(self, outcome: Outcome, failure: Failure) -> Check {
        // The reader has just run the check.
        let remedies = failure.remedies.into_iter().filter(|&it| it != Remedy::Check).collect();
        Check { hint: failure.hint, remedies, ..self.check(outcome, failure.message) }
    }

    fn check(self, outcome: Outcome, message: impl Into<String>) -> Check {
        let Self(category, name) = self;
        Check::new(category, name, outcome, message)
    }
}

impl Check {
    /// A check without a hint.
    pub fn new(
        category: Category,
        name: &'static str,
        outcome: Outcome,
        message: impl Into<String>,
    ) -> Self {
        Self { category, name, outcome, message: message.into(), hint: None, remedies: Vec::new() }
    }

    #[must_use]
    fn hinted(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    #[must_use]
    fn with_remedies(self, remedies: &[Remedy]) -> Self {
        Self { remedies: remedies.to_vec(), ..self }
    }
}

/// `a, b and c`, with `last` for the `and`.
fn joined<T: AsRef<str>>(words: &[T], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., end] => {
            let first: Vec<_> = first.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", first.join(", "), end.as_ref())
        }
    }
}
