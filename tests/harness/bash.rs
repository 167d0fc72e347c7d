//! bash, and other shells, as the judge: runs a candidate in an empty sandbox and says what it tried to
//! start and write.
//!
//! Takes a command text. Gives the argv of every program that was tried and every file that was
//! opened for writing. Nothing a candidate does can reach the machine: it sees a root of its own in
//! memory, no network, no other process, no environment, and programs that do nothing. Where that
//! cannot be built, [`Sandbox::open`] refuses; there is no other way to run a candidate.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use shellgate::Gate;
use shellgate::model::context::Shell;

use crate::strace;

/// Programs that are real inside; pure text tools and launchers. All others do nothing.
const REAL: &[&str] = &[
    "bash", "dash", "zsh", "busybox", "cat", "head", "tail", "cut", "tr", "rev", "base64", "xxd",
    "seq", "sort", "uniq", "wc", "env", "xargs", "nohup", "timeout", "nice", "setsid", "stdbuf",
    "find", "sed", "awk", "tee", "true", "false", "test", "expr", "echo", "printf", "mktemp",
    "basename", "dirname",
];

/// Names that do nothing, beside those of the catalog.
const STUBS: &[&str] = &["p", "q", "w", "ls", "rm", "mv", "cp", "git", "curl", "touch", "mkdir"];

/// Files with some content, so that patterns have matches.
const FILES: &[(&str, &str)] = &[
    ("/srv/app/a.txt", "alpha\nbeta gamma\n"),
    ("/srv/app/b.txt", "one\n"),
    ("/srv/app/with blank", "x\n"),
    ("/srv/app/-n", "dash\n"),
    ("/srv/app/src/main.c", "int main(void) { return 0; }\n"),
    ("/srv/app/list", "a.txt\nb.txt\n'q r'\n"),
    ("/home/dev/.profile", "x=1\n"),
    (
        "/etc/passwd",
        "root:x:0:0::/root:/bin/sh\ndev:x:1000:1000::/home/dev:/bin/sh\nx:x:1:1::/home/x:/bin/sh\n\
      nobody:x:2:2::/home/nobody:/bin/sh\n",
    ),
];

/// Variables that are set inside and that the gate is not told of.
const OUTSIDE: &[(&str, &str)] = &[
    ("DIR", "x y"),
    ("TARGET", "*"),
    ("FLAG", "-rf"),
    ("EMPTY", ""),
    ("NAME", "a'b\"c"),
    ("ROOT", "/"),
    ("USER", "dev"),
    ("LOGNAME", "dev"),
];

/// How long a candidate may take.
const TIME: &str = "2";
/// When the whole sandbox is ended from outside, should the clock inside fail.
const LAST_TIME: Duration = Duration::from_secs(20);
/// Bytes of a record of system calls that are read; the rest is left out.
const RECORD_BYTES: u64 = 4 << 20;
/// Bytes of output that are read where output is wanted.
const OUTPUT_BYTES: u64 = 8 << 20;
/// The account a candidate runs as when the suite runs as root; it needs no entry anywhere.
const ACCOUNT: u32 = 64_999;

/// Why there is no sandbox.
#[derive(Debug)]
pub struct SandboxError(String);

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no sandbox for bash: {}", self.0)
    }
}

impl std::error::Error for SandboxError {}

impl From<io::Error> for SandboxError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// What bash did with a candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Programs that were tried, in order, each once per try.
    pub started: Vec<Started>,
    /// Absolute paths that were opened for writing, created or truncated, or tried; sorted.
    pub written: BTreeSet<String>,
    /// Whether it was ended because it took too long.
    pub late: bool,
}

/// A program that was tried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Started {
    /// The path that was tried; for a program that bash could not find, its name.
    pub path: String,
    /// Its words, the name first. A byte that belongs to no character is U+F700 + byte.
    pub argv: Vec<String>,
}

/// An empty place to run candidates in. Dropping it removes its files.
#[derive(Debug)]
pub struct Sandbox {
    root: PathBuf,
    inside: Vec<OsString>,
    /// The shells that are real inside.
    shells: BTreeSet<Shell>,
    as_root: bool,
    count: AtomicU32,
}

impl Sandbox {
    /// Builds the sandbox and proves that it holds.
    ///
    /// # Errors
    ///
    /// When a program is missing, when the kernel refuses, or when a proof fails.
    pub fn open() -> Result<Self, SandboxError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("shellgate-oracle-{}-{number}", std::process::id()));
        fs::create_dir(&root)?;
        let mut sandbox = Self {
            as_root: fs::metadata("/proc/self")?.uid() == 0,
            inside: Vec::new(),
            shells: BTreeSet::new(),
            count: AtomicU32::new(0),
            root,
        };
        sandbox.furnish()?;
        sandbox.prove()?;
        Ok(sandbox)
    }

    /// Runs a candidate as `bash -c COMMAND`.
    ///
    /// # Errors
    ///
    /// When the sandbox cannot be started any more, or when it was not bash that ran first.
    pub fn run(&self, command: &str) -> Result<Observed, SandboxError> {
        self.run_under(Shell::Bash, command)
    }

    /// Whether this shell is there. bash always is.
    pub fn has(&self, shell: Shell) -> bool {
        self.shells.contains(&program_of(shell))
    }

    /// Runs a candidate under a shell, `sh` inside being the same one where it is one of those that are
    /// called `sh`. What dash and ash do not find is not seen, since they try nothing then; every
    /// program the gate knows is there.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and when the shell is not there.
    pub fn run_under(&self, shell: Shell, command: &str) -> Result<Observed, SandboxError> {
        if !self.has(shell) {
            return Err(SandboxError(format!("`{}` is not installed", shell.name())));
        }
        match program_of(shell) {
            Shell::Dash => self.run_as(&["dash", "-c", command], Some("dash")),
            Shell::Ash => self.run_as(&["busybox", "ash", "-c", command], Some("busybox")),
            Shell::Zsh => self.run_as(&["zsh", "-c", command], None),
            _ => self.run_as(&["bash", "-c", command], None),
        }
    }

    fn run_as(&self, argv: &[&str], sh: Option<&str>) -> Result<Observed, SandboxError> {
        // On a machine that is busy elsewhere a start may fail; it is the start that is repeated, and
        // nothing of the candidate has run then.
        let mut tries = 0;
        loop {
            match self.try_run(argv, sh) {
                Err(_) if tries < 3 => tries += 1,
                other => return other,
            }
        }
    }

    fn try_run(&self, argv: &[&str], sh: Option<&str>) -> Result<Observed, SandboxError> {
        if argv.iter().any(|word| word.contains('\0')) {
            return Ok(Observed::default());
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let record = self.root.join("records").join(number.to_string());
        let mut command = self.outer("strace");
        command.args([
            "-f",
            "--seccomp-bpf",
            "-qqq",
            "-v",
            "-y",
            "-s",
            "65535",
            "-e",
            "signal=none",
        ]);
        command.args(["-e", strace::CALLS, "-o"]).arg(&record);
        command.arg("bwrap").args(self.named_sh(sh)).args(argv);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        let late =
            wait(&mut command.spawn()?, LAST_TIME)? || begin.elapsed() > Duration::from_secs(2);
        let mut bytes = Vec::new();
        fs::File::open(&record)?.take(RECORD_BYTES).read_to_end(&mut bytes)?;
        fs::remove_file(&record)?;
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let mut observed = strace::read(&bytes, &argv)
            .ok_or_else(|| SandboxError("the candidate was never started".into()))?;
        observed.late = late;
        Ok(observed)
    }

    /// What bash prints for each text with `--pretty-print`, which reads and does not run; none
    /// where bash rejects the text. It happens inside, too.
    ///
    /// # Errors
    ///
    /// When the sandbox cannot be started any more.
    pub fn pretty(&self, texts: &[String]) -> Result<Vec<Option<String>>, SandboxError> {
        let chunks: Vec<&[String]> = texts.chunks(100).collect();
        let next = AtomicUsize::new(0);
        let done = Mutex::new(BTreeMap::new());
        let workers = thread::available_parallelism().map_or(2, usize::from).clamp(1, 8);
        thread::scope(|scope| {
            for _ in 0..workers.min(chunks.len()) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(chunk) = chunks.get(at) else { return };
                        let printed = self.pretty_chunk(chunk);
                        if let Ok(mut done) = done.lock() {
                            done.insert(at, printed);
                        }
                    }
                });
            }
        });
        let mut out = Vec::new();
        for printed in done.into_inner().unwrap_or_default().into_values() {
            out.extend(printed?);
        }
        Ok(out)
    }

    fn pretty_chunk(&self, texts: &[String]) -> Result<Vec<Option<String>>, SandboxError> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let folder = self.root.join("records").join(format!("texts-{number}"));
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        for (index, text) in texts.iter().enumerate() {
            fs::write(folder.join(index.to_string()), encode(text))?;
        }
        // Without a status of its own a text that bash stops reading half way would look short.
        let script = "cd /texts; i=0; while [ $i -lt $1 ]; do \
            (ulimit -t 2; exec bash --norc --pretty-print -O extglob ./$i 2>/dev/null); printf '\\0%s\\0' $?; i=$((i+1)); done";
        let mut command = self.outer("bwrap");
        command.args(self.bind(&folder, "/texts"));
        command.args(["bash", "-c", script, "judge", &texts.len().to_string()]);
        let (output, late) = capture(&mut command, Duration::from_secs(120))?;
        fs::remove_dir_all(&folder)?;
        if late {
            return Err(SandboxError("printing took too long".into()));
        }
        let parts: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
        let (pairs, _) = parts.as_chunks::<2>();
        if pairs.len() != texts.len() {
            return Err(SandboxError("the printer lost a text".into()));
        }
        Ok(pairs.iter().map(|[text, status]| (*status == b"0").then(|| decode(text))).collect())
    }

    /// Whether bash accepts each text (`bash -n`), which reads and does not run.
    ///
    /// # Errors
    ///
    /// When the sandbox cannot be started any more.
    pub fn accepts(&self, texts: &[String]) -> Result<Vec<bool>, SandboxError> {
        Ok(self.pretty(texts)?.into_iter().map(|text| text.is_some()).collect())
    }

    /// What starts `program`, outside: an account without rights and without groups, an empty
    /// environment.
    fn outer(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if self.as_root {
            // Where the one who starts it is root, this leaves all other groups, too.
            command.uid(ACCOUNT).gid(ACCOUNT);
        }
        command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin").current_dir("/");
        command
    }

    /// The inside with another program as `sh`.
    fn named_sh(&self, sh: Option<&str>) -> Vec<OsString> {
        let mut out = self.inside.clone();
        let at = out.iter().position(|word| word == "--chdir").unwrap_or_default();
        for name in
            sh.into_iter().flat_map(|program| ["/usr/bin/sh", "/bin/sh"].map(|n| (program, n)))
        {
            let from = self.root.join("bin").join(name.0);
            out.splice(at..at, ["--ro-bind".into(), from.into(), name.1.into()]);
        }
        out
    }

    /// The inside with one more folder, without the limits of a candidate: for what only reads.
    fn bind(&self, from: &Path, to: &str) -> Vec<OsString> {
        let split = self.inside.iter().position(|word| word == "--chdir").unwrap_or_default();
        let mut out = self.inside.get(..split).unwrap_or_default().to_vec();
        out.extend(["--ro-bind".into(), from.into(), to.into()]);
        out.extend(["--chdir".into(), "/".into()]);
        out
    }

    fn furnish(&mut self) -> Result<(), SandboxError> {
        let programs = self.root.join("bin");
        let own = self.root.join("own");
        let files = self.root.join("files");
        for folder in [&programs, &own, &files, &self.root.join("records")] {
            fs::create_dir(folder)?;
        }
        let mut needed = BTreeSet::new();
        for name in REAL {
            match find(name) {
                Some(path) => {
                    copy(&path, &programs.join(name), &mut needed)?;
                    let program = if *name == "busybox" { "ash" } else { *name };
                    self.shells.extend(Shell::from_name(program));
                }
                None if *name == "bash" => {
                    return Err(SandboxError("`bash` is not installed".into()));
                }
                None => stub(&programs.join(name))?,
            }
        }
        fs::copy(programs.join("bash"), programs.join("sh"))?;
        let limit =
            find("prlimit").ok_or_else(|| SandboxError("`prlimit` is not installed".into()))?;
        copy(&limit, &own.join("prlimit"), &mut needed)?;
        let clock =
            find("timeout").ok_or_else(|| SandboxError("`timeout` is not installed".into()))?;
        copy(&clock, &own.join("timeout"), &mut needed)?;
        let nothing = find("true").ok_or_else(|| SandboxError("`true` is not installed".into()))?;
        copy(&nothing, &own.join("nothing"), &mut needed)?;
        stub(&own.join("missing"))?;
        fs::write(
            own.join("env"),
            "command_not_found_handle() { /.own/missing \"$@\"; return 127; }\n",
        )?;
        fs::write(
            own.join(".zshenv"),
            "command_not_found_handler() { /.own/missing \"$@\"; return 127; }\n",
        )?;
        let catalog = Gate::builtin().catalog();
        for name in STUBS.iter().copied().chain(catalog.names()) {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-[".contains(&byte);
            let path = programs.join(name);
            if name.bytes().all(plain) && !name.starts_with('.') && !path.exists() {
                stub(&path)?;
            }
        }
        let mut mounts: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| mounts.extend(words.iter().map(OsString::from));
        add(&[
            "--unshare-user",
            "--disable-userns",
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-net",
        ]);
        add(&["--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session"]);
        add(&["--clearenv", "--size", "8388608", "--tmpfs", "/"]);
        for folder in
            ["/tmp", "/etc", "/srv/app/src", "/srv/app/build", "/home/dev", "/root", "/var/log"]
        {
            add(&["--dir", folder]);
        }
        add(&["--proc", "/proc"]);
        for device in ["null", "zero", "full", "random", "urandom"] {
            let path = format!("/dev/{device}");
            add(&["--dev-bind", &path, &path]);
        }
        for (name, target) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
        ] {
            add(&["--symlink", target, name]);
        }
        if Path::new("/etc/ld.so.cache").exists() {
            add(&["--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache"]);
        }
        if Path::new("/usr/lib/locale/C.utf8").exists() {
            add(&["--ro-bind", "/usr/lib/locale/C.utf8", "/usr/lib/locale/C.utf8"]);
        }
        // zsh has its builtins in modules.
        for library in fs::read_dir("/usr/lib")?.flatten() {
            let modules = library.path().join("zsh").to_string_lossy().into_owned();
            if Path::new(&modules).is_dir() {
                add(&["--ro-bind", &modules, &modules]);
            }
        }
        for library in &needed {
            add(&["--ro-bind", library, library]);
        }
        for (index, (path, content)) in FILES.iter().enumerate() {
            let file = files.join(index.to_string());
            fs::write(&file, content)?;
            let file = file.to_string_lossy().into_owned();
            add(&["--ro-bind", &file, path]);
        }
        for folder in ["/usr/bin", "/bin", "/sbin", "/usr/sbin", "/usr/local/bin"] {
            add(&["--ro-bind", &programs.to_string_lossy(), folder]);
        }
        add(&["--ro-bind", &own.to_string_lossy(), "/.own"]);
        for (name, value) in OUTSIDE.iter().copied().chain([
            ("HOME", "/home/dev"),
            ("PATH", "/usr/bin"),
            ("BASH_ENV", "/.own/env"),
            ("ZDOTDIR", "/.own"),
            ("LC_ALL", "C.UTF-8"),
        ]) {
            add(&["--setenv", name, value]);
        }
        add(&["--chdir", "/srv/app", "/.own/prlimit", "--nproc=40", "--fsize=1048576", "--cpu=2"]);
        add(&["--as=268435456", "--core=0", "--nofile=64", "--"]);
        // The clock inside ends what takes too long, and the namespace of processes ends with it.
        add(&["/.own/timeout", "--foreground", "--signal=KILL", TIME]);
        self.inside = mounts;
        open_up(&self.root)?;
        fs::set_permissions(self.root.join("records"), fs::Permissions::from_mode(0o777))?;
        Ok(())
    }

    /// Shows that nothing inside can reach out, and that what never ends is ended.
    fn prove(&self) -> Result<(), SandboxError> {
        let canary = self.root.join("canary");
        fs::write(&canary, "alive")?;
        fs::set_permissions(&canary, fs::Permissions::from_mode(0o666))?;
        let script = "while read -r _ _ _ _ at _ _ kind _; do [[ $at == / ]] && echo root:${kind}; done </proc/self/mountinfo
            [[ -e $1 || -e $2 || -e /usr/share || -e /var/lib ]] && echo seen
            echo x 2>/dev/null >$1; echo x 2>/dev/null >/usr/bin/bash
            while IFS=: read -r card _; do [[ $card == *\\|* ]] || echo net:${card// }; done </proc/net/dev
            (echo >/dev/tcp/1.1.1.1/53) 2>/dev/null && echo connected
            read -r _ outer _ </proc/self/uid_map; echo uid:$outer
            for own in /proc/[0-9]*; do echo pid; done
            while read -r key value; do case $key in Groups:|NoNewPrivs:) echo \"$key$value\";; esac; done </proc/self/status
            while IFS== read -r name _; do echo env:$name; done < <(env)";
        let mut command = self.outer("bwrap");
        command.args(&self.inside).args(["bash", "-c", script, "proof"]);
        command.arg(&canary).arg(env!("CARGO_MANIFEST_DIR"));
        command.stderr(Stdio::piped());
        let (output, late) = capture(&mut command, Duration::from_secs(10))?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let fail = |why: &str| Err(SandboxError(format!("{why}: {}", text.trim())));
        if late || lines.is_empty() {
            return fail("bubblewrap (Debian package `bubblewrap`) cannot start one here");
        }
        if lines.iter().filter(|line| line.starts_with("root:")).any(|line| *line != "root:tmpfs")
            || !lines.contains(&"root:tmpfs")
        {
            return fail("its root is not in memory");
        }
        if lines.contains(&"seen") || fs::read_to_string(&canary)? != "alive" {
            return fail("files of the machine are in reach");
        }
        if lines.iter().any(|line| line.starts_with("net:") && *line != "net:lo")
            || lines.contains(&"connected")
        {
            return fail("the network is in reach");
        }
        if lines.contains(&"uid:0") || !lines.iter().any(|line| line.starts_with("uid:")) {
            return fail("it runs as root");
        }
        if !lines.contains(&"NoNewPrivs:1") || (self.as_root && !lines.contains(&"Groups:")) {
            return fail("it keeps rights of the one who runs the suite");
        }
        if lines.iter().filter(|line| **line == "pid").count() > 6 {
            return fail("other processes are in reach");
        }
        let known: BTreeSet<&str> = OUTSIDE
            .iter()
            .map(|(name, _)| *name)
            .chain([
                "HOME", "PATH", "BASH_ENV", "ZDOTDIR", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_",
                "is",
            ])
            .collect();
        let mut names = lines.iter().filter_map(|line| line.strip_prefix("env:"));
        if let Some(name) = names.find(|name| !known.contains(name)) {
            return fail(&format!("the environment has `{name}`"));
        }
        let seen = self.run("rm -rf / & nohup q 'a b' >log; wait")?;
        let wanted = ["rm -rf /", "nohup q a b", "q a b"];
        let said: Vec<String> = seen.started.iter().map(|own| own.argv.join(" ")).collect();
        if !wanted.iter().all(|want| said.iter().any(|line| line == want))
            || !seen.written.contains("/srv/app/log")
        {
            return fail(&format!("strace does not see what runs ({said:?}, {:?})", seen.written));
        }
        let begin = Instant::now();
        self.run(":(){ :|:& };:")?;
        let bomb = self.run("f(){ f|f; }; f")?;
        if begin.elapsed() > LAST_TIME * 2 {
            return fail("a fork bomb does not end");
        }
        let after = self.run("q after")?;
        if !after.started.iter().any(|own| own.argv == ["q", "after"]) {
            return fail(&format!("nothing runs after a fork bomb (late {})", bomb.late));
        }
        Ok(())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Only files under a folder of our own go; what cannot be removed stays for the system.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The shell whose program runs a text for this one.
const fn program_of(shell: Shell) -> Shell {
    match shell {
        Shell::Unknown | Shell::Bash => Shell::Bash,
        Shell::Sh | Shell::Dash => Shell::Dash,
        Shell::Ash => Shell::Ash,
        Shell::Zsh => Shell::Zsh,
    }
}

/// UTF-8 as it is, every other byte as the character U+F700 + byte.
pub fn decode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.extend(char::from_u32(0xF700 + u32::from(*byte)));
        }
    }
    out
}

/// The mirror of [`decode`].
pub fn encode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for character in text.chars() {
        match u8::try_from(u32::from(character).wrapping_sub(0xF700)) {
            Ok(byte) if byte >= 0x80 => out.push(byte),
            _ => out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    out
}

fn find(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
}

/// A program that does nothing and prints nothing, whatever its arguments.
fn stub(path: &Path) -> io::Result<()> {
    fs::write(path, "#!/.own/nothing\n")?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Copies a program and notes the libraries it loads.
fn copy(from: &Path, to: &Path, needed: &mut BTreeSet<String>) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    let listed = Command::new("ldd").arg(from).stderr(Stdio::null()).output()?;
    let words = String::from_utf8_lossy(&listed.stdout).into_owned();
    needed.extend(words.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned));
    for helper in ["/usr/libexec/coreutils/libstdbuf.so", "/usr/lib/coreutils/libstdbuf.so"] {
        if from.ends_with("stdbuf") && Path::new(helper).exists() {
            needed.insert(helper.to_owned());
        }
    }
    Ok(())
}

fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

/// Waits; true where it had to be ended.
fn wait(child: &mut Child, time: Duration) -> io::Result<bool> {
    let begin = Instant::now();
    loop {
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        if begin.elapsed() > time {
            child.kill()?;
            child.wait()?;
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs and reads what it prints, errors included where they are piped.
fn capture(command: &mut Command, time: Duration) -> io::Result<(Vec<u8>, bool)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut pipes: Vec<Box<dyn Read + Send>> = Vec::new();
    pipes.extend(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    pipes.extend(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let readers: Vec<_> = pipes
        .into_iter()
        .map(|pipe| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.take(OUTPUT_BYTES).read_to_end(&mut bytes);
                bytes
            })
        })
        .collect();
    let late = wait(&mut child, time)?;
    let output = readers.into_iter().flat_map(|reader| reader.join().unwrap_or_default()).collect();
    Ok((output, late))
}

/// Counts per name, for summaries.
pub type Counts = BTreeMap<String, usize>;

/// Writes a line and does not mind when nobody reads it.
pub fn say(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}
