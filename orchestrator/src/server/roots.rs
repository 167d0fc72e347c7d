//! Which workspace roots a session can be opened with.

use std::path::Path;

use crate::protocol::desiide::check::Problems;

/// What is wrong with the first root that can never be one: not absolute, not a folder, or the root of the
/// file system, of which nothing lies outside. None where all may do. A root that is not there may come
/// back; until then its tasks fail with `no_workspace`.
pub(super) fn problem(roots: &[String]) -> Option<Problems> {
    roots.iter().enumerate().find_map(|(index, root)| {
        let why = why(Path::new(root))?;
        Some(Problems::of(format!("workspaceRoots[{index}]: {why}")))
    })
}

fn why(root: &Path) -> Option<&'static str> {
    if !root.is_absolute() || root.to_str().is_some_and(|root| root.contains('\0')) {
        return Some("must be an absolute path");
    }
    let real = std::fs::canonicalize(root).ok()?;
    if real.parent().is_none() {
        return Some("the root of the file system is no workspace");
    }
    (!real.is_dir()).then_some("is no folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_be_a_workspace_is_told() {
        let folder = std::env::temp_dir().join(format!("shellgate-roots-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("file");
        std::fs::write(&file, "").unwrap();
        let root = folder.to_str().unwrap().to_owned();
        let told = |roots: &[&str]| {
            let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
            problem(&roots).map(|problems| problems.to_string())
        };
        assert_eq!(told(&[&root]), None);
        assert_eq!(told(&["/nowhere/at/all", &root]), None);
        let absolute = "must be an absolute path";
        for (roots, why) in [
            (vec!["relative"], format!("workspaceRoots[0]: {absolute}")),
            (vec!["~/app"], format!("workspaceRoots[0]: {absolute}")),
            (vec![root.as_str(), "."], format!("workspaceRoots[1]: {absolute}")),
            (vec!["/a\0b"], format!("workspaceRoots[0]: {absolute}")),
            (vec![file.to_str().unwrap()], "workspaceRoots[0]: is no folder".to_owned()),
            (
                vec!["/"],
                "workspaceRoots[0]: the root of the file system is no workspace".to_owned(),
            ),
            (
                vec!["/usr/.."],
                "workspaceRoots[0]: the root of the file system is no workspace".to_owned(),
            ),
        ] {
            assert_eq!(told(&roots), Some(why), "{roots:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
