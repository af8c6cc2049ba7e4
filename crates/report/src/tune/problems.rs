//! What is wrong with applications of changes, in the line with which a command ends.

use super::counted;

/// What is wrong with an application of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No watch rolls it back.
    Unwatched { id: String },
    /// It was rolled back, and some of its settings are not restored.
    NotRestored { id: String, left: u32 },
    /// It was confirmed, and began to be rolled back.
    KeptInPart { id: String },
    /// Its journal is not where it was.
    JournalLost { id: String },
    /// Its journal cannot be read, so that it is not known how it stands.
    Unreadable { id: String },
}

/// What is wrong with applications of changes, in a line.
#[must_use]
pub fn problems(all: &[Problem]) -> String {
    let in_words = |one: &Problem| match one {
        Problem::Unwatched { id } => format!("no watch is running to roll {id} back"),
        Problem::NotRestored { id, left } => {
            format!("{} of {id} not restored: linerate tune rollback {id}", counted(*left as usize, "setting"))
        }
        Problem::KeptInPart { id } => {
            format!("{id} was confirmed, and its rollback has not ended: linerate tune rollback {id}")
        }
        Problem::JournalLost { id } => format!("the journal of {id} is missing"),
        Problem::Unreadable { id } => format!("the journal of {id} cannot be read, so its state is not known"),
    };
    all.iter().map(in_words).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_wrong_is_in_one_line_with_what_to_do() {
        let id = || "1123-1".to_owned();
        let all = [
            Problem::Unwatched { id: id() },
            Problem::NotRestored { id: id(), left: 1 },
            Problem::NotRestored { id: id(), left: 2 },
            Problem::KeptInPart { id: id() },
            Problem::JournalLost { id: id() },
            Problem::Unreadable { id: id() },
        ];
        assert_eq!(
            problems(&all),
            "no watch is running to roll 1123-1 back; 1 setting of 1123-1 not restored: linerate tune rollback 1123-1; \
             2 settings of 1123-1 not restored: linerate tune rollback 1123-1; 1123-1 was \
             confirmed, and its rollback has not ended: linerate tune rollback 1123-1; the journal of 1123-1 is \
             missing; the journal of 1123-1 cannot be read, so its state is not known"
        );
    }
}
