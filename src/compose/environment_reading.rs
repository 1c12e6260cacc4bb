//! Reading the text that describes an environment, back from its realised directory.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::environment_text::FORMAT;
use super::error::ComposeError;
use crate::manifest::{Placement, Variable, VariableAction};
use crate::model::{Name, Platform};

/// What the text says that starting a process needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedEnvironment {
    /// The environment.
    pub name: Name,
    /// Its platform.
    pub platform: Platform,
    /// Its variables, in the order written.
    pub variables: Vec<Variable>,
    /// Where each package lies.
    pub packages: BTreeMap<Name, Placement>,
}

#[derive(Deserialize)]
struct Document {
    format: u32,
    name: Name,
    platform: Platform,
    packages: BTreeMap<Name, PackageLine>,
    variables: Vec<VariableLine>,
}

#[derive(Deserialize)]
struct PackageLine {
    into: String,
}

#[derive(Deserialize)]
struct VariableLine {
    action: String,
    name: String,
    value: Option<String>,
}

impl DescribedEnvironment {
    /// Reads the text. A newer format is refused.
    pub fn read(text: &[u8]) -> Result<Self, ComposeError> {
        let document: Document = serde_json::from_slice(text)
            .map_err(|error| ComposeError::Description(error.to_string()))?;
        if document.format != FORMAT {
            let format = document.format;
            return Err(ComposeError::Description(format!("its format {format} is a newer one")));
        }
        let variables = document.variables.into_iter().map(variable).collect::<Result<_, _>>()?;
        let placed = |(name, line): (Name, PackageLine)| {
            Ok::<_, ComposeError>((name, placement(&line.into)?))
        };
        Ok(Self {
            name: document.name,
            platform: document.platform,
            variables,
            packages: document.packages.into_iter().map(placed).collect::<Result<_, _>>()?,
        })
    }
}

fn placement(text: &str) -> Result<Placement, ComposeError> {
    if text == "." {
        return Ok(Placement::Top);
    }
    let wrong = |error| ComposeError::Description(format!("the path \"{text}\" {error}"));
    text.parse().map(Placement::Under).map_err(wrong)
}

fn variable(line: VariableLine) -> Result<Variable, ComposeError> {
    let action = match (line.action.as_str(), line.value) {
        ("set", Some(value)) => VariableAction::Set(value),
        ("prepend", Some(value)) => VariableAction::Prepend(value),
        ("append", Some(value)) => VariableAction::Append(value),
        ("unset", None) => VariableAction::Unset,
        (action, _) => {
            return Err(ComposeError::Description(format!(
                "the action \"{action}\" of {}",
                line.name
            )));
        }
    };
    Ok(Variable { name: line.name, action, platform: None })
}

#[cfg(test)]
mod tests {
    use super::super::environment_text::{DescribedPackage, ENVIRONMENT_TEXT, EnvironmentText};
    use super::*;
    use crate::model::NodeId;

    #[test]
    fn what_was_written_is_read_back() {
        let package = DescribedPackage {
            version: "1.0".parse().expect("a version"),
            placement: Placement::Under("zluda".parse().expect("a path")),
            node: NodeId::from_bytes([1; 32]),
        };
        let packages = BTreeMap::from([("zluda".parse().expect("a name"), package.clone())]);
        let variables = [
            ("A", VariableAction::Set("{host.hip-sdk}".into())),
            ("PATH", VariableAction::Prepend("{package.zluda}".into())),
            ("B", VariableAction::Unset),
        ]
        .map(|(name, action)| Variable { name: name.into(), action, platform: None });
        let name: Name = "cuda-on-amd".parse().expect("a name");
        let text = EnvironmentText {
            name: &name,
            platform: Platform::X86_64Windows,
            gpus: &std::collections::BTreeSet::new(),
            variables: &variables,
            packages: &packages,
        };
        let written = text.text().expect("a text");
        assert_eq!(written.path.as_str(), ENVIRONMENT_TEXT);
        let read = DescribedEnvironment::read(&written.content).expect("its own text");
        assert_eq!(read.variables, variables);
        assert_eq!(read.packages.into_values().collect::<Vec<_>>(), [package.placement]);
        assert!(DescribedEnvironment::read(b"{}").is_err());
    }
}
