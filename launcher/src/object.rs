//! The objects of a launch, derived from the request and the options without any requests to the
//! cluster.

mod access;
mod config_map;
mod job;
pub(crate) mod label;
pub(crate) mod pod;
mod secret;
pub(crate) mod spec_hash;

use std::collections::BTreeMap;
use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::{ApiResource, DynamicObject};
use kube::{Resource, ResourceExt as _};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub(crate) use access::{Access, RBAC, VERBS};
pub(crate) use job::ttl;
pub(crate) use secret::attach;

use crate::{Failure, Name, Options, Reason, Request, Strategy, User, name};
use unlade_name::ImageReference;

#[cfg(test)]
mod tests;

/// The annotation of a namespace in which OpenShift assigns the uids of pods.
const UID_RANGE: &str = "openshift.io/sa.scc.uid-range";

/// Returns the objects of a launch in the order of their creation: the ConfigMap, the
/// ServiceAccount, the Role and the RoleBinding (unless the options name a service account), the
/// Secret (if the request has credentials, which are left out), and the Job.
///
/// The objects have no owner references, because these require the uid of the ConfigMap. The Job is
/// that of the first attempt. For [`Strategy::Auto`] it uses [`Strategy::Inject`], which works on
/// every cluster.
///
/// # Errors
///
/// Returns [`Reason::InvalidReference`] or [`Reason::InvalidOption`] if the request or the options
/// are invalid.
pub fn plan_objects(request: &Request, options: &Options) -> Result<Vec<Value>, Failure> {
    let plan = Plan::new(request, options)?;
    let facts = Facts::default();
    let mut objects = vec![erase(&plan.config_map())?];
    objects.extend(plan.other_objects(options.strategy, &facts)?);
    objects.iter().map(|(_, object)| to_json(object)).collect()
}

/// An object whose kind is known only at run time, and the resource of its kind.
pub(crate) type Erased = (ApiResource, DynamicObject);

/// Converts an object to one whose kind is known only at run time.
pub(crate) fn erase<K: Kind>(object: &K) -> Result<Erased, Failure> {
    let object = serde_json::from_value(to_json(object)?).map_err(internal)?;
    Ok((ApiResource::erase::<K>(&()), object))
}

/// Converts an object to JSON.
pub(crate) fn to_json(object: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(object).map_err(internal)
}

fn internal(error: serde_json::Error) -> Failure {
    Failure::new(Reason::Internal, error)
}

/// A kind of namespaced object.
pub(crate) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
{
}

/// A request and its options, which were checked.
#[derive(Debug, Clone)]
pub(crate) struct Plan<'a> {
    request: &'a Request,
    options: &'a Options,
    image: ImageReference,
    tool_image: ImageReference,
    /// The name of the ConfigMap, or of the pack.
    name: String,
    /// The bundles of a pack. Empty for a single launch.
    pack: Vec<Packed>,
}

/// A bundle of a pack.
#[derive(Debug, Clone)]
struct Packed {
    config_map: String,
    /// The uid of the ConfigMap.
    uid: Option<String>,
    image: ImageReference,
}

/// A bundle that the pod mounts.
struct Mount<'p> {
    /// The name of the volume.
    volume: String,
    config_map: &'p str,
    image: &'p ImageReference,
}

/// What a launch has to find out before it can create a Job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The uid of the ConfigMap, which owns the other objects.
    pub(crate) config_map_uid: Option<String>,
    /// Whether OpenShift assigns the uids of pods in this namespace ([`assigns_uids`]).
    pub(crate) assigns_uids: bool,
}

/// Checks whether OpenShift assigns the uids of pods in this namespace.
pub(crate) fn assigns_uids(namespace: &Namespace) -> bool {
    let annotations = namespace.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(UID_RANGE))
}

/// Why a request or its options are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The reference of the bundle image is invalid.
    #[error(transparent)]
    Image(unlade_name::image::Error),
    /// The reference of the tool image is invalid.
    #[error("the tool image {0}")]
    ToolImage(unlade_name::image::Error),
    /// The name that the caller chose is invalid.
    #[error(transparent)]
    Name(#[from] name::Error),
    /// A label or an annotation is invalid.
    #[error(transparent)]
    Label(#[from] label::Error),
    /// The node selector excludes Linux nodes.
    #[error("the node selector {}={value} excludes Linux, which the unpacker needs", pod::OS)]
    NotLinux {
        /// The other operating system.
        value: String,
    },
    /// The pod may not run with this uid.
    #[error(
        "uid {uid} is not allowed: it must be between 1 and {}; 0 is root, which is never allowed",
        i32::MAX
    )]
    User {
        /// The uid.
        uid: i64,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let reason = match error {
            Error::Image(_) | Error::ToolImage(_) => Reason::InvalidReference,
            _ => Reason::InvalidOption,
        };
        Self::new(reason, error)
    }
}

impl<'a> Plan<'a> {
    /// Checks a request and its options, as far as that is possible without requests to the
    /// cluster.
    pub(crate) fn new(request: &'a Request, options: &'a Options) -> Result<Self, Error> {
        let image = ImageReference::parse(&request.image).map_err(Error::Image)?;
        let tool_image = ImageReference::parse(&options.tool_image).map_err(Error::ToolImage)?;
        let name = match &request.name {
            Name::Derived => name::derived(&image, request.encoding),
            Name::Given(name) => name::given(name)?,
            Name::Generated => name::generated(&image),
        };
        let pod = &options.pod;
        label::check(&pod.labels, &pod.annotations)?;
        label::check_node_selector(&pod.node_selector)?;
        if let Some(value) = pod.node_selector.get(pod::OS).filter(|value| *value != pod::LINUX) {
            return Err(Error::NotLinux { value: value.clone() });
        }
        match pod.user {
            User::Fixed(uid) if !(1..=i64::from(i32::MAX)).contains(&uid) => {
                Err(Error::User { uid })
            }
            _ => Ok(Self { request, options, image, tool_image, name, pack: Vec::new() }),
        }
    }

    /// Returns the plan of a Job that fills the ConfigMaps of several plans, each of which has this
    /// uid. The plans have the same namespace and encoding. Returns `None` for no plans.
    pub(crate) fn pack<'p>(plans: impl Iterator<Item = (&'p Self, Option<String>)>) -> Option<Self>
    where
        'a: 'p,
    {
        let (mut first, mut pack) = (None, Vec::new());
        for (plan, uid) in plans {
            let config_map = plan.name.clone();
            pack.push(Packed { config_map, uid, image: plan.image.clone() });
            first.get_or_insert(plan);
        }
        let name = name::pack(pack.iter().map(|packed| packed.config_map.as_str()));
        first.map(|first| Self { name, pack, ..first.clone() })
    }

    /// Returns the part of the plan that packs with other bundles have in common.
    fn without_bundles(&self) -> Self {
        let (name, image) = (String::new(), self.tool_image.clone());
        Self { name, image, pack: Vec::new(), ..self.clone() }
    }

    /// Checks whether this is the plan of a pack.
    fn is_pack(&self) -> bool {
        !self.pack.is_empty()
    }

    /// Returns the bundle image. For a pack, it is that of the first bundle, so each launch uses
    /// the image of its own plan.
    pub(crate) fn image(&self) -> &ImageReference {
        &self.image
    }

    /// Returns the tool image.
    pub(crate) fn tool_image(&self) -> &ImageReference {
        &self.tool_image
    }

    /// Returns the name of the ConfigMap, or of the pack.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the ConfigMaps to fill.
    pub(crate) fn config_maps(&self) -> Vec<String> {
        if self.is_pack() {
            self.pack.iter().map(|packed| packed.config_map.clone()).collect()
        } else {
            vec![self.name.clone()]
        }
    }

    /// Returns the name of the image volume with the bundle of this ConfigMap.
    pub(crate) fn volume(&self, config_map: &str) -> String {
        if self.is_pack() {
            format!("{}-{config_map}", pod::BUNDLE)
        } else {
            pod::BUNDLE.to_owned()
        }
    }

    /// Returns the bundles that the pod mounts.
    fn mounts(&self) -> Vec<Mount<'_>> {
        let mount = |config_map, image| {
            let volume = self.volume(config_map);
            Mount { volume, config_map, image }
        };
        if self.is_pack() {
            self.pack.iter().map(|packed| mount(&packed.config_map, &packed.image)).collect()
        } else {
            vec![mount(&self.name, &self.image)]
        }
    }

    /// Returns the options.
    pub(crate) fn options(&self) -> &'a Options {
        self.options
    }

    /// Returns the namespace of all objects.
    pub(crate) fn namespace(&self) -> &'a str {
        &self.request.namespace
    }

    /// Returns the empty ConfigMap.
    pub(crate) fn config_map(&self) -> ConfigMap {
        config_map::config_map(self)
    }

    /// Returns the objects that allow the pod to fill the ConfigMap, or `None` if a service account
    /// is given.
    pub(crate) fn access(&self, facts: &Facts) -> Option<Access> {
        self.options.pod.service_account.is_none().then(|| access::access(self, facts))
    }

    /// Returns the Job of an attempt. [`Strategy::Auto`] counts as [`Strategy::Inject`].
    pub(crate) fn job(&self, attempt: u32, strategy: Strategy, facts: &Facts) -> Job {
        job::job(self, attempt, strategy, facts)
    }

    /// Returns the Secret with the credentials for the Job `job` of the launch `id`, or `None` if
    /// the request has none. Without an id, the Secret contains no credentials.
    pub(crate) fn secret(&self, job: &str, id: Option<&str>, facts: &Facts) -> Option<Secret> {
        self.request.credentials.is_some().then(|| secret::build(self, job, id, facts))
    }

    /// Returns the Secret without credentials, to try out whether it can be created.
    pub(crate) fn secret_to_try(&self, facts: &Facts) -> Secret {
        secret::build(self, &self.job(1, Strategy::default(), facts).name_any(), None, facts)
    }

    /// Returns all objects but the ConfigMap, in the order of their creation. The Job is that of
    /// the first attempt, and the Secret contains no credentials.
    pub(crate) fn other_objects(
        &self,
        strategy: Strategy,
        facts: &Facts,
    ) -> Result<Vec<Erased>, Failure> {
        let mut objects = Vec::new();
        if let Some(Access { service_account, role, role_binding }) = self.access(facts) {
            objects.extend([erase(&service_account)?, erase(&role)?, erase(&role_binding)?]);
        }
        let mut job = self.job(1, strategy, facts);
        if let Some(secret) = self.secret(&job.name_any(), None, facts) {
            attach(&mut job, &secret);
            objects.push(erase(&secret)?);
        }
        objects.push(erase(&job)?);
        Ok(objects)
    }

    /// Returns the Job for a dry run. Its name is generated, because a Job with a number may
    /// already exist.
    pub(crate) fn job_to_try(&self, strategy: Strategy, facts: &Facts) -> Job {
        let mut job = self.job(1, strategy, facts);
        job.metadata.name = None;
        job.metadata.generate_name = Some(format!("{}-", self.name));
        job
    }

    /// Returns the pod of such a Job for a dry run. The service account of a launch may not exist
    /// yet. Unless one is given, the pod therefore uses the namespace's default account, without
    /// its token.
    pub(crate) fn pod_to_try(&self, strategy: Strategy, facts: &Facts) -> Pod {
        let template = pod::template(self, strategy, facts);
        let mut metadata = template.metadata.unwrap_or_default();
        metadata.generate_name = Some(format!("{}-", self.name));
        metadata.namespace = Some(self.request.namespace.clone());
        let spec = template.spec.map(|mut spec| {
            spec.service_account_name.clone_from(&self.options.pod.service_account);
            spec
        });
        Pod { metadata, spec, status: None }
    }

    /// Returns the labels of every object.
    fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.options.pod.labels.clone();
        labels.extend(label::ours(&self.name));
        if self.is_pack() {
            labels.insert(label::PACK.to_owned(), "true".to_owned());
        }
        labels
    }

    /// Returns the metadata of every object except the ConfigMap.
    fn metadata(&self, name: String, facts: &Facts) -> ObjectMeta {
        let owner = |name: &str, uid: String| OwnerReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: name.to_owned(),
            uid,
            controller: Some(false),
            block_owner_deletion: Some(false),
        };
        let owners: Vec<_> = if self.is_pack() {
            let owner = |packed: &Packed| Some(owner(&packed.config_map, packed.uid.clone()?));
            self.pack.iter().filter_map(owner).collect()
        } else {
            facts.config_map_uid.iter().map(|uid| owner(&self.name, uid.clone())).collect()
        };
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.request.namespace.clone()),
            labels: Some(self.labels()),
            annotations: non_empty(self.options.pod.annotations.clone()),
            owner_references: Some(owners).filter(|owners| !owners.is_empty()),
            ..ObjectMeta::default()
        }
    }
}

/// Returns the map, or `None` if it is empty.
fn non_empty(map: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    Some(map).filter(|map| !map.is_empty())
}
