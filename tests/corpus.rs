//! Every case of `corpus/{benign,risky,evasion}` gets its answer. `CASE=part` runs those whose title,
//! number, class or command contains the part.

use shellgate::Gate;
use suite::case::cases;
use suite::runner::check;

#[test]
fn every_case_gets_its_answer() {
    let part = std::env::var("CASE").unwrap_or_default();
    let cases = cases().unwrap_or_else(|error| panic!("{error}"));
    let gate = Gate::builtin();
    let mut failures = Vec::new();
    let mut chosen = 0;
    for case in cases.iter().filter(|case| case.mentions(&part)) {
        chosen += 1;
        let wrong = check(gate, case);
        match (&case.known_gap, wrong.is_empty()) {
            (None, true) | (Some(_), false) => {}
            (Some(why), true) => failures.push(format!(
                "{}: right now, take the mark away: known_gap = {why:?}",
                case.title()
            )),
            (None, false) => {
                let lines: Vec<String> = wrong
                    .iter()
                    .map(|failure| format!("    {:?}: {}", failure.wrong, failure.what))
                    .collect();
                failures.push(format!(
                    "{}\n    {:?}\n{}",
                    case.title(),
                    case.command,
                    lines.join("\n")
                ));
            }
        }
    }
    assert!(chosen > 0, "no case mentions {part:?}");
    assert!(
        failures.is_empty(),
        "{} of {chosen} cases are wrong:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_class_of_the_threat_model_has_cases() {
    let cases = cases().unwrap_or_else(|error| panic!("{error}"));
    let threats = (1..=88).map(|number| format!("T{number:02}"));
    let alarms = (1..=48).map(|number| format!("F{number:02}"));
    let missing: Vec<String> = threats
        .chain(alarms)
        .filter(|class| !cases.iter().any(|case| case.class.as_ref() == Some(class)))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
