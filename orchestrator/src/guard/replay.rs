//! A stored decision about a call, decided again: from what was stored with it, and as of today.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::action::Deed;
use super::analysis::{Analysis, Scene};
use super::policy::{self, Before, Case, Decided, Settings};
use super::secret::SecretNames;
use super::{Guard, see};
use crate::advisor::pack::{Pack, Question};
use crate::advisor::replay::{EngineRun, Replay, ReplayError, state_of};
use crate::advisor::rules::{self, Facts};
use crate::advisor::service::Fallback;
use crate::advisor::state::{Action, RiskState, State};
use crate::advisor::{Active, Reply};
use crate::task::call::ToolName;
use crate::task::decision::{Answer, DecisionRecord, EngineKind, Noul};

/// The question of records that policy alone decided.
pub(super) const POLICY: &str = "policy";

/// Raised when a basis changes its shape; another format is left alone.
pub(super) const FORMAT: u32 = 1;

/// What decisions depend on besides a basis: this package's version and the gate's rules.
pub(super) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut hash = Sha256::new();
        let files = shellgate::load::builtin::rules();
        for (name, text) in files.iter().chain(shellgate::load::builtin::utilities()) {
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(text.as_bytes());
        }
        let digest: String = hex::encode(hash.finalize()).chars().take(12).collect();
        format!("{}+{digest}", env!("CARGO_PKG_VERSION"))
    });
    &VERSION
}

/// Everything a decision was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Basis {
    pub(super) format: u32,
    pub(super) version: String,
    pub(super) settings: Settings,
    /// What the gate made of the call then.
    pub(super) case: Case,
    pub(super) facts: Facts,
    /// The answers to the three questions; empty where policy alone decided.
    pub(super) said: Vec<SaidBefore>,
    /// The call and its place, for another analysis; none where something in it must not be stored.
    pub(super) inputs: Option<Inputs>,
    /// Whether a service was configured.
    pub(super) asking: bool,
    /// Whether names in paths were hidden.
    pub(super) redacting: bool,
}

/// A call and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inputs {
    pub(super) tool: String,
    pub(super) analysed: Option<String>,
    pub(super) command: Option<String>,
    pub(super) paths: Vec<String>,
    pub(super) glob: Option<String>,
    pub(super) scene: Scene,
    /// Whether it is the project's own command.
    pub(super) own: bool,
    /// Whether the tool does not know the command.
    pub(super) unknown: bool,
}

/// An engine's answer then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SaidBefore {
    answer: String,
    p_yes: f64,
    jev: bool,
    fallback: Option<String>,
}

impl SaidBefore {
    pub(super) fn of(reply: &Reply) -> Self {
        let (answer, p_yes) = match reply.answer {
            Answer::Noul { answer, p_yes } => (answer, p_yes),
            _ => (Noul::Unknown, 0.5),
        };
        Self {
            answer: word(answer).to_owned(),
            p_yes,
            jev: reply.engine == EngineKind::Jev,
            fallback: reply.fallback.map(|own| own.name().to_owned()),
        }
    }

    fn reply(&self) -> Reply {
        let answer = match self.answer.as_str() {
            "yes" => Noul::Yes,
            "no" => Noul::No,
            _ => Noul::Unknown,
        };
        Reply {
            answer: Answer::Noul { answer, p_yes: self.p_yes },
            engine: if self.jev { EngineKind::Jev } else { EngineKind::Rules },
            fallback: self.fallback.as_deref().map(|name| match name {
                "jev_timeout" => Fallback::Timeout,
                "jev_unavailable" => Fallback::Unavailable,
                _ => Fallback::Error,
            }),
            latency_ms: 0,
        }
    }
}

const fn word(answer: Noul) -> &'static str {
    match answer {
        Noul::Yes => "yes",
        Noul::No => "no",
        Noul::Unknown => "unknown",
    }
}

/// A case as of today.
struct Today {
    case: Case,
    facts: Facts,
}

impl Guard {
    /// Decides a stored record again, a call's or a route's. Writes nothing, tells nobody.
    ///
    /// # Errors
    ///
    /// When its pack, state or question is none of ours, or `cancel` fired.
    pub async fn replay(
        &self,
        record: DecisionRecord,
        cancel: &CancellationToken,
    ) -> Result<Replay, ReplayError> {
        let State::Risk(state) = state_of(&record)? else {
            return self.advisor.replay(record, cancel).await;
        };
        let question = Question::from_name(Pack::RiskGate, &record.question);
        if question.is_none() && record.question != POLICY {
            let why = format!("`{}` has no question `{}`", record.pack, record.question);
            return Err(ReplayError::NotReplayable(why));
        }
        let settings = self.settings();
        let active = self.advisor.active();
        let basis: Option<Basis> = record
            .basis
            .clone()
            .and_then(|basis| serde_json::from_value(basis).ok())
            .filter(|basis: &Basis| basis.format == FORMAT);
        let mut changes = Vec::new();
        let today = match &basis {
            Some(basis) => self.again(basis, &state, &active, &mut changes),
            None => self.by_state(&state, &active),
        };
        if let Some(basis) = &basis {
            compare(basis, &settings, &active, &mut changes);
        }
        let whole = State::Risk(state);
        let by_rules = |question| {
            let answer = rules::answer(&whole, question, Some(&today.facts), &[])
                .unwrap_or(Answer::Noul { answer: Noul::Unknown, p_yes: 0.5 });
            Reply { answer, engine: EngineKind::Rules, fallback: None, latency_ms: 0 }
        };
        let (rules, jev, jev_error) = match policy::before(&today.case, &settings) {
            Before::Decided(decided) => (by_policy(&decided), None, None),
            Before::Ask(floors) => {
                let replies = Question::RISK.map(by_rules);
                let decided = policy::after(&floors, &settings, &replies);
                let rules = run(question, &replies, &decided, EngineKind::Rules);
                let ask = |question| active.ask_service(&whole, question, &[], cancel);
                let [safe, reversible, risky] = Question::RISK;
                let answers = tokio::try_join!(ask(safe), ask(reversible), ask(risky))
                    .map_err(|_| ReplayError::Cancelled)?;
                match answers {
                    (Ok(safe), Ok(reversible), Ok(risky)) => {
                        let replies = [safe, reversible, risky];
                        let decided = policy::after(&floors, &settings, &replies);
                        (rules, Some(run(question, &replies, &decided, EngineKind::Jev)), None)
                    }
                    (safe, reversible, risky) => {
                        let error = [safe.err(), reversible.err(), risky.err()]
                            .into_iter()
                            .flatten()
                            .flatten()
                            .next();
                        (rules, None, error)
                    }
                }
            }
        };
        let as_recorded = basis.as_ref().map(|basis| recorded(basis, question, record.engine));
        let differs =
            rules.differs(&record) || jev.as_ref().is_some_and(|own| own.differs(&record));
        Ok(Replay { record, rules, jev, jev_error, differs, as_recorded, changes })
    }

    /// The stored call, seen again where the version is another and the call was stored whole.
    fn again(
        &self,
        basis: &Basis,
        state: &RiskState,
        active: &Active,
        changes: &mut Vec<String>,
    ) -> Today {
        let stored = Today { case: basis.case.clone(), facts: basis.facts };
        if basis.version == version() {
            return stored;
        }
        changes.push(format!("version {} is now {}", basis.version, version()));
        let Some(inputs) = &basis.inputs else {
            changes
                .push("the call was not stored whole, so its analysis is that of its time".into());
            return stored;
        };
        let mut deed = Deed {
            action: state.action_type,
            command: inputs.command.clone(),
            analysed: inputs.analysed.clone(),
            paths: inputs.paths.clone(),
            edit_files: basis.case.edit_files,
            reads_only: basis.case.reads_only,
            is_unknown: inputs.unknown,
            own: inputs.command.clone().filter(|_| inputs.own),
            wants_branch: false,
            glob: inputs.glob.clone(),
        };
        if ToolName::from_name(&inputs.tool).is_some_and(|tool| tool == ToolName::Shell) {
            deed.action = Action::RunCommand;
        }
        let agreed = basis.case.command.as_ref().and_then(|own| own.agreed);
        let secrets = SecretNames::new(&inputs.scene.globs);
        let command = self.analysed(&deed, &inputs.scene, agreed);
        let seen = see(
            &self.gates,
            &mut deed,
            &inputs.scene,
            &secrets,
            command,
            state.context.clone(),
            active,
        );
        let mut case = seen.case;
        // Whether the engine saw less is a matter of the state that was stored.
        case.shortened = basis.case.shortened;
        if case != basis.case {
            changes.push(format!(
                "the analysis was {} and is now {}",
                phrase(&basis.case),
                phrase(&case)
            ));
        }
        if seen.facts != basis.facts {
            changes.push("the facts for the rules are others now".into());
        }
        Today { case, facts: seen.facts }
    }

    /// A record of another program, or of before there was a basis: only its state is there.
    fn by_state(&self, state: &RiskState, active: &Active) -> Today {
        let is_check = matches!(state.action_type, Action::RunTests | Action::Lint);
        let mut deed = Deed {
            action: state.action_type,
            command: state.command.clone(),
            analysed: state.command.clone(),
            paths: state.files_touched.iter().map(|file| file.path.clone()).collect(),
            edit_files: state.edit_file_count,
            reads_only: state.command.is_none()
                && state.edit_file_count.is_none()
                && (is_check || state.action_type == Action::Other),
            is_unknown: false,
            own: state.command.clone().filter(|_| is_check),
            wants_branch: false,
            glob: None,
        };
        let scene = Scene {
            roots: vec!["/workspace".into()],
            home: self.home.clone(),
            branch: state.context.branch.clone(),
            default_branch: None,
            globs: Vec::new(),
            links: Vec::new(),
        };
        let agreed = (is_check && state.command.is_some()).then_some(true);
        let secrets = SecretNames::new(&[]);
        let command = self.analysed(&deed, &scene, agreed);
        let seen =
            see(&self.gates, &mut deed, &scene, &secrets, command, state.context.clone(), active);
        let mut case = seen.case;
        let flagged = state.files_touched.iter().any(|file| file.sensitive);
        if flagged && !case.path_floors.iter().any(|label| label == "sensitive_file") {
            case.path_floors.push("sensitive_file".into());
        }
        case.shortened |= state.command.as_deref().is_some_and(|command| command.ends_with('…'));
        let mut facts = seen.facts;
        facts.sensitive |= flagged;
        Today { case, facts }
    }

    fn analysed(
        &self,
        deed: &Deed,
        scene: &Scene,
        agreed: Option<bool>,
    ) -> Option<(Analysis, Option<bool>)> {
        deed.analysed.as_deref().map(|command| (self.gates.command(command, scene), agreed))
    }
}

/// A decision made from a basis alone.
fn recorded(basis: &Basis, question: Option<Question>, engine: EngineKind) -> EngineRun {
    match policy::before(&basis.case, &basis.settings) {
        Before::Decided(decided) => by_policy(&decided),
        Before::Ask(floors) => {
            let mut said = basis.said.iter().map(SaidBefore::reply);
            let missing = || Reply {
                answer: Answer::Noul { answer: Noul::Unknown, p_yes: 0.5 },
                engine: EngineKind::Rules,
                fallback: Some(Fallback::Error),
                latency_ms: 0,
            };
            let mut next = || said.next().unwrap_or_else(missing);
            let replies = [next(), next(), next()];
            let decided = policy::after(&floors, &basis.settings, &replies);
            run(question, &replies, &decided, engine)
        }
    }
}

fn by_policy(decided: &Decided) -> EngineRun {
    EngineRun {
        engine: EngineKind::Rules,
        answer: policy::as_answer(decided.outcome),
        outcome: Some(decided.outcome),
        latency_ms: 0,
    }
}

/// The answer to the recorded question, or to the first where policy alone had decided.
fn run(
    question: Option<Question>,
    replies: &[Reply; 3],
    decided: &Decided,
    engine: EngineKind,
) -> EngineRun {
    let [first, ..] = replies;
    let own = Question::RISK
        .iter()
        .zip(replies)
        .find(|(own, _)| Some(**own) == question)
        .map_or(first, |(_, reply)| reply);
    EngineRun {
        engine,
        answer: own.answer.clone(),
        outcome: Some(decided.outcome),
        latency_ms: own.latency_ms,
    }
}

fn compare(basis: &Basis, settings: &Settings, active: &Active, changes: &mut Vec<String>) {
    let mode = |strict: bool| if strict { "strict" } else { "conservative" };
    if basis.settings.strict != settings.strict {
        changes.push(format!(
            "the mode was {} and is now {}",
            mode(basis.settings.strict),
            mode(settings.strict)
        ));
    }
    if basis.settings.thresholds != settings.thresholds {
        changes.push("thresholds are others now".into());
    }
    if basis.asking != active.is_asking() {
        let now = if active.is_asking() { "asked now" } else { "not asked any more" };
        changes.push(format!("the service is {now}"));
    }
    for said in &basis.said {
        if let Some(fallback) = &said.fallback {
            changes.push(format!("the service had failed then: {fallback}"));
            break;
        }
    }
}

fn phrase(case: &Case) -> String {
    let mut labels = case.path_floors.clone();
    let mut reads = case.reads_only;
    if let Some(command) = &case.command {
        labels.extend(command.denied.iter().cloned());
        labels.extend(command.floors.iter().cloned());
        reads |= command.reads_only;
    }
    let what = if reads { "a reader" } else { "no reader" };
    if labels.is_empty() { what.to_owned() } else { format!("{what} with {}", labels.join(", ")) }
}
