//! How large a project is.

use std::io::Read as _;
use std::ops::ControlFlow;

use ignore::overrides::Override;

use super::Toolbox;
use super::walk::{self, Wanted};
use super::workspace::open_entry;

/// Bytes that are read; what lies beyond is estimated by the length of lines so far.
const MOST_BYTES: u64 = 32 << 20;
/// Files that are looked at.
const MOST_FILES: usize = 50_000;
/// A larger file is data and no source.
const LARGEST: u64 = 1 << 20;
/// Bytes of a line where none was read yet.
const USUAL_LINE: u64 = 32;
/// Bytes in which a NUL makes a file binary.
const BINARY_WINDOW: usize = 8192;

/// Lines of the text files in the first root that git would not ignore. Blocks.
pub(super) fn lines(toolbox: &Toolbox) -> u64 {
    let workspace = toolbox.workspace();
    let Ok(at) = workspace.resolve_existing(".") else { return 0 };
    let ignored = &toolbox.project().ignore_globs;
    let wanted = Wanted { ignored, globs: Override::empty(), depth: usize::MAX };
    let (mut lines, mut bytes, mut unread, mut files) = (0_u64, 0_u64, 0_u64, 0_usize);
    let mut buffer = Vec::new();
    let walked = walk::files(workspace, &at, &wanted, &mut |found| {
        files += 1;
        if files > MOST_FILES {
            return ControlFlow::Break(());
        }
        let Ok(file) = open_entry(found.folder, found.name) else {
            return ControlFlow::Continue(());
        };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if length > LARGEST {
            return ControlFlow::Continue(());
        }
        if bytes >= MOST_BYTES {
            unread = unread.saturating_add(length);
            return ControlFlow::Continue(());
        }
        buffer.clear();
        let is_read = file.take(LARGEST).read_to_end(&mut buffer).is_ok();
        if is_read && !buffer.iter().take(BINARY_WINDOW).any(|byte| *byte == 0) {
            bytes = bytes.saturating_add(u64::try_from(buffer.len()).unwrap_or_default());
            lines = lines.saturating_add(count(&buffer));
        }
        ControlFlow::Continue(())
    });
    // A root that cannot be listed has no lines that matter.
    if walked.is_err() {
        return 0;
    }
    let line = bytes.checked_div(lines).unwrap_or(USUAL_LINE).max(1);
    lines.saturating_add(unread / line)
}

/// Lines, a last one without a newline included.
fn count(text: &[u8]) -> u64 {
    let lines = text.split_inclusive(|byte| *byte == b'\n').count();
    u64::try_from(lines).unwrap_or_default()
}
