//! What is built, killed and built again: the greeting stack and a package of some hundred files, in
//! every state that gives a command something to do.

use std::path::{Path, PathBuf};

use crate::support::{self, Sandbox};

/// What the greeting stack is made from.
pub fn greeting(sandbox: &Sandbox) {
    sandbox.hello("hello-1.0.zip", "plain");
    for (version, text) in [("1.0", "good morning\n"), ("2.0", "good evening\n")] {
        sandbox
            .zip(&format!("greeting-{version}.zip"), &[("greeting.txt", text.as_bytes(), 0o644)]);
    }
}

/// Files of the stack's large package.
const FILES: u32 = 300;

pub fn described(sandbox: &Sandbox) {
    let contents: Vec<(String, Vec<u8>)> = (0..FILES)
        .map(|number| {
            // Some alike, some larger than what is held in memory.
            let size = if number % 50 == 0 { 4_000 } else { 1 };
            let content = blake3::hash(&(number / 2).to_le_bytes()).as_bytes().repeat(size);
            (format!("data/{}/{number}.bin", number % 7), content)
        })
        .collect();
    let files: Vec<support::File<'_>> =
        contents.iter().map(|(path, content)| (path.as_str(), content.as_slice(), 0o644)).collect();
    let sha256 = sandbox.zip("large.zip", &files);
    describe(sandbox, "1.0", &sha256);
}

pub fn describe(sandbox: &Sandbox, greeting: &str, large: &str) {
    let manifest = sandbox.manifest_text(greeting).replace(
        "    use \"hello\" \"1.0\"\n",
        "    use \"hello\" \"1.0\"\n    use \"large\" \"1.0\"\n",
    );
    let package = format!(
        "package \"large\" {{ version \"1.0\" {{ source {{ url \"file:archives/large.zip\"; sha256 \"{large}\"; }}; }}; }}\n"
    );
    sandbox.write("env.kdl", manifest + &package);
}

pub fn locked(sandbox: &Sandbox) {
    described(sandbox);
    sandbox.succeed(&["lock"]);
}

pub fn built(sandbox: &Sandbox) {
    locked(sandbox);
    sandbox.succeed(&["build"]);
}

pub fn edited(sandbox: &Sandbox) {
    built(sandbox);
    let large = std::fs::read(sandbox.path("archives/large.zip")).expect("an archive");
    describe(sandbox, "2.0", &support::sha256(&large));
    sandbox.succeed(&["lock"]);
}

pub fn twice_built(sandbox: &Sandbox) {
    edited(sandbox);
    sandbox.succeed(&["build"]);
}

/// Two generations that `gc --older-than 0s` drops, and runtime directories.
pub fn with_waste(sandbox: &Sandbox) {
    twice_built(sandbox);
    sandbox.succeed(&["run", "hello"]);
    for whom in ["moon", "sun"] {
        let manifest = sandbox
            .read("env.kdl")
            .replace("\"GREETED\" \"world\"", &format!("\"GREETED\" \"{whom}\""));
        sandbox.write("env.kdl", manifest.replace("use \"large\" \"1.0\"\n", "\n"));
        sandbox.succeed(&["lock"]);
        sandbox.succeed(&["build"]);
    }
}

pub fn with_a_runtime(sandbox: &Sandbox) {
    built(sandbox);
    sandbox.succeed(&["run", "--keep", "mine", "hello"]);
}

/// A content that is wrong, one that is gone.
pub fn damaged(sandbox: &Sandbox) {
    built(sandbox);
    let blobs = files(&sandbox.store().join("blobs"));
    let [first, .., last] = blobs.as_slice() else { panic!("there are blobs") };
    let mut permissions = first.metadata().expect("there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    std::fs::set_permissions(first, permissions).expect("writable");
    std::fs::write(first, "damage").expect("written");
    std::fs::remove_file(last).expect("removed");
}

/// Every file below a directory, sorted.
pub fn files(below: &Path) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(below).sort_by_file_name().into_iter();
    let files = walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    files.map(walkdir::DirEntry::into_path).collect()
}
