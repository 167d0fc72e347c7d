//! The secret that keeps redacted names of one workspace apart from those of others.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use uuid::Uuid;

/// The salt kept in a directory that is there, made at the first call: 64 characters, readable by
/// the person alone.
///
/// # Errors
///
/// When it can be neither read nor made, or what stands there is no salt.
pub fn salt(directory: &Path) -> io::Result<String> {
    let path = directory.join("salt");
    let open = |options: &mut OpenOptions| {
        // A link or a pipe in its place is not followed and not waited for.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default()).mode(0o600).open(&path)
    };
    match open(OpenOptions::new().write(true).create_new(true)) {
        Ok(mut file) => {
            let fresh = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
            file.write_all(fresh.as_bytes())?;
            Ok(fresh)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(open(OpenOptions::new().read(true))?)
        }
        Err(error) => Err(error),
    }
}

fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(1024).read_to_string(&mut text)?;
    let text = text.trim();
    if text.len() < 16 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too short"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_stays() {
        let directory = std::env::temp_dir().join(format!("salt-{}", Uuid::new_v4()));
        assert!(salt(&directory).is_err());
        std::fs::create_dir(&directory).unwrap();
        let first = salt(&directory).unwrap();
        assert_eq!((first.len(), salt(&directory).unwrap()), (64, first));
        std::fs::write(directory.join("salt"), "short").unwrap();
        assert!(salt(&directory).is_err());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
