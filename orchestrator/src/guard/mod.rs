//! Takes a tool call, the project and the settings; asks the shell gate and the advisor.
//! Gives a ruling: a cleared call, a held call with reasons, or a refusal.
//! May import the `shellgate` library, task and advisor; the only user of the library here.
//! Never runs a call and never makes anything milder than the gate said.

mod action;
mod analysis;
mod link;
mod policy;
mod replay;
pub mod secret;
pub mod threshold;
mod words;

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use self::action::Deed;
use self::analysis::{Analysis, Gates, Scene};
pub use self::link::{Link, Named};
use self::policy::{Before, Case, CommandCase, Decided, Settings};
use self::replay::{Basis, Inputs, SaidBefore};
use self::secret::SecretNames;
use self::threshold::Thresholds;
pub use self::words::Words;
use crate::advisor::pack::Question;
use crate::advisor::rules::{self, Facts};
pub use crate::advisor::state::Surroundings;
use crate::advisor::state::{RiskBuilt, RiskContext, RiskFile, RiskInput, State};
use crate::advisor::{Active, Advisor, AskError, RecordInput, Reply, canonical, record};
use crate::task::call::{ToolCall, ToolName};
use crate::task::decision::{DecisionRecord, EngineKind, Outcome};
use crate::task::port::Trust;
use crate::task::project::{Place, Project};
use crate::task::settings::Gating;

/// What the guard asks of the repository a task works in. The look-ups may be slow; the guard asks
/// only where a call needs them.
#[async_trait]
pub trait Repository: Send + Sync {
    /// The current branch; none where it is detached, not there, or took over 5 s.
    async fn branch(&self) -> Option<String>;

    /// The branch the remote calls its default, where that is known; it is protected like `main`.
    async fn default_branch(&self) -> Option<String> {
        None
    }

    /// Whether migrations wait to be run.
    async fn has_pending_migrations(&self) -> bool {
        false
    }

    /// Where the process runs.
    fn surroundings(&self) -> Surroundings {
        Surroundings::Local
    }

    /// Those of the paths that lead elsewhere than their names say; none where it could not be found
    /// out, and then the person is asked.
    async fn links(&self, _: Vec<Named>) -> Option<Vec<Link>> {
        Some(Vec::new())
    }

    /// The text that one of the project's own commands stands for, besides itself, as it is now: the
    /// scripts of a package it runs. None where it stands for itself.
    async fn behind(&self, _: &str) -> Option<String> {
        None
    }
}

/// A repository of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRepository;

#[async_trait]
impl Repository for NoRepository {
    async fn branch(&self) -> Option<String> {
        None
    }
}

/// Judges calls. One guard serves all tasks.
pub struct Guard {
    advisor: Arc<Advisor>,
    trust: Arc<dyn Trust>,
    home: String,
    settings: RwLock<Settings>,
    gates: Gates,
}

impl Guard {
    /// A guard with the default settings. `home` is the person's home, empty when not known.
    pub fn new(advisor: Arc<Advisor>, trust: Arc<dyn Trust>, home: String) -> Self {
        Self {
            advisor,
            trust,
            home,
            settings: RwLock::new(Settings::default()),
            gates: Gates::default(),
        }
    }

    /// Takes new settings, which count from the next call on. Gives one warning per threshold that
    /// was dropped.
    pub fn configure(&self, gating: &Gating) -> Vec<String> {
        let (thresholds, warnings) = Thresholds::tightened(&gating.thresholds);
        let settings = Settings { strict: gating.strict, thresholds };
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        warnings
    }

    fn settings(&self) -> Settings {
        *self.settings.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guard of one task. An empty home of `place` is filled with the guard's own.
    pub fn open(
        self: &Arc<Self>,
        task: String,
        mut place: Place,
        project: Arc<Project>,
        repository: Arc<dyn Repository>,
    ) -> TaskGuard {
        if place.home.is_empty() {
            place.home.clone_from(&self.home);
        }
        TaskGuard {
            guard: Arc::clone(self),
            task,
            scene: Scene::of(&place, &project.sensitive_globs),
            secrets: SecretNames::new(&project.sensitive_globs),
            project,
            repository,
            default_branch: OnceCell::new(),
            remembered: Mutex::new(HashSet::new()),
        }
    }
}

/// Judges the calls of one task and remembers what the person agreed to for all of it.
pub struct TaskGuard {
    guard: Arc<Guard>,
    task: String,
    scene: Scene,
    secrets: SecretNames,
    project: Arc<Project>,
    repository: Arc<dyn Repository>,
    default_branch: OnceCell<Option<String>>,
    remembered: Mutex<HashSet<String>>,
}

/// Why a call could not be judged.
enum Fault {
    /// The guard failed.
    Broken,
    /// Nobody waits any more.
    Cancelled,
}

impl From<AskError> for Fault {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Request(_) => Self::Broken,
            AskError::Cancelled => Self::Cancelled,
        }
    }
}

/// A call, decided.
struct Ruled {
    decided: Decided,
    records: Vec<DecisionRecord>,
    paths: Vec<String>,
    /// The project's own command with what it stands for.
    own: Option<String>,
    /// Whether the gate knows that it only reads.
    is_reader: bool,
}

/// A call, looked at.
struct Seen {
    case: Case,
    facts: Facts,
    built: RiskBuilt,
    paths: Vec<String>,
}

impl TaskGuard {
    /// Judges a call. Never fails: what cannot be judged asks with `gate_error`. A call that was
    /// remembered runs where it would ask; its records say `confirm` all the same. When `cancel`
    /// fires it asks, without records.
    pub async fn judge(&self, call: ToolCall, cancel: &CancellationToken) -> Judged {
        let mut ruled = match self.rule(&call, cancel).await {
            Ok(ruled) => ruled,
            Err(fault) => self.fault(&fault),
        };
        let own = ruled.own;
        if ruled.decided.outcome == Outcome::Confirm && self.is_remembered(&call, own.as_deref()) {
            for record in &mut ruled.records {
                record.reasons.push("approved_for_task".into());
            }
            let cleared = Cleared { inner: call, is_reader: false };
            return Judged { ruling: Ruling::Run(cleared), records: ruled.records };
        }
        let Decided { outcome, reasons } = ruled.decided;
        let ruling = match outcome {
            Outcome::Auto => Ruling::Run(Cleared { inner: call, is_reader: ruled.is_reader }),
            Outcome::Confirm => Ruling::Ask(Held { call, reasons, paths: ruled.paths, own }),
            Outcome::Block => Ruling::Refuse { words: self.words(&call, &reasons), reasons },
        };
        Judged { ruling, records: ruled.records }
    }

    /// The person agreed to this call, and to the same tool with the same arguments, for the rest
    /// of the task. A command of the project whose scripts change meanwhile is another one.
    pub fn remember(&self, held: &Held) {
        let key = key(&held.call, held.own.as_deref());
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// The person agreed to this call; where it is one of the project's own commands, its text and
    /// that of the scripts it runs are trusted in this workspace from now on. Any approved call may
    /// be passed.
    pub fn trusted(&self, held: &Held) {
        if let (Some(text), Some(root)) = (&held.own, self.scene.roots.first()) {
            self.guard.trust.remember(root, text);
        }
    }

    fn words(&self, call: &ToolCall, labels: &[String]) -> Vec<Words> {
        let deed = Deed::of(call, &self.project);
        let gates = &self.guard.gates;
        let told = deed.analysed.map(|command| gates.words(&command, &self.scene));
        words::in_words(labels, &told.unwrap_or_default())
    }

    fn is_remembered(&self, call: &ToolCall, own: Option<&str>) -> bool {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.contains(&key(call, own))
    }

    async fn rule(&self, call: &ToolCall, cancel: &CancellationToken) -> Result<Ruled, Fault> {
        let settings = self.guard.settings();
        let active = self.guard.advisor.active();
        let mut deed = Deed::of(call, &self.project);
        let mut scene = self.scene.clone();
        let mut context = RiskContext {
            branch: None,
            env: self.repository.surroundings(),
            has_pending_migrations: false,
        };
        if deed.wants_branch {
            let look = async {
                scene.branch = self.repository.branch().await;
                let default = self.default_branch.get_or_init(|| self.repository.default_branch());
                scene.default_branch.clone_from(default.await);
                context.has_pending_migrations = self.repository.has_pending_migrations().await;
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Fault::Cancelled),
                () = look => {}
            }
            context.branch.clone_from(&scene.branch);
        }
        let own = match &deed.own {
            Some(text) => Some(self.whole(text, cancel).await?),
            None => None,
        };
        let gates = &self.guard.gates;
        // The library and the ports are total; if one of them were not, a person would be asked.
        let command = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let agreed = own.as_deref().map(|text| self.is_agreed(text));
            let analysed = deed.analysed.as_deref();
            analysed.map(|command| (gates.command(command, &scene), agreed))
        }))
        .map_err(|_| Fault::Broken)?;
        // git follows no link of a working tree.
        if call.tool != ToolName::GitRead
            && let Some((analysis, _)) = &command
            && !analysis.named.is_empty()
        {
            scene.links = self.links(analysis.named.clone(), cancel).await?;
        }
        let seen = std::panic::catch_unwind(AssertUnwindSafe(|| {
            see(gates, &mut deed, &scene, &self.secrets, command, context, &active)
        }))
        .map_err(|_| Fault::Broken)?;
        let is_reader = seen.case.command.as_ref().is_some_and(|command| command.reads_only);
        let state = State::Risk(seen.built.state.clone());
        let (decided, replies) = match policy::before(&seen.case, &settings) {
            Before::Decided(decided) => (decided, None),
            Before::Ask(floors) => {
                let ask = |question| active.ask(&state, question, Some(&seen.facts), &[], cancel);
                let [safe, reversible, risky] = Question::RISK;
                let replies = tokio::try_join!(ask(safe), ask(reversible), ask(risky))?;
                let replies: [Reply; 3] = replies.into();
                (policy::after(&floors, &settings, &replies), Some(replies))
            }
        };
        let is_plain = deed
            .analysed
            .as_deref()
            .is_none_or(|command| active.without_secrets(command) == command);
        let basis = Basis {
            format: replay::FORMAT,
            version: replay::version().to_owned(),
            settings,
            case: seen.case,
            facts: seen.facts,
            said: replies
                .as_ref()
                .map(|replies| replies.iter().map(SaidBefore::of).collect())
                .unwrap_or_default(),
            // What must not be told is not stored by the back door.
            inputs: (is_plain && !active.is_redacting()).then(|| Inputs {
                tool: call.tool.name().to_owned(),
                analysed: deed.analysed.clone(),
                command: deed.command.clone(),
                paths: deed.paths.clone(),
                glob: deed.glob.clone(),
                scene,
                own: deed.own.is_some(),
                unknown: deed.is_unknown,
            }),
            asking: active.is_asking(),
            redacting: active.is_redacting(),
        };
        let basis = serde_json::to_value(&basis).ok();
        let records = self.records(&state, &decided, replies, basis.as_ref());
        Ok(Ruled { decided, records, paths: seen.paths, own, is_reader })
    }

    /// A command of the project with the text it stands for.
    async fn whole(&self, own: &str, cancel: &CancellationToken) -> Result<String, Fault> {
        let behind = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Fault::Cancelled),
            behind = self.repository.behind(own) => behind,
        };
        Ok(behind.map_or_else(|| own.to_owned(), |behind| format!("{own}\n{behind}")))
    }

    async fn links(
        &self,
        named: Vec<Named>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Link>, Fault> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Fault::Cancelled),
            links = self.repository.links(named) => links.ok_or(Fault::Broken),
        }
    }

    fn is_agreed(&self, text: &str) -> bool {
        self.scene.roots.first().is_some_and(|root| self.guard.trust.is_trusted(root, text))
    }

    fn records(
        &self,
        state: &State,
        decided: &Decided,
        replies: Option<[Reply; 3]>,
        basis: Option<&Value>,
    ) -> Vec<DecisionRecord> {
        let one = |question: &str, reply: Reply| {
            record(RecordInput {
                task: Some(self.task.clone()),
                state,
                question,
                reply,
                outcome: Some(decided.outcome),
                workflow: None,
                reasons: decided.reasons.clone(),
                basis: basis.cloned(),
            })
        };
        match replies {
            Some(replies) => Question::RISK
                .into_iter()
                .zip(replies)
                .map(|(question, reply)| one(question.name(), reply))
                .collect(),
            None => vec![one(
                replay::POLICY,
                Reply {
                    answer: policy::as_answer(decided.outcome),
                    engine: EngineKind::Rules,
                    fallback: None,
                    latency_ms: 0,
                },
            )],
        }
    }

    /// The guard itself failed: the person is asked, and the record holds nothing of the call.
    fn fault(&self, fault: &Fault) -> Ruled {
        let decided = Decided { outcome: Outcome::Confirm, reasons: vec!["gate_error".to_owned()] };
        if matches!(fault, Fault::Cancelled) {
            return Ruled::without(decided, Vec::new());
        }
        let built = self.guard.advisor.active().risk_state(RiskInput {
            action: crate::advisor::state::Action::Other,
            command: None,
            edit_file_count: None,
            context: RiskContext {
                branch: None,
                env: self.repository.surroundings(),
                has_pending_migrations: false,
            },
            files: Vec::new(),
        });
        let records = self.records(&State::Risk(built.state), &decided, None, None);
        Ruled::without(decided, records)
    }
}

impl Ruled {
    /// A call of which nothing is known.
    const fn without(decided: Decided, records: Vec<DecisionRecord>) -> Self {
        Self { decided, records, paths: Vec::new(), own: None, is_reader: false }
    }
}

/// Everything that is known of a call without an engine. `command` is what the gate said of its command,
/// and for one of the project's own whether the person agreed to it.
fn see(
    gates: &Gates,
    deed: &mut Deed,
    scene: &Scene,
    secrets: &SecretNames,
    mut command: Option<(Analysis, Option<bool>)>,
    context: RiskContext,
    active: &Active,
) -> Seen {
    let mut path_floors: Vec<String> = Vec::new();
    let mut add = |label: &str| {
        if !path_floors.iter().any(|own| own == label) {
            path_floors.push(label.to_owned());
        }
    };
    let writes = deed.edit_files.is_some();
    let found: Vec<Vec<&'static str>> =
        deed.paths.iter().map(|path| gates.path(path, writes, scene, secrets)).collect();
    for label in ["outside_workspace", "sensitive_file", "inline_code"] {
        if found.iter().any(|floors| floors.contains(&label)) {
            add(label);
        }
    }
    if deed.glob.as_deref().is_some_and(|glob| gates.names_secrets(glob, scene, secrets)) {
        add("sensitive_file");
    }
    if let Some((analysis, _)) = &mut command {
        gates.follow(analysis, scene, secrets);
        deed.settle_kind(analysis.shape);
    }
    let mut paths: Vec<String> = Vec::new();
    let named = command.iter().flat_map(|(own, _)| own.paths.iter());
    for path in deed.paths.iter().chain(named) {
        if crate::advisor::state::is_workspace_path(path) && !paths.contains(path) {
            paths.push(path.clone());
        }
    }
    let files = paths
        .iter()
        .map(|path| RiskFile { path: path.clone(), sensitive: secrets.is_secret(path) })
        .collect();
    let built = active.risk_state(RiskInput {
        action: deed.action,
        command: deed.command.clone(),
        edit_file_count: deed.edit_files,
        context,
        files,
    });
    let mut facts = rules::facts(&built.state, deed.command.as_deref());
    facts.read_only = false;
    facts.sensitive |= path_floors.iter().any(|label| label == "sensitive_file");
    facts.protected_branch |= scene.branch.is_some() && scene.branch == scene.default_branch;
    if let Some((analysis, _)) = &command {
        let reads_only = analysis.facts.read_only;
        facts = facts.join(analysis.facts);
        facts.read_only = reads_only;
    }
    let case = Case {
        reads_only: deed.reads_only,
        path_floors,
        edit_files: deed.edit_files,
        shortened: built.shortened,
        command: if deed.is_unknown {
            Some(CommandCase::default())
        } else {
            command.map(|(own, agreed)| CommandCase {
                denied: own.denied,
                floors: own.floors,
                reads_only: own.reads_only,
                agreed,
            })
        },
    };
    Seen { case, facts, built, paths }
}

/// Tool and arguments as one text: keys sorted, order of lists and kinds of values kept. With it what a
/// command of the project stands for.
fn key(call: &ToolCall, own: Option<&str>) -> String {
    let args = canonical::text(&Value::Object(call.args.clone()));
    format!("{} {args} {}", call.tool.name(), own.unwrap_or_default())
}

/// A thing that may be run. Only this room makes one, and a tool takes nothing else; the compiler holds
/// both. A cleared call runs:
///
/// ```
/// use shellgate_orchestrator::guard::Cleared;
/// use shellgate_orchestrator::task::call::ToolCall;
/// use shellgate_orchestrator::tool::Toolbox;
/// use tokio_util::sync::CancellationToken;
///
/// async fn run(tools: &Toolbox, call: Cleared<ToolCall>, cancel: &CancellationToken) {
///     tools.run(call, cancel).await;
/// }
/// ```
///
/// A bare one does not:
///
/// ```compile_fail,E0308
/// use shellgate_orchestrator::task::call::ToolCall;
/// use shellgate_orchestrator::tool::Toolbox;
/// use tokio_util::sync::CancellationToken;
///
/// async fn run(tools: &Toolbox, call: ToolCall, cancel: &CancellationToken) {
///     tools.run(call, cancel).await;
/// }
/// ```
///
/// Nobody else can clear it, nor one that a person is still asked about:
///
/// ```compile_fail,E0451
/// use shellgate_orchestrator::guard::Cleared;
/// use shellgate_orchestrator::task::call::ToolCall;
///
/// fn clear(call: ToolCall) -> Cleared<ToolCall> {
///     Cleared { inner: call, is_reader: true }
/// }
/// ```
///
/// ```compile_fail,E0308
/// use shellgate_orchestrator::guard::{Cleared, Held};
/// use shellgate_orchestrator::task::call::ToolCall;
///
/// fn clear(held: Held) -> Cleared<ToolCall> {
///     held
/// }
/// ```
///
/// ```compile_fail,E0599
/// use shellgate_orchestrator::guard::Cleared;
/// use shellgate_orchestrator::task::call::ToolCall;
///
/// fn clear(cleared: &Cleared<ToolCall>) -> Cleared<ToolCall> {
///     // What was cleared once is not cleared for a second run.
///     Cleared::clone(cleared)
/// }
/// ```
#[derive(Debug)]
pub struct Cleared<T> {
    inner: T,
    is_reader: bool,
}

impl<T> Cleared<T> {
    /// What was cleared.
    pub const fn get(&self) -> &T {
        &self.inner
    }

    /// Whether it runs unasked because the gate knows that it only reads. Whoever runs it keeps what
    /// the gate cannot see, as a repository's settings, from making it more than that.
    pub const fn is_reader(&self) -> bool {
        self.is_reader
    }

    /// What was cleared, used up.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// Cleared by a test.
    #[cfg(test)]
    pub(crate) const fn by_test(inner: T) -> Self {
        Self { inner, is_reader: false }
    }

    /// Cleared by a test, as what only reads.
    #[cfg(test)]
    pub(crate) const fn reader_by_test(inner: T) -> Self {
        Self { inner, is_reader: true }
    }
}

/// What the guard says of one call, and the records that say why.
#[derive(Debug)]
pub struct Judged {
    /// The ruling.
    pub ruling: Ruling,
    /// One record for policy alone, three for the engine's questions; not yet stored.
    pub records: Vec<DecisionRecord>,
}

/// What may happen to a call.
#[derive(Debug)]
pub enum Ruling {
    /// It runs unasked.
    Run(Cleared<ToolCall>),
    /// A person is asked.
    Ask(Held),
    /// It does not run.
    Refuse {
        /// Labels, at least one.
        reasons: Vec<String>,
        /// The same in words, one for each label.
        words: Vec<Words>,
    },
}

/// A call that waits for a person.
#[derive(Debug)]
pub struct Held {
    call: ToolCall,
    /// Labels, may be empty.
    pub reasons: Vec<String>,
    /// Workspace-relative paths it touches, without repetition.
    pub paths: Vec<String>,
    /// The project's own command with what it stands for.
    own: Option<String>,
}

impl Held {
    /// The call.
    pub const fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The person agreed.
    pub fn approve(self) -> Cleared<ToolCall> {
        Cleared { inner: self.call, is_reader: false }
    }
}
