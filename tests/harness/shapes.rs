//! Shapes of text that try to make an analysis slow or large.

/// Makes a text of about so many bytes.
pub type Shape = fn(usize) -> String;

/// The six shapes every limit is stated for.
pub const MAIN: &[(&str, Shape)] = &[
    ("nested_substitutions", |bytes| "$(".repeat(bytes / 2)),
    ("one_quote", |bytes| format!("echo '{}", "a".repeat(bytes))),
    ("words", |bytes| format!("echo {}", "word ".repeat(bytes / 5))),
    ("pipes", |bytes| format!("cat{}", " | cat".repeat(bytes / 6))),
    ("here_documents", |bytes| format!("cat {}\n", "<<E ".repeat(bytes / 4))),
    ("braces", |bytes| format!("echo {}", "{1..9}".repeat(bytes / 6))),
];

/// Further ones: attempts that fail, quotes that never close, one thing very often or very deep.
pub const MORE: &[(&str, Shape)] = &[
    ("nested_here_documents", |bytes| "$(cat <<E\n".repeat(bytes / 10)),
    ("misnested_arithmetic", |bytes| {
        format!("echo {}{}", "$(( ".repeat(bytes / 8), ") ) ".repeat(bytes / 8))
    }),
    ("closed_substitutions", |bytes| {
        format!("{}{}", "$(".repeat(bytes / 3), ")".repeat(bytes / 3))
    }),
    ("backquotes", |bytes| format!("echo {}", "`".repeat(bytes))),
    ("backquotes_in_lines", |bytes| "`\n".repeat(bytes / 2)),
    ("double_quotes_in_lines", |bytes| "\"\n".repeat(bytes / 2)),
    ("open_double_quote", |bytes| format!("echo \"{}", "$(a) ".repeat(bytes / 5))),
    ("defaults", |bytes| format!("{}{}", "${a:-".repeat(bytes / 6), "}".repeat(bytes / 6))),
    ("list", |bytes| "a;".repeat(bytes / 2)),
    ("lines", |bytes| "ls\n".repeat(bytes / 3)),
    ("redirections", |bytes| format!("a {}", ">b ".repeat(bytes / 3))),
    ("parentheses", |bytes| "(".repeat(bytes)),
    ("conditions", |bytes| "if a; then ".repeat(bytes / 11)),
    ("assignments", |bytes| format!("{}ls", "a=b ".repeat(bytes / 4))),
    ("array", |bytes| format!("a=({})", "b ".repeat(bytes / 2))),
    ("documents_and_bodies", |bytes| "cat <<E\nx\nE\n".repeat(bytes / 12)),
    ("options", |bytes| format!("rm {}", "-a ".repeat(bytes / 3))),
    ("paths", |bytes| format!("rm {}", "a/b/c ".repeat(bytes / 6))),
    ("deep_path", |bytes| format!("rm {}", "a/".repeat(bytes / 2))),
    ("patterns", |bytes| format!("rm {}", "*a".repeat(bytes / 2))),
    ("substitutions", |bytes| format!("echo {}", "$(ls) ".repeat(bytes / 6))),
    ("functions", |bytes| "f(){ ls; };f;".repeat(bytes / 13)),
    ("functions_and_variables", |bytes| {
        (0..bytes / 20).map(|number| format!("v{number}=1;f{number}(){{ a;}};")).collect()
    }),
    ("calls_of_one_function", |bytes| format!("f(){{ ls $1;}};{}", "f a;".repeat(bytes / 4))),
    ("chained_variables", |bytes| {
        (0..bytes / 12).map(|number| format!("a{}=$a{number};", number + 1)).collect()
    }),
];
