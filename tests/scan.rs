//! `scan`: the findings in `corpus/scan`, their places, the kinds of files one by one, and SARIF.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use shellgate::Gate;
use shellgate::model::context::Context;
use shellgate_cli::command::scan::{Scanned, scan};
use shellgate_cli::scan::finding::{Finding, findings};
use shellgate_cli::scan::kind::Kind;
use shellgate_cli::scan::sarif;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn files() -> PathBuf {
    root().join("corpus/scan")
}

fn scanned(path: PathBuf) -> Scanned {
    // Files run on any branch.
    let context = Context { branch: None, ..Context::default() };
    scan(Gate::builtin(), &context, &[path], false)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    finding: Vec<Entry>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    line: usize,
    column: usize,
    decision: String,
    rule: String,
    text: String,
}

/// The findings in the example files, with paths below their folder.
fn example_findings() -> Vec<Finding> {
    let base = files();
    let mut found = scanned(base.clone()).findings;
    for finding in &mut found {
        let path = Path::new(&finding.path).strip_prefix(&base).unwrap();
        finding.path = path.to_string_lossy().into_owned();
    }
    found
}

#[test]
fn example_files_have_these_findings_and_no_other() {
    let text = std::fs::read_to_string(files().join("expected.toml")).unwrap();
    let expected: Expected = toml::from_str(&text).unwrap();
    let wanted: BTreeSet<Entry> = expected.finding.into_iter().collect();
    let got: BTreeSet<Entry> = example_findings()
        .into_iter()
        .map(|finding| Entry {
            file: finding.path,
            line: finding.start.0,
            column: finding.start.1,
            decision: finding.decision.name().to_owned(),
            rule: finding.rule,
            text: finding.snippet,
        })
        .collect();
    let missing: Vec<&Entry> = wanted.difference(&got).collect();
    let more: Vec<&Entry> = got.difference(&wanted).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing: {missing:#?}\nmore: {more:#?}");
}

#[test]
fn places_agree_with_bytes() {
    let mut seen = 0;
    for finding in example_findings() {
        let text = std::fs::read_to_string(files().join(&finding.path)).unwrap();
        let bytes = &text.as_bytes()[finding.region.start..finding.region.end];
        assert_eq!(bytes, finding.snippet.as_bytes(), "{finding:?}");
        assert!(!bytes.is_empty(), "{finding:?}");
        for (place, at) in
            [(finding.start, finding.region.start), (finding.end, finding.region.end)]
        {
            let before = text.get(..at).unwrap();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            assert_eq!(place, (line, column), "{finding:?}");
        }
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn what_git_ignores_is_left_out_unless_named() {
    let folder = std::env::temp_dir().join(format!("shellgate-scan-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("out")).unwrap();
    std::fs::write(folder.join(".gitignore"), "out/\n").unwrap();
    std::fs::write(folder.join("out/a.sh"), "rm -rf /\n").unwrap();
    std::fs::write(folder.join("b.sh"), "rm -rf /\n").unwrap();
    std::fs::write(folder.join("c.sh"), "a\0b").unwrap();
    std::fs::write(folder.join("d.sh"), b"echo \xff\nrm -rf /\n").unwrap();
    let whole = scanned(folder.clone());
    let named = scanned(folder.join("out/a.sh"));
    std::fs::remove_dir_all(&folder).unwrap();
    let names: Vec<&str> = whole
        .findings
        .iter()
        .filter(|finding| finding.rule == "rm_rf")
        .map(|finding| finding.path.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(names, ["b.sh", "d.sh"]);
    assert!(whole.notes.iter().any(|(path, _)| path.ends_with("c.sh")), "{:?}", whole.notes);
    // A byte that is no character moves no place.
    let odd =
        whole.findings.iter().find(|f| f.path.ends_with("d.sh") && f.rule == "rm_rf").unwrap();
    assert_eq!((odd.start, odd.region.start), ((2, 8), 14));
    assert_eq!(named.findings.iter().filter(|finding| finding.rule == "rm_rf").count(), 1);
}

#[test]
fn kinds_read_their_commands_and_nothing_else() {
    let table: &[(Kind, &str, &[&str])] = &[
        (Kind::Script, "#!/bin/sh\nls\n", &["#!/bin/sh\nls\n"]),
        (Kind::Script, "a\r\nb\r\n", &["a\nb\n"]),
        (
            Kind::Workflow,
            "jobs:\n  a:\n    defaults:\n      run:\n        shell: pwsh\n    steps:\n      - run: x\n      - run: y\n        shell: bash\n",
            &["y"],
        ),
        (
            Kind::Workflow,
            "runs:\n  steps:\n    - run: echo ${{ a }} b ${{ c }}\n",
            &["echo ${GITHUB_EXPRESSION} b ${GITHUB_EXPRESSION}"],
        ),
        (
            Kind::Workflow,
            "jobs: { a: { steps: [ { run: \"a\\nb\" }, { name: run } ] } }",
            &["a\nb"],
        ),
        (
            Kind::Pipeline,
            "a:\n  script: one\nb:\n  script:\n    - two\n    - [three, four]\n  rules:\n    - script\n",
            &["one", "two\nthree\nfour"],
        ),
        (
            Kind::Pipeline,
            "before_script: [x]\n.h:\n  script: &s [y]\nj:\n  script: *s\n",
            &["x", "y"],
        ),
        (Kind::Makefile, "x:\n\ta\n\n# c\n\tb\ny = 1\n\tz\nw: ; v\n", &["a", "b", "z", "v"]),
        (Kind::Makefile, ".ONESHELL:\nx:\n\t@cd a\n\trm b\n", &["cd a\nrm b\n"]),
        (
            Kind::Makefile,
            "define D\n\trm -rf /\nendef\n%.o: %.c\n\t$(CC) -c $< -o $@\n",
            &["cc -c stem.c -o stem.o"],
        ),
        (
            Kind::Justfile,
            "x a='b':\n  @one {{a}}\n  two \\\n    three\n\ny:\n  #!/usr/bin/env bash\n  four\n",
            &["one ${JUST_EXPRESSION}", "two \\\n  three", "#!/usr/bin/env bash\nfour\n"],
        ),
        (Kind::Container, "FROM a\nRUN b\nCMD c\nRUN [\"d\", \"e f\"]\n", &["b", "d 'e f'"]),
        (
            Kind::Package,
            "{\"scripts\": {\"a\": \"b\", \"c\": \"\\u0064\"}, \"e\": \"f\"}",
            &["b", "d"],
        ),
        (
            Kind::AllowList,
            "{\"permissions\": {\"allow\": [\"Bash(a b:*)\", \"Edit\"]}}",
            &["a b ${ARGUMENTS}"],
        ),
    ];
    for (kind, text, wanted) in table {
        let extracted = kind.extract(text);
        assert_eq!(extracted.trouble, None, "{text}");
        let got: Vec<&str> = extracted.pieces.iter().map(|piece| piece.command.text()).collect();
        assert_eq!(got, *wanted, "{text}");
    }
}

#[test]
fn readers_are_total() {
    use proptest::test_runner::TestRunner;
    let kinds = [
        Kind::Script,
        Kind::Workflow,
        Kind::Pipeline,
        Kind::Makefile,
        Kind::Justfile,
        Kind::Container,
        Kind::Package,
        Kind::AllowList,
    ];
    // Parts of files of all kinds, in any order, so that readers get past their first bytes.
    let part = proptest::sample::select(vec![
        "jobs:\n",
        "  a:\n",
        "    steps:\n",
        "      - run: ",
        "|\n",
        ">-\n",
        "        x\n",
        "script:\n",
        "  - ",
        "\"",
        "'",
        "\\",
        "\n",
        "\t",
        "$(",
        ")",
        "${",
        "}",
        "$$",
        ":",
        "=",
        "RUN ",
        "<<E\n",
        "E\n",
        "[\"",
        "\"]",
        "{",
        "}",
        "\"scripts\": ",
        ",",
        "é",
        "\u{feff}",
        "#!",
        "/bin/sh",
        "&a ",
        "*a",
        "!t ",
        "{{",
        "}}",
        "rm -rf /",
        " ",
        "\r\n",
        "--- ",
        "\\u00",
        "%",
    ]);
    let text = proptest::collection::vec(part, 0..24);
    let mut runner = TestRunner::new(crate::tries(256));
    runner
        .run(&text, |parts| {
            let text = parts.concat();
            for kind in kinds {
                for piece in kind.extract(&text).pieces {
                    let length = piece.command.text().len();
                    for at in (0..=length).step_by(1 + length / 16) {
                        let region = piece.command.between(at, length);
                        proptest::prop_assert!(region.start <= region.end);
                        proptest::prop_assert!(
                            text.get(region.start..region.end).is_some()
                                || !piece.command.text().is_char_boundary(at),
                            "{kind:?} {text:?} {region:?}"
                        );
                    }
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_a_file_says_about_its_place_counts() {
    let rules = |kind: Kind, text: &str| -> Vec<String> {
        let extracted = kind.extract(text);
        findings(Gate::builtin(), &Context::default(), kind, "f", text, &extracted.pieces)
            .into_iter()
            .map(|finding| finding.rule)
            .collect()
    };
    let workflow = |value: &str| {
        format!(
            "env:\n  OUT: {value}\njobs:\n  a:\n    steps:\n      - run: rm -rf $OUT ${{{{ env.OUT }}}}\n"
        )
    };
    assert_eq!(rules(Kind::Workflow, &workflow("target")), [""; 0]);
    assert_eq!(rules(Kind::Workflow, &workflow("/usr")), ["rm_rf", "rm_rf"]);
    let pipeline = "variables: { OUT: target }\na:\n  script: rm -rf $OUT\n";
    assert_eq!(rules(Kind::Pipeline, pipeline), [""; 0]);
    assert!(rules(Kind::Container, "RUN rm -rf /var/lib/apt/lists/*\n").is_empty());
    assert_eq!(rules(Kind::Script, "rm -rf /var/lib/apt/lists/*\n"), ["rm_rf"]);
    assert_eq!(rules(Kind::Container, "RUN curl -s http://a.b/c | sh\n"), ["curl_pipe_sh"]);
}

/// The SARIF schema as the package `serde-sarif` ships it; cargo knows where it is.
fn schema() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let manifest = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == "serde-sarif")
        .and_then(|package| package["manifest_path"].as_str())
        .unwrap();
    let file = Path::new(manifest).parent().unwrap().join("src/schema.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn sarif_is_valid_and_true() {
    let mut schema = schema();
    // The standard's own schema has a bracket too many in this expression, which only the laxer kind
    // of ECMAScript takes; nothing here writes the property.
    for definition in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][definition]["properties"]["language"];
        assert_eq!(language["pattern"], "^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$");
        language.as_object_mut().unwrap().remove("pattern");
    }
    assert!(schema["title"].as_str().unwrap().contains("2.1.0"), "{}", schema["title"]);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let notes = vec![("a b.sh".to_owned(), "left out".to_owned())];
    // This repository holds the example files too.
    for path in [root(), files()] {
        let scanned = scanned(path);
        assert!(scanned.findings.len() > 20);
        let log = sarif::log(Gate::builtin(), "1.2.3", &scanned.findings, &notes);
        let wrong: Vec<String> = validator
            .iter_errors(&log)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let run = &log["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), scanned.findings.len());
        for (result, finding) in results.iter().zip(&scanned.findings) {
            let place = &result["locations"][0]["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert_eq!(uri, finding.path, "these paths need no escapes");
            let bytes = std::fs::read(&finding.path).unwrap();
            let region = &place["region"];
            let number = |key: &str| usize::try_from(region[key].as_u64().unwrap()).unwrap();
            let (start, length) = (number("byteOffset"), number("byteLength"));
            assert_eq!(
                String::from_utf8_lossy(&bytes[start..start + length]),
                region["snippet"]["text"].as_str().unwrap()
            );
            let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
        }
        let uri = &run["invocations"][0]["toolExecutionNotifications"][0]["locations"][0]["physicalLocation"]
            ["artifactLocation"]["uri"];
        assert_eq!(uri, "a%20b.sh");
    }
    // The judge can say no.
    assert!(!validator.is_valid(&serde_json::json!({ "version": "2.1.0", "runs": [{}] })));
}

#[test]
fn the_schema_of_policies_takes_what_the_loader_takes() {
    let schema = shellgate_cli::schema::policy();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = std::fs::read_to_string(root().join("docs/policy.md")).unwrap();
    let mut seen = 0;
    for block in text.split("```toml\n").skip(1) {
        let block = block.split("```").next().unwrap();
        shellgate::load::Policy::read("docs/policy.md", block, shellgate::load::Level::User)
            .unwrap();
        let value = serde_json::to_value(toml::from_str::<toml::Table>(block).unwrap()).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        seen += 1;
    }
    assert!(seen > 0);
    for (file, text) in shellgate::load::builtin::rules() {
        // What stands under `[[rule]]` in the built-in files stands in a policy alike.
        let mut table: toml::Table = toml::from_str(text).unwrap();
        table.retain(|key, _| key == "rule");
        let wrong: Vec<String> = validator
            .iter_errors(&serde_json::to_value(table).unwrap())
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    }
    for (file, text) in shellgate::load::builtin::utilities() {
        let mut table: toml::Table = toml::from_str(text).unwrap();
        table.retain(|key, _| key == "utility");
        let wrong: Vec<String> = validator
            .iter_errors(&serde_json::to_value(table).unwrap())
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    }
    for bad in [
        serde_json::json!({ "labelz": {} }),
        serde_json::json!({ "labels": { "no_such_label": "ask" } }),
        serde_json::json!({ "workspaces": ["relative"] }),
        serde_json::json!({ "rule": [{ "id": "x", "label": "deny_list", "why": "w", "match": {} }] }),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}
