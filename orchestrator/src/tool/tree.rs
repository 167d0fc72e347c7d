//! The processes below this one, and how to be rid of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

/// One line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    parent: i32,
    group: i32,
    session: i32,
    is_dead: bool,
}

/// Kills every living descendant of this process once, whole groups at a time; gives how many there were.
pub(super) fn kill_descendants() -> usize {
    let own = rustix::process::getpid().as_raw_pid();
    kill_below(&[own], &table())
}

/// Kills and reaps all descendants of this process until none is left; gives how many still were when the
/// time was over.
pub(super) fn sweep(limit: Duration) -> usize {
    let end = Instant::now() + limit;
    let mut rounds = 0_u32;
    loop {
        match reap() {
            Reaped::None => return 0,
            Reaped::Some => {}
        }
        let left = kill_descendants();
        if Instant::now() >= end {
            return left;
        }
        // Something that forks faster than it can be listed is met by trying as fast as possible at first.
        rounds = rounds.saturating_add(1);
        if rounds > 20 || left == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

enum Reaped {
    /// No child is left.
    None,
    /// Children are left.
    Some,
}

fn reap() -> Reaped {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Reaped::Some,
            Err(_) => return Reaped::None,
        }
    }
}

/// Kills orphans this process adopted, with all their descendants, and reaps them. An orphan is a child that
/// is not among `known` and belongs to another session than this process: launchers lead sessions of their
/// own, nobody else's children here do. Gives how many were left when the time was over.
pub(super) fn kill_orphans(known: &BTreeSet<i32>, limit: Duration) -> usize {
    let end = Instant::now() + limit;
    let own = rustix::process::getpid().as_raw_pid();
    loop {
        let table = table();
        let session = table.get(&own).map(|entry| entry.session);
        let orphans: Vec<i32> = table
            .iter()
            .filter(|(pid, entry)| {
                entry.parent == own && Some(entry.session) != session && !known.contains(pid)
            })
            .map(|(pid, _)| *pid)
            .collect();
        if orphans.is_empty() || session.is_none() || Instant::now() >= end {
            return orphans.len();
        }
        kill_below(&orphans, &table);
        for orphan in &orphans {
            kill(*orphan);
            if let Some(pid) = Pid::from_raw(*orphan) {
                // It may need a moment to die; the next round reaps it.
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn kill_below(tops: &[i32], table: &BTreeMap<i32, Entry>) -> usize {
    let own_group = rustix::process::getpgrp().as_raw_pid();
    let found = descendants(tops, table);
    let living: Vec<(i32, Entry)> = found
        .into_iter()
        .filter_map(|pid| table.get(&pid).map(|entry| (pid, *entry)))
        .filter(|(_, entry)| !entry.is_dead)
        .collect();
    let groups: BTreeSet<i32> =
        living.iter().map(|(_, entry)| entry.group).filter(|group| *group != own_group).collect();
    // A group dies as one, so nobody in it can fork in between.
    for group in groups {
        if let Some(group) = Pid::from_raw(group) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
    for (pid, _) in &living {
        kill(*pid);
    }
    living.len()
}

fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may be gone already.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// All processes below some, the given ones left out.
fn descendants(tops: &[i32], table: &BTreeMap<i32, Entry>) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, entry) in table {
        children.entry(entry.parent).or_default().push(*pid);
    }
    let mut found = BTreeSet::new();
    let mut open = tops.to_vec();
    while let Some(pid) = open.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                open.push(*child);
            }
        }
    }
    found
}

/// The process table; empty where it cannot be read.
fn table() -> BTreeMap<i32, Entry> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parse(&stat)?))
        })
        .collect()
}

/// Reads a line of `/proc/PID/stat` (`proc_pid_stat(5)`); the name may hold anything, parentheses included.
fn parse(stat: &[u8]) -> Option<Entry> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    let mut number = || fields.next()?.parse::<i32>().ok();
    Some(Entry { parent: number()?, group: number()?, session: number()?, is_dead })
}

#[cfg(test)]
mod tests {
    use super::{Entry, descendants, parse};
    use std::collections::BTreeMap;

    #[test]
    fn a_name_may_hold_parentheses() {
        let entry = parse(b"12 (a) R 1 (b) S 7 8 9 0 -1 4194560\n").unwrap();
        assert_eq!(entry, Entry { parent: 7, group: 8, session: 9, is_dead: false });
        assert!(parse(b"12 (x) Z 7 8 9 0").unwrap().is_dead);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"12 (x) S 7"), None);
    }

    #[test]
    fn descendants_are_followed_to_any_depth() {
        let entry = |parent| Entry { parent, group: 1, session: 1, is_dead: false };
        let table: BTreeMap<i32, Entry> =
            [(2, entry(1)), (3, entry(2)), (4, entry(3)), (5, entry(1)), (6, entry(6))].into();
        assert_eq!(descendants(&[2], &table), [3, 4].into());
        assert_eq!(descendants(&[1], &table), [2, 3, 4, 5].into());
    }
}
