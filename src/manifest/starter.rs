//! The first manifest of a project, as `drystone init` writes it.

/// The text of a commented manifest that loads without complaint and asks for nothing yet.
pub const fn starter() -> &'static str {
    include_str!("starter.kdl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starter_loads_and_fits_windows_and_linux() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("env.kdl");
        std::fs::write(&path, starter()).unwrap();
        let manifest = super::super::load(&path).unwrap();
        let platforms: Vec<_> =
            manifest.environments.values().flat_map(|it| &it.platforms).collect();
        assert_eq!(platforms.len(), 2);
    }
}
