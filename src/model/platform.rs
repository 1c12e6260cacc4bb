//! Platforms: what a source is built for.

use std::fmt;
use std::str::FromStr;

/// A platform that environments can be made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    /// 64-bit ARM Linux.
    Aarch64Linux,
    /// 64-bit x86 Linux.
    X86_64Linux,
    /// 64-bit x86 Windows.
    X86_64Windows,
}

/// The two ways of files: names, links and execute bits differ between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Linux: names are bytes, symlinks and execute bits exist.
    Unix,
    /// Windows: names fold, trees hold neither links nor execute bits.
    Windows,
}

/// Why a text is not a [`Platform`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a platform; there are aarch64-linux, x86_64-linux and x86_64-windows")]
pub struct PlatformError(pub String);

impl Platform {
    /// Every platform, in the order of their text.
    pub const ALL: [Self; 3] = [Self::Aarch64Linux, Self::X86_64Linux, Self::X86_64Windows];

    /// The text, as written in manifests and locks.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aarch64Linux => "aarch64-linux",
            Self::X86_64Linux => "x86_64-linux",
            Self::X86_64Windows => "x86_64-windows",
        }
    }

    /// Which way of files it has.
    pub const fn family(self) -> Family {
        match self {
            Self::Aarch64Linux | Self::X86_64Linux => Family::Unix,
            Self::X86_64Windows => Family::Windows,
        }
    }

    /// The platform this program was built for, if environments can be made for it.
    pub const fn current() -> Option<Self> {
        if cfg!(all(windows, target_arch = "x86_64")) {
            Some(Self::X86_64Windows)
        } else if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            Some(Self::X86_64Linux)
        } else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
            Some(Self::Aarch64Linux)
        } else {
            None
        }
    }
}

impl Family {
    /// `unix` or `windows`, as hashed into unpack keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Windows => "windows",
        }
    }

    /// The way of files of this machine.
    pub const fn current() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Unix }
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        Self::ALL
            .into_iter()
            .find(|platform| platform.as_str() == text)
            .ok_or_else(|| PlatformError(text.to_owned()))
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Platform {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Platform {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_survive_their_text_and_stand_in_its_order() {
        let texts: Vec<&str> = Platform::ALL.iter().map(|platform| platform.as_str()).collect();
        assert!(texts.is_sorted());
        assert!(Platform::ALL.is_sorted());
        for platform in Platform::ALL {
            assert_eq!(platform.to_string().parse(), Ok(platform));
        }
        assert!("x86_64-macos".parse::<Platform>().is_err());
    }
}
