//! The deterministic engine: answers when no service does, and one side of every replay.

use serde::{Deserialize, Serialize};

use super::pack::{self, Question, QuestionKind};
use super::state::{Action, CostState, RiskState, RunStatus, State, WorkflowState};
use crate::task::decision::{Answer, Noul};
use crate::task::input::{Preference, TaskKind, Workflow};

/// What the rules need to know about a call. The guard fills it from the gate's analysis of the
/// whole command, so that the rules never see a command as simpler than the gate did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one row of the table of facts")]
pub struct Facts {
    /// It only reads.
    pub read_only: bool,
    /// It removes or overwrites data.
    pub destructive: bool,
    /// It changes the shape of shared data.
    pub migration: bool,
    /// Its words speak of security, money or deployment.
    pub risk_area: bool,
    /// Others see it at once.
    pub external: bool,
    /// The current branch is protected.
    pub protected_branch: bool,
    /// It touches a file that may hold secrets.
    pub sensitive: bool,
}

impl Facts {
    /// Each fact that holds in one of the two; a reader is one in both.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        Self {
            read_only: self.read_only && other.read_only,
            destructive: self.destructive || other.destructive,
            migration: self.migration || other.migration,
            risk_area: self.risk_area || other.risk_area,
            external: self.external || other.external,
            protected_branch: self.protected_branch || other.protected_branch,
            sensitive: self.sensitive || other.sensitive,
        }
    }
}

/// Branches on which what others see is not safe.
const PROTECTED: [&str; 5] = ["main", "master", "production", "prod", "release"];

/// Facts by a state alone, where no analysis is at hand. `command` is the whole text where it is
/// known; the state's own may be cut.
pub fn facts(state: &RiskState, command: Option<&str>) -> Facts {
    let text = command.or(state.command.as_deref()).unwrap_or_default();
    let told = Words::new(text);
    Facts {
        read_only: is_read_only(text),
        destructive: told.is_destructive(),
        migration: told.is_migration(),
        risk_area: told.has_risk_word(),
        external: state.action_type == Action::GitPush || told.is_external(),
        protected_branch: state
            .context
            .branch
            .as_deref()
            .is_some_and(|branch| PROTECTED.contains(&branch)),
        sensitive: state.files_touched.iter().any(|file| file.sensitive),
    }
}

/// A command as words: lower case, quotes and backslashes left out, parted at operators.
struct Words {
    /// Simple commands with the operator before each.
    commands: Vec<(char, Vec<String>)>,
    /// Runs of letters, digits and `_`.
    plain: Vec<String>,
    /// The text in lower case, white space collapsed.
    flat: String,
}

impl Words {
    fn new(text: &str) -> Self {
        let mut commands = vec![(' ', Vec::new())];
        let mut word = String::new();
        let end = |word: &mut String, commands: &mut Vec<(char, Vec<String>)>| {
            if let (false, Some((_, words))) = (word.is_empty(), commands.last_mut()) {
                words.push(std::mem::take(word));
            }
        };
        for character in text.chars() {
            match character {
                ';' | '|' | '&' | '\n' | '\r' | '(' | ')' | '{' | '}' | '`' => {
                    end(&mut word, &mut commands);
                    commands.push((character, Vec::new()));
                }
                '\'' | '"' | '\\' => {}
                blank if blank.is_whitespace() => end(&mut word, &mut commands),
                // Case tells `-d` from `-D`; only words are compared without it.
                other => word.push(other),
            }
        }
        end(&mut word, &mut commands);
        let lower = text.to_lowercase();
        let plain = lower
            .split(|character: char| !(character.is_alphanumeric() || character == '_'))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let flat = lower.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { commands, plain, flat }
    }

    /// Whether one simple command has all of `wanted`, in this order, anything between them.
    fn has(&self, wanted: &[&dyn Fn(&str) -> bool]) -> bool {
        self.commands.iter().any(|(_, words)| {
            let mut rest = words.iter();
            wanted.iter().all(|is| rest.any(|word| is(word)))
        })
    }

    fn has_plain(&self, words: &[&str]) -> bool {
        self.plain.iter().any(|own| words.contains(&own.as_str()))
    }

    /// Whether one word follows the other directly, whatever stands between them.
    fn has_pair(&self, first: &str, seconds: &[&str]) -> bool {
        self.plain
            .iter()
            .zip(self.plain.iter().skip(1))
            .any(|(own, next)| own == first && seconds.contains(&next.as_str()))
    }

    fn is_destructive(&self) -> bool {
        let git = program("git");
        let push = exactly(&["push"]);
        let forces = |word: &str| {
            word == "--force" || word.starts_with("--force-with-lease") || cluster(word, "f")
        };
        let sub = |words: &'static [&'static str]| exactly(words);
        self.has(&[&program("rm"), &|word| {
            cluster(word, "rRf") || word == "--recursive" || word == "--force"
        }]) || self.has(&[&git, &push, &forces])
            || self.has(&[&git, &exactly(&["reset"]), &exactly(&["--hard"])])
            || self
                .has(&[&git, &exactly(&["clean"]), &|word| cluster(word, "f") || word == "--force"])
            || self.has(&[&git, &exactly(&["branch", "tag"]), &|word| cluster(word, "D")])
            || self.has_pair("drop", &["table", "database", "schema"])
            || self.has_pair("truncate", &["table"])
            || self.has_plain(&["mkfs", "shred", "wipefs"])
            || self.has(&[&program("dd"), &|word| word.starts_with("of=")])
            || self.has(&[&program("chmod"), &|word| cluster(word, "R") || word == "--recursive"])
            || self.has(&[&program("chown"), &|word| cluster(word, "R") || word == "--recursive"])
            || self.has(&[&program("terraform"), &sub(&["apply", "destroy"])])
            || self.has(&[&program("kubectl"), &sub(&["apply", "delete", "replace"])])
            || ["db:drop", "db:reset", "db:wipe"].iter().any(|word| self.flat.contains(word))
            || self.pipes_download()
    }

    /// curl or wget whose output reaches a shell.
    fn pipes_download(&self) -> bool {
        let mut downloads = false;
        for (operator, words) in &self.commands {
            if *operator != '|' {
                downloads = false;
            }
            let shell = words.iter().any(|word| {
                let word = base(word);
                matches!(word, "sh" | "bash" | "zsh")
            });
            if downloads && shell {
                return true;
            }
            downloads |= words.iter().any(|word| matches!(base(word), "curl" | "wget"));
        }
        false
    }

    fn is_migration(&self) -> bool {
        self.plain.iter().any(|word| word.starts_with("migrat") || word == "flyway")
            || ["db:push", "db:seed", "prisma db push", "alembic upgrade"]
                .iter()
                .any(|words| self.flat.contains(words))
    }

    fn is_external(&self) -> bool {
        self.has(&[&program("git"), &exactly(&["push"])])
            || self.has(&[
                &|word| matches!(base(word), "npm" | "pnpm" | "yarn"),
                &exactly(&["publish"]),
            ])
            || self.has(&[&program("docker"), &exactly(&["push"])])
            || self.has_plain(&["deploy"])
    }

    fn has_risk_word(&self) -> bool {
        self.plain.iter().any(|word| {
            ["auth", "migrat", "deploy"].iter().any(|start| word.starts_with(start))
                || matches!(
                    word.as_str(),
                    "login"
                        | "oauth"
                        | "jwt"
                        | "password"
                        | "passwords"
                        | "secret"
                        | "secrets"
                        | "credential"
                        | "credentials"
                        | "billing"
                        | "payment"
                        | "payments"
                        | "invoice"
                        | "invoices"
                        | "stripe"
                        | "prod"
                        | "production"
                )
        })
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn program(name: &'static str) -> impl Fn(&str) -> bool {
    move |word| base(word).eq_ignore_ascii_case(name)
}

fn exactly(words: &'static [&'static str]) -> impl Fn(&str) -> bool {
    move |word| words.iter().any(|own| own.eq_ignore_ascii_case(word))
}

/// Whether a word is a cluster of short options with one of `letters`.
fn cluster(word: &str, letters: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| !rest.starts_with('-') && rest.contains(|own| letters.contains(own)))
}

/// Whether a text is one plain reader, by itself; used only where no analysis is at hand.
fn is_read_only(text: &str) -> bool {
    const SIGNS: &[char] = &[
        ';', '&', '|', '`', '$', '<', '>', '(', ')', '{', '}', '\\', '\n', '\r', '#', '*', '?', '[',
    ];
    const PROGRAMS: &[&str] = &[
        "ls", "cat", "pwd", "head", "tail", "wc", "grep", "which", "file", "stat", "tree", "du",
        "df",
    ];
    if text.contains(SIGNS) {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let writes = |word: &&&str| {
        matches!(**word, "-o" | "--output" | "--fix" | "-w" | "--write" | "-x" | "-X" | "-C" | "-f")
            || word.starts_with("--output=")
            || word.starts_with("--ext-diff")
            || word.starts_with("--textconv")
    };
    if words.iter().any(|word| writes(&word)) {
        return false;
    }
    match words.as_slice() {
        ["git", sub, ..] => matches!(*sub, "status" | "diff" | "log" | "show" | "blame"),
        [name, ..] => PROGRAMS.contains(name),
        [] => false,
    }
}

/// The answer of the rules. None for a choice without an option; `facts` is needed for questions
/// about calls and made from the state where it is missing.
pub fn answer(
    state: &State,
    question: Question,
    facts_of: Option<&Facts>,
    options: &[Workflow],
) -> Option<Answer> {
    match (state, question) {
        (State::Workflow(own), Question::Workflow) => choose(own, options),
        (State::Workflow(own), Question::Complexity) => Some(score(complexity(own))),
        (State::Workflow(own), Question::EscalationNeed) => Some(score(escalation_need(own))),
        (State::Cost(own), Question::CheapSuccess) => Some(score(cheap_success(own))),
        (State::Risk(own), _) if question.kind() == QuestionKind::Noul => {
            let facts = facts_of.copied().unwrap_or_else(|| facts(own, None));
            let (answer, p_yes) = match question {
                Question::SafeNow => safe_now(own, facts),
                Question::Reversible => reversible(own, facts),
                _ => high_risk_area(facts),
            };
            Some(Answer::Noul { answer, p_yes })
        }
        _ => None,
    }
}

fn score(value: i64) -> Answer {
    let score = u8::try_from(value.clamp(0, 4)).unwrap_or_default();
    let mut probs = [0.05; 5];
    if let Some(own) = probs.get_mut(usize::from(score)) {
        *own = 0.8;
    }
    Answer::Score { score, probs: Some(probs) }
}

fn is_any_sensitive(state: &WorkflowState) -> bool {
    state.files_touched.iter().any(|file| file.sensitive)
}

/// 0 to 4 and beyond; the caller clamps.
fn complexity(state: &WorkflowState) -> i64 {
    let listed = u64::try_from(state.files_touched.len()).unwrap_or(u64::MAX);
    let files = listed.saturating_add(state.truncated_count.unwrap_or(0));
    let base = match state.task_type {
        TaskKind::Autocomplete | TaskKind::Explain => 0,
        TaskKind::TestWrite | TaskKind::Refactor | TaskKind::BugFix | TaskKind::Other => 1,
        TaskKind::InfraChange => 2,
    };
    base + more_files(files)
        + i64::from(state.estimated_diff_size > 200)
        + i64::from(is_any_sensitive(state))
}

const fn more_files(files: u64) -> i64 {
    if files > 10 {
        2
    } else if files > 3 {
        1
    } else {
        0
    }
}

fn escalation_need(state: &WorkflowState) -> i64 {
    let complexity = complexity(state).clamp(0, 4);
    let by_complexity = if complexity >= 3 { 2 } else { i64::from(complexity == 2) };
    let by_failure = if state.last_run_status == RunStatus::Failed { 2 } else { 0 };
    by_complexity + by_failure + i64::from(is_any_sensitive(state))
}

fn cheap_success(state: &CostState) -> i64 {
    let base = match state.task_type {
        TaskKind::Autocomplete | TaskKind::Explain => 4,
        TaskKind::TestWrite | TaskKind::Refactor => 3,
        TaskKind::BugFix | TaskKind::Other => 2,
        TaskKind::InfraChange => 1,
    };
    let failures = i64::try_from(state.recent_failures.min(2)).unwrap_or(2);
    base - more_files(state.files_touched_count)
        - i64::from(state.project_size_lines > 250_000)
        - failures
}

fn choose(state: &WorkflowState, options: &[Workflow]) -> Option<Answer> {
    use Workflow::{CloudSingle, CloudWithCritique, LocalCloudCascade, LocalSingle};
    let order = if state.user_preference == Preference::Quality {
        [CloudWithCritique, CloudSingle, LocalCloudCascade, LocalSingle]
    } else if state.last_run_status == RunStatus::Failed
        || is_any_sensitive(state)
        || complexity(state) >= 3
    {
        [CloudSingle, CloudWithCritique, LocalCloudCascade, LocalSingle]
    } else if state.user_preference == Preference::Cheap {
        [LocalSingle, LocalCloudCascade, CloudSingle, CloudWithCritique]
    } else {
        [LocalCloudCascade, LocalSingle, CloudSingle, CloudWithCritique]
    };
    let selected = *order.iter().find(|workflow| options.contains(workflow))?;
    let confidence = if order.first() == Some(&selected) { 0.85 } else { 0.7 };
    let others = options.len().saturating_sub(1);
    let probs = options
        .iter()
        .map(|option| {
            let own = match (*option == selected, others) {
                (true, 0) => 1.0,
                (true, _) => confidence,
                (false, count) => (1.0 - confidence) / count as f64,
            };
            (pack::workflow_word(*option).to_owned(), own)
        })
        .collect();
    Some(Answer::Choice { selected: pack::workflow_word(selected).to_owned(), probs })
}

fn safe_now(state: &RiskState, facts: Facts) -> (Noul, f64) {
    let action = state.action_type;
    if facts.destructive {
        (Noul::No, 0.03)
    } else if facts.migration || (facts.external && facts.protected_branch) {
        (Noul::No, 0.1)
    } else if action == Action::DeleteFile {
        (Noul::Unknown, 0.3)
    } else if facts.sensitive {
        (Noul::Unknown, 0.35)
    } else if facts.external {
        (Noul::Unknown, 0.4)
    } else {
        match action {
            Action::RunCommand if facts.read_only && state.command.is_some() => (Noul::Yes, 0.95),
            Action::RunTests | Action::Lint => (Noul::Yes, 0.9),
            Action::ApplyEdit if state.edit_file_count.unwrap_or(1) <= 1 => (Noul::Yes, 0.9),
            Action::ApplyEdit => (Noul::Yes, 0.8),
            Action::GitCommit => (Noul::Yes, 0.85),
            _ => (Noul::Unknown, 0.5),
        }
    }
}

fn reversible(state: &RiskState, facts: Facts) -> (Noul, f64) {
    let action = state.action_type;
    if facts.destructive {
        (Noul::No, 0.03)
    } else if facts.migration || facts.external {
        (Noul::No, 0.1)
    } else {
        match action {
            Action::RunCommand if facts.read_only && state.command.is_some() => (Noul::Yes, 0.98),
            Action::ApplyEdit => (Noul::Yes, 0.9),
            Action::GitCommit => (Noul::Yes, 0.85),
            Action::RunTests | Action::Lint => (Noul::Yes, 0.8),
            Action::InstallDependency => (Noul::Unknown, 0.5),
            _ => (Noul::Unknown, 0.4),
        }
    }
}

const fn high_risk_area(facts: Facts) -> (Noul, f64) {
    if facts.sensitive {
        (Noul::Yes, 0.95)
    } else if facts.migration {
        (Noul::Yes, 0.9)
    } else if facts.risk_area {
        (Noul::Yes, 0.75)
    } else {
        (Noul::No, 0.05)
    }
}
