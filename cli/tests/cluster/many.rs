use serde_json::Value;

use crate::stage::Stage;

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_a_list_is_launched_and_ends_with_a_table() {
    Stage::open("cli-list", |stage| {
        let images = ["list-a", "list-b"].map(|name| stage.push(name));
        let missing = stage.missing("list-missing");
        let list = format!("# all\n{}\n{missing}\n{}\n{}\n", images[0], images[1], images[0]);
        let done = stage.piped(["launch", "-f", "-", "--keep-going", "--concurrency=2"], &list);
        assert_eq!(done.code, Some(41), "{done:?}");
        let rows: Vec<Vec<_>> =
            done.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["IMAGE", "STATUS", "CONFIGMAP", "PACKAGE", "VERSION", "TIME"]);
        let statuses: Vec<_> = rows[1..].iter().map(|row| (row[0], row[1])).collect();
        assert_eq!(
            statuses,
            [
                (images[0].as_str(), "Unpacked"),
                (missing.as_str(), "ImageNotFound"),
                (images[1].as_str(), "Unpacked")
            ]
        );
        assert_eq!(rows[1][3..5], ["hello-operator", "0.2.0"]);
        assert!(done.stderr.contains(&format!("error: failed to launch {missing}: ")), "{done:?}");
        assert!(done.stderr.ends_with("error: 1 of 3 images was not launched\n"), "{done:?}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_each_of_many_has_its_result_as_json_when_it_is_there() {
    Stage::open("cli-many-json", |stage| {
        let images = ["many-a", "many-b"].map(|name| stage.push(name));
        let [a, b] = images.each_ref().map(String::as_str);
        let stdout = stage.unlade(["launch", a, b, "-o", "json", "--concurrency=1"]).success();
        let lines: Vec<Value> =
            stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for image in &images {
            let results = lines
                .iter()
                .filter(|line| line["image"] == image.as_str() && line["event"] == "launched");
            assert_eq!(results.count(), 1, "{stdout}");
        }
        let place = |image: &str, event: &str| {
            lines.iter().position(|line| line["image"] == image && line["event"] == event)
        };
        assert!(place(a, "launched") < place(b, "prepared"), "{stdout}");
    });
}
