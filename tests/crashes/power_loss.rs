//! Power loss: what a file system with a journal may show afterwards. Names come back as they were at
//! some moment since the last sync, in their order; a content that was not synced has its length and
//! only zeros, or nothing.
//!
//! That is what ext4 with delayed allocation and XFS do. File systems that flush a file before they
//! rename it over another are kinder.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::aftermath::{finish, look};
use crate::recording::{Step, record};
use crate::stack::{describe, described, greeting};
use crate::support::{self, Sandbox};
use crate::{Dice, can_trace, number};

#[derive(Debug, Clone, Default)]
struct Node {
    is_directory: bool,
    data: Vec<u8>,
    mode: u32,
    has_fixed_time: bool,
    is_durable: bool,
}

/// A directory as a model: names, and what they lead to.
#[derive(Debug, Clone, Default)]
struct Model {
    nodes: Vec<Node>,
    names: BTreeMap<PathBuf, usize>,
}

impl Model {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Create { path, mode, empty } => match self.names.get(path) {
                Some(&node) if *empty => self.change(node, |node| node.data.clear()),
                Some(_) => {}
                None => self.make(path, Node { mode: *mode, ..Node::default() }),
            },
            Step::Directory { path, mode } => {
                self.make(path, Node { is_directory: true, mode: *mode, ..Node::default() });
            }
            Step::Write { path, at, data } => {
                let at = usize::try_from(*at).expect("small");
                self.edit(path, |node| {
                    if node.data.len() < at + data.len() {
                        node.data.resize(at + data.len(), 0);
                    }
                    node.data[at..at + data.len()].copy_from_slice(data);
                });
            }
            Step::Copy { from, path } => {
                let data = match self.names.get(from) {
                    Some(&node) => self.nodes[node].data.clone(),
                    None => fs::read(from).expect("what was copied"),
                };
                self.edit(path, |node| node.data = data);
            }
            Step::Length { path, length } => {
                let length = usize::try_from(*length).expect("small");
                self.edit(path, |node| node.data.resize(length, 0));
            }
            Step::Mode { path, mode } => {
                if let Some(&node) = self.names.get(path) {
                    self.nodes[node].mode = *mode;
                }
            }
            Step::Time { path, is_fixed } => {
                if let Some(&node) = self.names.get(path) {
                    self.nodes[node].has_fixed_time = *is_fixed;
                }
            }
            Step::Rename { from, to } => self.rename(from, to),
            Step::Link { from, to } => {
                if let Some(&node) = self.names.get(from) {
                    self.names.insert(to.clone(), node);
                }
            }
            Step::Remove { path } => drop(self.names.remove(path)),
            Step::Sync { path } => {
                if let Some(&node) = self.names.get(path) {
                    self.nodes[node].is_durable = true;
                }
            }
            Step::SyncAll => self.nodes.iter_mut().for_each(|node| node.is_durable = true),
        }
    }

    fn make(&mut self, path: &Path, node: Node) {
        self.names.insert(path.to_owned(), self.nodes.len());
        self.nodes.push(node);
    }

    fn change(&mut self, node: usize, change: impl FnOnce(&mut Node)) {
        change(&mut self.nodes[node]);
        self.nodes[node].is_durable = false;
    }

    /// Changes a content. One without a name is nobody's after a crash.
    fn edit(&mut self, path: &Path, change: impl FnOnce(&mut Node)) {
        if let Some(&node) = self.names.get(path) {
            self.change(node, change);
        }
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        let moved: Vec<PathBuf> =
            self.names.keys().filter(|path| path.starts_with(from)).cloned().collect();
        for path in moved {
            let node = self.names.remove(&path).expect("it was listed");
            let below = path.strip_prefix(from).expect("below");
            let target = if below.as_os_str().is_empty() { to.into() } else { to.join(below) };
            self.names.insert(target, node);
        }
    }
}

/// What is lost of a content that was not synced.
#[derive(Debug, Clone, Copy)]
enum Loss {
    Zeros,
    Everything,
    Nothing,
}

impl Loss {
    fn of(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Zeros => vec![0; data.len()],
            Self::Everything => Vec::new(),
            Self::Nothing => data.to_vec(),
        }
    }
}

#[test]
fn after_a_power_loss_the_store_is_whole_and_goes_on() {
    if !can_trace() {
        return;
    }
    let sandbox = Sandbox::new();
    let steps = history(&sandbox);
    let store = sandbox.store();
    fs::rename(&store, sandbox.root().join("as it went")).expect("moved");
    let mut dice = Dice::thrown();
    let losses = number("DRYSTONE_CRASHES", 40);
    let mut lost = 0;
    for loss in 0..losses {
        let end = usize::try_from(dice.below(steps.len() as u64)).expect("small");
        // Names are on the disk since the last sync of all, or of the directory that has them.
        let synced =
            steps[..=end].iter().rposition(|step| matches!(step, Step::SyncAll)).unwrap_or(0);
        let named = synced + usize::try_from(dice.below((end - synced + 1) as u64)).expect("small");
        lost += lose(&store, &steps, (named, end), &mut dice);
        let moment = format!("power loss {loss}: steps to {end}, names to {named}");
        look(&sandbox, false, &moment);
        finish(&sandbox, &moment);
        remove(&store);
    }
    println!(
        "{losses} power losses in {} steps, {lost} contents lost, each followed by a whole store",
        steps.len()
    );
}

/// Everything that changes a store, one after the other.
fn history(sandbox: &Sandbox) -> Vec<Step> {
    greeting(sandbox);
    described(sandbox);
    let store = sandbox.store();
    let mut steps = Vec::new();
    let mut take = |arguments: &[&str]| steps.extend(record(sandbox, arguments, &store));
    take(&["lock"]);
    take(&["build"]);
    let large = fs::read(sandbox.path("archives/large.zip")).expect("an archive");
    describe(sandbox, "2.0", &support::sha256(&large));
    take(&["lock"]);
    take(&["build"]);
    take(&["run", "hello"]);
    take(&["rollback"]);
    take(&["gc", "--older-than", "0s"]);
    take(&["build"]);
    steps
}

/// Makes the store what it may be after a loss; how many contents were lost.
fn lose(store: &Path, steps: &[Step], (named, end): (usize, usize), dice: &mut Dice) -> u64 {
    let mut model = Model::default();
    steps[..=named].iter().for_each(|step| model.take(step));
    // Modes and times come back with the names.
    let then = model.clone();
    let names = &then.names;
    steps[named + 1..=end].iter().for_each(|step| model.take(step));
    let way = dice.below(3);
    let mut written: BTreeMap<usize, &Path> = BTreeMap::new();
    let mut lost = 0;
    for (path, &node) in names {
        let there = &model.nodes[node];
        if there.is_directory {
            fs::create_dir_all(path).expect("a directory");
            continue;
        }
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        if let Some(first) = written.insert(node, path) {
            fs::hard_link(first, path).expect("linked");
            continue;
        }
        let loss = match (there.is_durable, way) {
            (true, _) => Loss::Nothing,
            (false, 0) => Loss::Zeros,
            (false, 1) => Loss::Everything,
            (false, _) => [Loss::Zeros, Loss::Everything, Loss::Nothing]
                [usize::try_from(dice.below(3)).expect("small")],
        };
        lost += u64::from(!matches!(loss, Loss::Nothing) && !there.data.is_empty());
        fs::write(path, loss.of(&there.data)).expect("written");
        if then.nodes[node].has_fixed_time {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_800);
            fs::File::options()
                .write(true)
                .open(path)
                .and_then(|file| file.set_modified(time))
                .expect("dated");
        }
        fs::set_permissions(path, fs::Permissions::from_mode(then.nodes[node].mode))
            .expect("its mode");
    }
    for (path, &node) in names.iter().rev().filter(|(_, node)| model.nodes[**node].is_directory) {
        fs::set_permissions(path, fs::Permissions::from_mode(then.nodes[node].mode))
            .expect("its mode");
    }
    if !store.exists() {
        fs::create_dir(store).expect("an empty one");
    }
    lost
}

fn remove(store: &Path) {
    let opened = std::process::Command::new("chmod").args(["-R", "u+w"]).arg(store).status();
    assert!(opened.expect("chmod starts").success());
    fs::remove_dir_all(store).expect("removed");
}
