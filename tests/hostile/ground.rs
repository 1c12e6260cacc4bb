//! Where hostile archives are tried: one sandbox with one store, and files outside it that they aim at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use walkdir::WalkDir;

use super::bytes::{ZipEntry, zip};
use super::case::{Case, Outcome, digested, directory, link};
use super::support::{Sandbox, sha256, text};

/// Cases in one manifest.
const TOGETHER: usize = 12;

/// A sandbox, a store, and canaries.
pub struct Ground {
    sandbox: Sandbox,
    /// Cases so far: each has a number of its own.
    tried: usize,
}

/// Path to kind, size, mode and content.
type Listing = BTreeMap<PathBuf, String>;

impl Ground {
    pub fn new() -> Self {
        let sandbox = Sandbox::new();
        let mut ground = Self { sandbox, tried: 0 };
        for place in ["outside", "outside/inner", "project", "work", "home"] {
            let directory = ground.sandbox.root().join(place);
            fs::create_dir_all(&directory).expect("a directory");
            for name in ["canary", "evil", "x"] {
                fs::write(directory.join(name), format!("{name} of {place}")).expect("a canary");
            }
            fs::set_permissions(directory.join("canary"), fs::Permissions::from_mode(0o640))
                .expect("a mode");
        }
        symlink("outside", ground.sandbox.root().join("way-out")).expect("a link");
        // The first build of a project and of a store makes what is theirs.
        let honest = zip(&[ZipEntry::new("honest", "1")]);
        ground.lock(&[Case::gives("the first", honest, Vec::new())]);
        let output = ground.drystone(&["-e", "case-0", "build", "--platform", "x86_64-linux"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        ground.tried = 1;
        ground
    }

    /// The absolute path of something outside the store.
    pub fn outside(&self, name: &str) -> String {
        let path = self.sandbox.root().join("outside").join(name);
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    /// Tries every case on each of its platforms, prints what became of them, and fails with all that
    /// went otherwise than it must.
    #[track_caller]
    pub fn judge(&mut self, what: &str, cases: &[Case]) {
        let mut wrong = Vec::new();
        let (mut refused, mut taken) = (0, 0);
        for together in cases.chunks(TOGETHER) {
            self.lock(together);
            let before = self.around();
            for (at, case) in together.iter().enumerate() {
                for platform in case.systems.platforms() {
                    match self.attempt(self.tried + at, case, platform, &before) {
                        Ok(()) => {}
                        Err(reason) => wrong.push(format!("{} on {platform}: {reason}", case.what)),
                    }
                }
                match case.outcome {
                    Outcome::Refused(..) => refused += 1,
                    Outcome::Gives(_) => taken += 1,
                }
            }
            self.tried += together.len();
        }
        println!("{what}: {refused} refused, {taken} taken");
        assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n"));
    }

    /// Writes archives and manifest, and locks them.
    #[track_caller]
    fn lock(&self, cases: &[Case]) {
        fs::remove_dir_all(self.sandbox.path("archives")).expect("the archives before");
        let mut manifest = String::new();
        for (at, case) in cases.iter().enumerate() {
            let number = self.tried + at;
            self.sandbox.write(&format!("archives/{number}"), &case.archive);
            let platforms: String = case
                .systems
                .platforms()
                .iter()
                .map(|platform| format!("    platform \"{platform}\"\n"))
                .collect();
            manifest.push_str(&format!(
                "environment \"case-{number}\" {{\n{platforms}    use \"package-{number}\" \"1\"\n}}\n"
            ));
            if !case.application.is_empty() {
                let lines = case.application.replace("PACKAGE", &format!("package-{number}"));
                manifest.push_str(&format!(
                    "application \"program-{number}\" {{\n    in \"case-{number}\"\n{lines}\n}}\n"
                ));
            }
            manifest.push_str(&format!(
                "package \"package-{number}\" {{\n    version \"1\" {{\n        source {{\n            url \"file:archives/{number}\"\n            sha256 \"{}\"\n{}\n        }}\n    }}\n}}\n",
                sha256(&case.archive),
                case.options,
            ));
        }
        self.sandbox.write("env.kdl", manifest);
        let output = self.drystone(&["lock"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// Runs the program where archives that take the current directory for theirs would do harm.
    fn drystone(&self, arguments: &[&str]) -> Output {
        let mut command = self.sandbox.command();
        command.current_dir(self.sandbox.root().join("work")).args(arguments);
        command.output().expect("the program starts")
    }

    /// Builds one case for one platform, and looks at everything that it may and may not have changed.
    fn attempt(
        &self,
        number: usize,
        case: &Case,
        platform: &str,
        around: &Listing,
    ) -> Result<(), String> {
        let kept = self.kept();
        let environment = format!("case-{number}");
        let arguments = ["--json", "-e", &environment, "build", "--platform", platform];
        let output = self.drystone(&arguments);
        let said = text(&output.stderr);
        let answer: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("no JSON ({error}): {output:?}"))?;
        match &case.outcome {
            Outcome::Refused(code, texts) => {
                is_refused(&output, &answer, number, code, texts)?;
                let now = self.kept();
                // A package that is right in itself stays, when only what uses it is refused.
                let package = ["blobs", "trees", "unpacked"];
                let may_stay = |name: &Path| {
                    !code.starts_with("drystone::unpack::")
                        && package.iter().any(|room| name.starts_with(room))
                };
                let new = now.symmetric_difference(&kept).filter(|name| !may_stay(name));
                let new: Vec<_> = new.collect();
                if !new.is_empty() {
                    return Err(format!("the refusal changed the store: {new:?}"));
                }
            }
            Outcome::Gives(lines) => {
                if !output.status.success() {
                    return Err(format!("it was not taken: {}", answer["error"]));
                }
                let realised = answer["directory"].as_str().ok_or("it was not realised")?;
                is_listing(&Path::new(realised).join(format!("package-{number}")), lines)?;
            }
        }
        if let Some(missing) = case.says.iter().find(|text| !said.contains(*text)) {
            return Err(format!("{missing:?} was not said, but: {said}"));
        }
        let staging = self.sandbox.store().join("tmp");
        if let Some(left) = fs::read_dir(&staging).ok().and_then(|mut entries| entries.next()) {
            return Err(format!("staging is left: {left:?}"));
        }
        let now = self.around();
        if now != *around {
            let changed = now.iter().filter(|(path, line)| around.get(*path) != Some(line));
            let gone = around.keys().filter(|path| !now.contains_key(*path));
            return Err(format!(
                "it changed what is outside the store: {:?}, gone {:?}",
                changed.collect::<Vec<_>>(),
                gone.collect::<Vec<_>>()
            ));
        }
        Ok(())
    }

    /// The names in the store that are there to stay. Archives may stay from a refusal, and so may the
    /// register of the lock and the files that locks are on.
    fn kept(&self) -> BTreeSet<PathBuf> {
        let store = self.sandbox.store();
        let passing = ["archives", "locks", "tmp"].map(|room| store.join(room));
        let realised = store.join("realised");
        let walk = WalkDir::new(&store).into_iter().filter_entry(|entry| {
            // What is realised is known by its directory.
            !passing.iter().any(|room| room == entry.path())
                && entry.path().parent().and_then(Path::parent) != Some(&realised)
        });
        let below = |path: &Path| path.strip_prefix(&store).expect("in the store").to_owned();
        walk.flatten()
            .filter(|entry| entry.path().starts_with(&realised) || !entry.file_type().is_dir())
            .filter(|entry| entry.file_name() != "roots")
            .map(|entry| below(entry.path()))
            .collect()
    }

    /// Everything in the sandbox that is not the store.
    fn around(&self) -> Listing {
        let root = self.sandbox.root();
        let store = self.sandbox.store();
        let walk = WalkDir::new(root).into_iter().filter_entry(|entry| entry.path() != store);
        walk.map(|entry| {
            let entry = entry.expect("a file that can be listed");
            let (path, facts) = (entry.path(), entry.metadata().expect("metadata"));
            let content = match facts.file_type() {
                kind if kind.is_symlink() => format!("{:?}", fs::read_link(path).expect("a link")),
                kind if kind.is_file() => digest(path).to_string(),
                kind => format!("{kind:?}"),
            };
            let line = format!("{:o} {} {content}", facts.mode(), facts.size());
            (path.strip_prefix(root).expect("a path below").to_owned(), line)
        })
        .collect()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // Realised directories are read-only, and nobody but root could remove what is in them.
        for entry in WalkDir::new(self.sandbox.store().join("realised")).into_iter().flatten() {
            if entry.file_type().is_dir() {
                let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700));
            }
        }
    }
}

fn is_refused(
    output: &Output,
    answer: &Value,
    number: usize,
    code: &str,
    texts: &[String],
) -> Result<(), String> {
    let error = &answer["error"];
    if output.status.code() != Some(1) {
        return Err(format!("{code} did not refuse it: {}, {answer}", output.status));
    }
    if error["code"] != code {
        return Err(format!("not {code}: {error}"));
    }
    let message = format!("{} {} {}", error["message"], error["causes"], error["help"]);
    // What was printed is JSON, and this is JSON again: its escapes are those of the texts looked for.
    let package = format!("package-{number}");
    let wanted = texts.iter().map(|text| Value::from(text.as_str()).to_string());
    let wanted = wanted.map(|text| text[1..text.len() - 1].to_owned()).chain([package]);
    match wanted.into_iter().find(|text| !message.contains(text)) {
        Some(missing) => Err(format!("{missing:?} is not named: {message}")),
        None if error["help"].is_null() => Err(format!("no next step: {error}")),
        None => Ok(()),
    }
}

/// Whether a directory holds exactly these lines.
fn is_listing(root: &Path, lines: &[String]) -> Result<(), String> {
    let found = listing(root);
    let wanted: BTreeSet<String> = lines.iter().cloned().collect();
    if found == wanted {
        return Ok(());
    }
    let show = |set: Vec<&String>| {
        let shown: Vec<String> = set.iter().take(5).map(|line| format!("{line:?}")).collect();
        format!("{} ({})", set.len(), shown.join(", "))
    };
    Err(format!(
        "it gives {} that it must not, and lacks {}",
        show(found.difference(&wanted).collect()),
        show(wanted.difference(&found).collect())
    ))
}

fn listing(root: &Path) -> BTreeSet<String> {
    let walk = WalkDir::new(root).min_depth(1).into_iter().filter_map(Result::ok);
    walk.filter_map(|entry| {
        let path = entry.path();
        let name = path.strip_prefix(root).expect("a path below").to_str().expect("UTF-8");
        let facts = entry.metadata().expect("metadata");
        if facts.is_symlink() {
            let target = fs::read_link(path).expect("a link");
            return Some(link(name, target.to_str().expect("UTF-8")));
        }
        if facts.is_dir() {
            let is_empty = fs::read_dir(path).expect("a directory").next().is_none();
            return is_empty.then(|| directory(name));
        }
        let kind = match facts.mode() & 0o7777 {
            0o444 => 'f',
            0o555 => 'x',
            other => return Some(format!("{name} has mode {other:o}")),
        };
        Some(digested(kind, name, facts.len(), &digest(path)))
    })
    .collect()
}

fn digest(path: &Path) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let file = File::open(path).expect("a file that can be read");
    hasher.update_reader(file).expect("a file that can be read");
    hasher.finalize()
}
