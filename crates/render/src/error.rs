//! Why nothing can be rendered.

use linerate_model::error::ModelError;

/// What is wrong with a key of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderProblem {
    /// The key, such as `kubernetes.image`.
    pub path: String,
    pub what: String,
    pub advice: String,
}

impl RenderProblem {
    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>, advice: impl Into<String>) -> RenderProblem {
        RenderProblem { path: path.into(), what: what.into(), advice: advice.into() }
    }
}

/// Why there are no files.
#[derive(Debug)]
pub enum RenderError {
    /// Keys of the site, each once.
    Site(Vec<RenderProblem>),
    /// The site has no plan.
    Model(ModelError),
    /// What flags ask for does not go with the site.
    Requested(String),
}

impl From<ModelError> for RenderError {
    fn from(error: ModelError) -> RenderError {
        RenderError::Model(error)
    }
}
