//! Phases that take too long.

use std::time::Duration;

use unlade_launcher::{Reason, Step, Strategy};
use unlade_testbed::registry::{Answer, Fault};

use super::observer::Knows;
use super::{Case, run};
use crate::stage::Stage;

/// How long the phase of a case may take: long enough for a busy cluster to report why a pod is not
/// scheduled.
const TIME: Duration = Duration::from_secs(30);

/// Returns the observation when the phase has reached its deadline.
const fn after(begins: fn(&Step) -> bool) -> Knows {
    Knows::After(begins, TIME)
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_the_deadline_of_each_phase_is_kept() {
    Stage::open("failure-deadline", async |stage| {
        let image = stage.push_example("slow").by_tag;
        let hanging = stage.push_example("hanging").by_tag;
        let fault = Fault::always(Answer::Hang);
        let _fault = stage.cluster.testbed().fault_registry("launch/hanging", fault).unwrap();
        let waiting = stage.push_waiting();
        run([
            // The known cause is the reason.
            Case::new(stage, "schedule", &image, Reason::Unschedulable)
                .saying("timed out after 30 s")
                .known_by(after(|step| matches!(step, Step::Created { .. })))
                .with(|options| {
                    options.pod.node_selector.insert("example.com/none".into(), "true".into());
                    options.deadlines.schedule = TIME;
                }),
            Case::new(stage, "pull", &hanging, Reason::Deadline)
                .saying("waiting for the images to be pulled")
                .known_by(after(|step| matches!(step, Step::Scheduled { .. })))
                .with(|options| options.deadlines.pull = TIME),
            Case::new(stage, "run", &image, Reason::Deadline)
                .saying("waiting for the result of the unpacker")
                .known_by(after(|step| matches!(step, Step::Running)))
                .with(|options| {
                    options.tool_image = waiting;
                    options.strategy = Strategy::ImageVolume;
                    options.deadlines.run = TIME;
                }),
        ])
        .await;
    });
}
