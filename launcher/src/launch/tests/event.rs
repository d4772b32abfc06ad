//! What a launch reports while it runs.

use std::time::Duration;

use unlade_api_server::Disturbance;

use super::*;

/// Returns the state of a container whose image the registry temporarily rejects.
fn limited() -> Value {
    json!({"waiting": {
        "reason": "ErrImagePull",
        "message": "failed to pull image: 429 Too Many Requests: toomanyrequests: slow down",
    }})
}

#[tokio::test(start_paused = true)]
async fn another_attempt_reports_again_what_it_waits_for() {
    let server = Server::new(|server, job| {
        server.put("pods", pod(job, "Pending", &limited()));
    });
    let failing = server.clone();
    let fails_later = async {
        for (number, suffix) in ["-1", "-2"].into_iter().enumerate() {
            while failing.count("jobs") <= number {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
            let job = failing.object("jobs", suffix);
            if number == 0 {
                let state = json!({"terminated": {"exitCode": 30, "reason": "Error"}});
                failing.put("pods", pod(&job, "Failed", &state));
                let mut failed = job;
                failed["status"]["conditions"] =
                    json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]);
                failing.put("jobs", failed);
            } else {
                failing.fill(job["metadata"]["name"].as_str().unwrap());
            }
        }
    };
    let ((launched, steps), ()) = tokio::join!(launched(&server, options()), fails_later);
    launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    let order = ["created", "waiting", "retrying", "written"];
    let steps: Vec<_> = steps.into_iter().filter(|step| order.contains(&step.as_str())).collect();
    assert_eq!(steps, ["created", "waiting", "retrying", "created", "waiting", "written"]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_passes_within_a_phase_is_reported_as_over() {
    let server = Server::new(|server, job| {
        server.put("pods", pod(job, "Pending", &limited()));
    });
    let pulling = server.clone();
    let goes_on = async {
        while pulling.count("jobs") == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        let job = pulling.object("jobs", "-1");
        let state = json!({"waiting": {"reason": "ContainerCreating"}});
        pulling.put("pods", pod(&job, "Pending", &state));
        tokio::time::sleep(Duration::from_secs(5)).await;
        pulling.put("pods", pod(&job, "Pending", &limited()));
        tokio::time::sleep(Duration::from_secs(5)).await;
        pulling.fill(job["metadata"]["name"].as_str().unwrap());
    };
    let ((launched, steps), ()) = tokio::join!(launched(&server, options()), goes_on);
    launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    let order = ["created", "waiting", "resumed", "written"];
    let steps: Vec<_> = steps.into_iter().filter(|step| order.contains(&step.as_str())).collect();
    assert_eq!(steps, ["created", "waiting", "resumed", "waiting", "written"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_comes_back_is_reported_as_such() {
    let mut n_refused = 0;
    let server = Server::new(|_, _| {}).disturbed(move |request| {
        let is_refused = request.path.contains("/pods?") && n_refused < 3;
        n_refused += usize::from(is_refused);
        is_refused.then(|| Disturbance::status(503, "ServiceUnavailable", "away"))
    });
    let filling = server.clone();
    let later = async {
        while filling.count("jobs") == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
        let job = filling.object("jobs", "-1");
        filling.fill(job["metadata"]["name"].as_str().unwrap());
    };
    let ((launched, steps), ()) = tokio::join!(launched(&server, options()), later);
    launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    let waiting = steps.iter().position(|step| step == "waiting").unwrap();
    assert!(steps[waiting..].contains(&"resumed".to_owned()), "{steps:?}");
}
