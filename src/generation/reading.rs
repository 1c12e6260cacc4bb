//! Reading generations: without a lock, beside whoever writes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::disk;
use crate::model::{Name, TreePath};

use super::error::{GenerationError, Step};
use super::history::{self, Operation, Standing};
use super::record::{FORMAT, Generation, INPUTS, LOCK, MANIFEST, PLANS, digest};
use super::seal;

pub(super) const CURRENT: &str = "current";
pub(super) const HISTORY: &str = "history";
pub(super) const RECORD: &str = "generation.json";

/// The generations of one environment.
#[derive(Debug, Clone)]
pub struct Generations {
    pub(super) directory: PathBuf,
}

/// One generation of a list.
#[derive(Debug)]
pub struct Listed {
    /// Its number.
    pub number: u64,
    /// Its record, or why it cannot be read.
    pub generation: Result<Generation, GenerationError>,
}

/// What every format of the record has.
#[derive(Deserialize)]
struct Header {
    format: u64,
}

impl Generations {
    /// Those in an environment's directory, which need not be there yet.
    pub fn open(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The numbers there are, sorted.
    pub fn numbers(&self) -> Result<Vec<u64>, GenerationError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).step("list", &self.directory),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let entry = entry.step("list", &self.directory)?;
            numbers.extend(entry.file_name().to_str().and_then(parse_number));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The number of the current generation; none before the first build.
    pub fn current_number(&self) -> Result<Option<u64>, GenerationError> {
        let path = self.directory.join(CURRENT);
        let text = match disk::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).step("read", &path),
        };
        let number = std::str::from_utf8(&text).ok().and_then(|text| text.strip_suffix('\n'));
        match number.and_then(parse_number) {
            Some(number) => Ok(Some(number)),
            None => Err(GenerationError::DamagedCurrent { path }),
        }
    }

    /// The current generation; none before the first build.
    pub fn current(&self) -> Result<Option<Generation>, GenerationError> {
        self.current_number()?.map(|number| self.get(number)).transpose()
    }

    /// One generation.
    pub fn get(&self, number: u64) -> Result<Generation, GenerationError> {
        let path = self.path(number).join(RECORD);
        let damaged =
            |reason: String| GenerationError::Damaged { number, path: path.clone(), reason };
        let text = match disk::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let numbers = self.numbers()?;
                return Err(if numbers.contains(&number) {
                    damaged("the file is missing".to_owned())
                } else {
                    GenerationError::Unknown { number, numbers }
                });
            }
            Err(error) => return Err(error).step("read", &path),
        };
        let header: Header =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if header.format > FORMAT {
            return Err(GenerationError::Newer { number, format: header.format });
        }
        if header.format == FORMAT && !seal::is_whole(&text) {
            return Err(damaged("it was changed since it was written".to_owned()));
        }
        let generation: Generation =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if generation.number != number {
            return Err(damaged(format!("it is the record of generation {}", generation.number)));
        }
        Ok(generation)
    }

    /// All of them, by number. One that is damaged does not keep the others from being read.
    pub fn list(&self) -> Result<Vec<Listed>, GenerationError> {
        let numbers = self.numbers()?.into_iter();
        Ok(numbers.map(|number| Listed { number, generation: self.get(number) }).collect())
    }

    /// Every operation, oldest first.
    pub fn history(&self) -> Result<Vec<Operation>, GenerationError> {
        let path = self.directory.join(HISTORY);
        let text = match disk::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).step("read", &path),
        };
        history::parse(&text).map_err(|(line, reason)| GenerationError::DamagedHistory {
            path,
            line,
            reason,
        })
    }

    /// How the current generation came to be current.
    pub fn standing(&self) -> Result<Standing, GenerationError> {
        Ok(history::standing(self.current_number()?, &self.history()?))
    }

    /// Where a generation's files are.
    pub fn path(&self, number: u64) -> PathBuf {
        self.directory.join(number.to_string())
    }

    /// The bytes of the manifest that a generation was built from.
    pub fn manifest(&self, generation: &Generation) -> Result<Vec<u8>, GenerationError> {
        self.file(generation, MANIFEST)
    }

    /// The bytes of the lock that a generation was built from.
    pub fn lock(&self, generation: &Generation) -> Result<Vec<u8>, GenerationError> {
        self.file(generation, LOCK)
    }

    /// The plan of an application; none if the generation has no such application.
    pub fn plan(
        &self,
        generation: &Generation,
        application: &Name,
    ) -> Result<Option<Vec<u8>>, GenerationError> {
        let path = format!("{PLANS}/{application}.json");
        if generation.files.contains_key(path.as_str()) {
            self.file(generation, &path).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The includes and local catalogues that a generation was built from, by their path beside the
    /// manifest.
    pub fn inputs(
        &self,
        generation: &Generation,
    ) -> Result<BTreeMap<TreePath, Vec<u8>>, GenerationError> {
        let files = generation.files.keys();
        files
            .filter_map(|path| Some((path, path.as_str().strip_prefix(INPUTS)?)))
            .filter_map(|(path, rest)| Some((path, rest.strip_prefix('/')?.parse().ok()?)))
            .map(|(path, input)| Ok((input, self.file(generation, path.as_str())?)))
            .collect()
    }

    /// A file of a generation, checked against its record.
    pub(super) fn file(
        &self,
        generation: &Generation,
        name: &str,
    ) -> Result<Vec<u8>, GenerationError> {
        let path = self.path(generation.number).join(name);
        let damaged = |reason: &str| GenerationError::Damaged {
            number: generation.number,
            path: path.clone(),
            reason: reason.to_owned(),
        };
        let content = match disk::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged("the file is missing"));
            }
            Err(error) => return Err(error).step("read", &path),
        };
        match generation.files.get(name) {
            Some(expected) if *expected == digest(&content) => Ok(content),
            Some(_) => Err(damaged("it was changed since it was written")),
            None => Err(damaged("the record does not name it")),
        }
    }
}

/// A number as directories are named by it: decimal, from one, without a leading zero.
pub(super) fn parse_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}
