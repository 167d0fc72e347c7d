//! The review of a proposal: what became of each file, and what the model is told of it.

use crate::task::call::{FailureKind, ToolFailure, ToolResult};
use crate::task::edit::{ApplyStatus, EditProposal, FileReport};

/// A review under way.
#[derive(Debug)]
pub(super) struct Review {
    proposal: String,
    files: Vec<(String, Option<FileReport>)>,
}

impl Review {
    /// Nothing told yet.
    pub(super) fn new(proposal: &EditProposal) -> Self {
        Self {
            proposal: proposal.id.clone(),
            files: proposal.files.iter().map(|file| (file.path.clone(), None)).collect(),
        }
    }

    /// The id of the proposal.
    pub(super) fn proposal(&self) -> &str {
        &self.proposal
    }

    /// Records what became of files; the last word on a file counts. With a path that is none of the
    /// proposal's nothing is recorded.
    ///
    /// # Errors
    ///
    /// That path.
    pub(super) fn record(&mut self, reports: Vec<FileReport>) -> Result<(), String> {
        let is_ours = |path: &str| self.files.iter().any(|(ours, _)| ours == path);
        if let Some(foreign) = reports.iter().find(|report| !is_ours(&report.path)) {
            return Err(foreign.path.clone());
        }
        for report in reports {
            for (path, told) in &mut self.files {
                if *path == report.path {
                    *told = Some(report.clone());
                }
            }
        }
        Ok(())
    }

    /// All reports in the proposal's order, once each file has one.
    pub(super) fn complete(&self) -> Option<Vec<FileReport>> {
        self.files.iter().map(|(_, told)| told.clone()).collect()
    }
}

/// What the model is told of a review that is complete. `notes` are added for its attention.
pub(super) fn outcome(reports: &[FileReport], notes: &[String]) -> ToolResult {
    let lines = reports.iter().map(line).chain(notes.iter().cloned());
    let output = lines.collect::<Vec<_>>().join("\n");
    let failure = |kind, message: &str, reasons: Vec<String>| {
        Some(ToolFailure { kind, message: message.to_owned(), reasons })
    };
    let is = |status| move |report: &FileReport| report.status == status;
    let failure = if reports.iter().any(is(ApplyStatus::Rejected)) {
        let reasons = vec!["user_rejected".to_owned()];
        failure(FailureKind::Rejected, "the user rejected edits of propose_edit", reasons)
    } else if reports.iter().any(is(ApplyStatus::Stale)) {
        failure(FailureKind::Failed, "files have changed meanwhile", Vec::new())
    } else {
        None
    };
    ToolResult {
        call: String::new(),
        output,
        truncated: false,
        exit_code: None,
        duration_ms: 0,
        failure,
    }
}

fn line(report: &FileReport) -> String {
    let path = &report.path;
    let reason = report.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    match (report.status, reason) {
        (ApplyStatus::Applied, _) => format!("{path}: applied"),
        (ApplyStatus::Rejected, Some(reason)) => {
            format!("{path}: rejected by the user: {reason}")
        }
        (ApplyStatus::Rejected, None) => format!("{path}: rejected by the user without a reason"),
        (ApplyStatus::Stale, _) => format!(
            "{path}: stale, the file no longer matches the search text; read it again before you \
             propose a new edit"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::edit::{FileEdit, SearchReplace};
    use ApplyStatus::{Applied, Rejected, Stale};

    fn told(path: &str, status: ApplyStatus) -> FileReport {
        FileReport { path: path.to_owned(), status, reason: None }
    }

    fn review() -> Review {
        let edits = vec![SearchReplace { search: "a".to_owned(), replace: "b".to_owned() }];
        let files = ["a.rs", "b.rs"]
            .map(|path| FileEdit { path: path.to_owned(), edits: edits.clone() })
            .into();
        Review::new(&EditProposal { id: "p".to_owned(), files, critique: None })
    }

    #[test]
    fn parts_add_up_and_the_last_word_counts() {
        let mut review = review();
        assert_eq!(review.record(vec![told("b.rs", ApplyStatus::Applied)]), Ok(()));
        assert_eq!(review.complete(), None);
        assert_eq!(review.record(vec![told("b.rs", ApplyStatus::Stale)]), Ok(()));
        assert_eq!(review.record(vec![told("a.rs", ApplyStatus::Applied)]), Ok(()));
        let reports = review.complete().unwrap();
        assert_eq!(reports, [told("a.rs", ApplyStatus::Applied), told("b.rs", ApplyStatus::Stale)]);
    }

    #[test]
    fn a_foreign_path_records_nothing() {
        let mut review = review();
        let reports =
            ["a.rs", "./b.rs", "b.rs"].map(|path| told(path, ApplyStatus::Applied)).into();
        assert_eq!(review.record(reports), Err("./b.rs".to_owned()));
        assert_eq!(review.record(vec![told("b.rs", ApplyStatus::Applied)]), Ok(()));
        assert_eq!(review.complete(), None);
    }

    #[test]
    fn any_rejected_file_makes_it_rejected_else_any_stale_one_failed() {
        let kind = |statuses: &[ApplyStatus]| {
            let reports: Vec<_> = statuses.iter().map(|&status| told("a", status)).collect();
            outcome(&reports, &[]).failure.map(|failure| (failure.kind, failure.reasons.len()))
        };
        assert_eq!(kind(&[Applied, Applied]), None);
        assert_eq!(kind(&[Applied, Stale, Rejected]), Some((FailureKind::Rejected, 1)));
        assert_eq!(kind(&[Stale, Applied]), Some((FailureKind::Failed, 0)));
    }
}
