//! Confines a command by landlock and seccomp, so that the kernel keeps it from writing and from the network.
//!
//! Reading stays possible everywhere. Writing is possible beneath the roots (unless read-only), in a private
//! folder for temporary files, and to harmless devices. Sockets to other machines cannot be made, nor can
//! local ones be connected, since a daemon behind one would do what the command may not. Landlock does not
//! know permission bits, owners and times: read-only refuses to change them by seccomp, workspace-write
//! lets them be changed wherever the person may.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use serde::{Deserialize, Serialize};

/// How children are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sandbox {
    /// Not at all.
    #[default]
    Off,
    /// Writes only beneath the workspace roots; no network.
    WorkspaceWrite,
    /// Writes nothing; no network.
    ReadOnly,
}

impl Sandbox {
    /// Its word on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceWrite => "workspace-write",
            Self::ReadOnly => "read-only",
        }
    }

    /// The sandbox of that word.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::WorkspaceWrite, Self::ReadOnly].into_iter().find(|one| one.name() == name)
    }

    /// What a model and a person are told of a command that ran in it; none when it is off.
    pub const fn notice(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::WorkspaceWrite => {
                Some("[sandbox: workspace-write; writes only inside the workspace, no network]")
            }
            Self::ReadOnly => Some("[sandbox: read-only; no writes, no network]"),
        }
    }
}

/// The first landlock version that controls truncation; with less, files could be emptied anywhere.
const NEEDED: ABI = ABI::V3;

/// Devices a confined command may write.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// A private folder for temporary files, deleted on drop.
#[derive(Debug)]
pub(super) struct Temporary(PathBuf);

impl Temporary {
    /// Makes one that only the person can enter.
    pub(super) fn new() -> Result<Self, String> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path =
            std::env::temp_dir().join(format!("shellgate-{}", uuid::Uuid::new_v4().simple()));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| format!("no folder for temporary files could be made: {error}"))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be deleted stays; it harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Confines the calling thread and all it starts from now on. Nothing is confined when it fails.
///
/// # Errors
///
/// When the kernel cannot do all of it.
pub(super) fn confine(sandbox: Sandbox, roots: &[String], temporary: &Path) -> Result<(), String> {
    if sandbox == Sandbox::Off {
        return Ok(());
    }
    let missing = |cause: &dyn std::fmt::Display| {
        format!(
            "the sandbox `{}` is not available here, so the command was not run: {cause}; \
             start the service with `--sandbox off` to run commands without one",
            sandbox.name()
        )
    };
    let filter = filter(sandbox).map_err(|error| missing(&error))?;
    landlock(sandbox, roots, temporary).map_err(|error| missing(&error))?;
    seccompiler::apply_filter(&filter).map_err(|error| missing(&error))
}

fn landlock(sandbox: Sandbox, roots: &[String], temporary: &Path) -> Result<(), String> {
    let text = |error: landlock::RulesetError| format!("landlock: {error}");
    let all: BitFlags<AccessFs> = AccessFs::from_all(NEEDED);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)
        .map_err(text)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)
        .map_err(text)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)
        .map_err(text)?
        .create()
        .map_err(text)?
        .set_compatibility(CompatLevel::BestEffort);
    let open = |path: &Path| PathFd::new(path).map_err(|error| format!("landlock: {error}"));
    rules = rules
        .add_rule(PathBeneath::new(open(Path::new("/"))?, AccessFs::from_read(NEEDED)))
        .map_err(text)?;
    rules = rules.add_rule(PathBeneath::new(open(temporary)?, all)).map_err(text)?;
    if sandbox == Sandbox::WorkspaceWrite {
        for root in roots {
            rules = rules.add_rule(PathBeneath::new(open(Path::new(root))?, all)).map_err(text)?;
        }
    }
    for device in DEVICES {
        // A container may lack one.
        let Ok(handle) = PathFd::new(device) else { continue };
        let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        rules = rules.add_rule(PathBeneath::new(handle, access)).map_err(text)?;
    }
    let status = rules.restrict_self().map_err(text)?;
    if matches!(status.ruleset, RulesetStatus::NotEnforced) || !status.no_new_privs {
        return Err("landlock: the kernel does not enforce it".to_owned());
    }
    Ok(())
}

/// System calls no confined command makes: they reach other machines, other processes or the system itself,
/// or go around the filter.
const NEVER: &[i64] = &[
    libc::SYS_connect,
    libc::SYS_io_uring_setup,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_quotactl,
];

/// System calls that change permission bits, owners, times or attributes.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// The same number on every architecture (Linux 6.6).
const FCHMODAT2: i64 = 452;

/// Older forms of the calls above, which newer architectures lack.
#[cfg(target_arch = "x86_64")]
const OLD_ATTRIBUTES: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_ATTRIBUTES: &[i64] = &[];

/// The bit of a call under the x32 interface, which a filter for `x86_64` sees too.
#[cfg(target_arch = "x86_64")]
const OTHER_INTERFACE: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_INTERFACE: Option<i64> = None;

fn filter(sandbox: Sandbox) -> Result<BpfProgram, String> {
    let text = |error: seccompiler::BackendError| format!("seccomp: {error}");
    let condition = |index, operator, value| {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value).map_err(text)
    };
    let wide =
        SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0).map_err(text)?;
    let local = u64::from(libc::AF_UNIX.unsigned_abs());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in NEVER {
        rules.insert(*call, Vec::new());
    }
    if sandbox == Sandbox::ReadOnly {
        for call in ATTRIBUTES.iter().chain(OLD_ATTRIBUTES) {
            rules.insert(*call, Vec::new());
        }
    }
    let foreign = SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, local)?]).map_err(text)?;
    rules.insert(libc::SYS_socket, vec![foreign]);
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![wide]).map_err(text)?]);
    if let Some(bit) = OTHER_INTERFACE {
        // Nothing uses it; whole calls are refused, whatever their arguments.
        let others: Vec<i64> = rules.keys().map(|call| call | bit).collect();
        rules.extend(others.into_iter().map(|call| (call, Vec::new())));
    }
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(text)?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)
        .and_then(BpfProgram::try_from)
        .map_err(text)
}
