//! The Job of an attempt.

use std::time::Duration;

use k8s_openapi::api::batch::v1::{
    Job, JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule,
};
use unlade_config_map::protocol::{outcome::Verdict, record};

use super::{Facts, Plan, pod, spec_hash};
use crate::{Strategy, name};

/// How often the Job controller replaces a failed pod. Disruptions do not count. It replaces no pod
/// of a pack, because one bundle may have caused the failure, and the others should not wait.
const BACKOFF_LIMIT: i32 = 3;

/// The verdicts that another pod of the same Job cannot change.
const TERMINAL: [Verdict; 9] = [
    Verdict::Usage,
    Verdict::BadBundle,
    Verdict::Unreadable,
    Verdict::TooLarge,
    Verdict::Configuration,
    Verdict::NoConfigMap,
    Verdict::Refused,
    Verdict::Untrusted,
    Verdict::Internal,
];

pub(super) fn job(plan: &Plan<'_>, attempt: u32, strategy: Strategy, facts: &Facts) -> Job {
    let template = pod::template(plan, strategy, facts);
    let mut metadata = plan.metadata(name::job_name(&plan.name, attempt), facts);
    // The Secret with credentials has a random name, so only its existence counts.
    match plan.request.credentials {
        Some(_) => spec_hash::record(&mut metadata, &(&template, "credentials")),
        // Packs with the same options may have other bundles.
        None if plan.is_pack() => {
            let template = pod::template(&plan.without_bundles(), strategy, facts);
            spec_hash::record(&mut metadata, &template);
        }
        None => spec_hash::record(&mut metadata, &template),
    }
    if !plan.is_pack() {
        // A ConfigMap whose name the caller chose may be used for another image later.
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(record::IMAGE.to_owned(), plan.request.image.clone());
    }
    let options = plan.options;
    let spec = JobSpec {
        // The controller counts in nanoseconds, and overflows with larger values.
        active_deadline_seconds: Some(ttl(options.deadlines.total()).max(1).into()),
        ttl_seconds_after_finished: Some(ttl(options.retention.success)),
        backoff_limit: Some(if plan.is_pack() { 0 } else { BACKOFF_LIMIT }),
        pod_failure_policy: Some(PodFailurePolicy { rules: rules(plan.is_pack()) }),
        // A podFailurePolicy requires this value.
        pod_replacement_policy: Some("Failed".into()),
        template,
        ..JobSpec::default()
    };
    Job { metadata, spec: Some(spec), status: None }
}

/// Returns the rules for failed pods. A disrupted pod is replaced, but not that of a pack, because
/// another one would overwrite ConfigMaps whose launches have already ended.
fn rules(is_pack: bool) -> Vec<PodFailurePolicyRule> {
    let disrupted = PodFailurePolicyOnPodConditionsPattern {
        type_: "DisruptionTarget".into(),
        // The default of the API server, stated explicitly.
        status: Some("True".into()),
    };
    // Applies to any container: the one that installs the unpacker uses the same codes.
    let ended = PodFailurePolicyOnExitCodesRequirement {
        container_name: None,
        operator: "In".into(),
        values: TERMINAL.map(|verdict| i32::from(verdict.exit_code())).into(),
    };
    let disrupted = PodFailurePolicyRule {
        action: "Ignore".into(),
        on_pod_conditions: Some(vec![disrupted]),
        on_exit_codes: None,
    };
    let ended = PodFailurePolicyRule {
        action: "FailJob".into(),
        on_pod_conditions: None,
        on_exit_codes: Some(ended),
    };
    (!is_pack).then_some(disrupted).into_iter().chain([ended]).collect()
}

/// Converts a time to whole seconds, rounded up so that a deadline does not expire early.
fn seconds(time: Duration) -> i64 {
    let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

/// Converts a time to the type of `ttlSecondsAfterFinished`.
pub(crate) fn ttl(time: Duration) -> i32 {
    i32::try_from(seconds(time)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_verdicts_are_those_of_the_documentation() {
        let page = include_str!("../../../docs/reference/exit-codes.md");
        let codes = TERMINAL.map(|verdict| verdict.exit_code().to_string()).join(", ");
        assert!(page.contains(&format!("values: [{codes}]")), "{codes}");
        for manifest in [
            include_str!("../../../manifests/serve/inject/job.yaml"),
            include_str!("../../../manifests/serve/image-volume/job.yaml"),
        ] {
            assert!(manifest.contains(&format!("values: [{codes}]")), "{codes}");
        }
    }

    #[test]
    fn times_are_whole_seconds_and_never_shorter() {
        for (time, expected) in [
            (Duration::ZERO, 0),
            (Duration::from_millis(1), 1),
            (Duration::from_secs(1), 1),
            (Duration::from_millis(1_001), 2),
            (Duration::from_secs(1 << 40), i32::MAX),
            (Duration::MAX, i32::MAX),
        ] {
            assert_eq!(ttl(time), expected, "{time:?}");
        }
    }
}
