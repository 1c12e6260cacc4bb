//! `drystone lock`: the same bytes from anywhere, contents, recorded hashes, optional packages.

mod support;

use support::Sandbox;

const LOCK: &str = "lockfiles/greetings.lock.kdl";

#[test]
fn the_same_bytes_come_from_another_directory_and_a_crlf_checkout() {
    let first = Sandbox::greeting();
    first.succeed(&["lock"]);
    let second = Sandbox::greeting();
    let crlf = second.read("env.kdl").replace('\n', "\r\n");
    second.write("env.kdl", crlf);
    second.succeed(&["lock"]);
    assert_eq!(first.read(LOCK), second.read(LOCK));
    let crlf_lock = second.read(LOCK).replace('\n', "\r\n");
    second.write(LOCK, &crlf_lock);
    second.succeed(&["lock", "--check"]);
    second.succeed(&["lock"]);
    assert_eq!(second.read(LOCK), crlf_lock, "a lock that says the same is left alone");
}

#[test]
fn the_lock_holds_nothing_of_the_machine() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let lock = sandbox.read(LOCK);
    let root = sandbox.root().display().to_string();
    assert!(!lock.contains(&root), "{lock}");
    assert!(!lock.contains('\r'));
}

#[test]
fn contents_are_recorded_stay_on_and_bind_every_build() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock", "--contents"]);
    let lock = sandbox.read(LOCK);
    assert_eq!(lock.matches("tree \"blake3:").count(), 6, "{lock}");
    sandbox.manifest("2.0");
    sandbox.succeed(&["lock"]);
    assert_eq!(sandbox.read(LOCK).matches("tree \"blake3:").count(), 6);
    sandbox.succeed(&["--locked", "build"]);
}

#[test]
fn contents_find_a_collision_when_locking() {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox.read("env.kdl").replace("size ", "into \"same\"\n            size ");
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    let said = sandbox.fail(&["lock", "--contents"]);
    for expected in ["hello", "greeting", "same/greeting.txt", "override"] {
        assert!(said.contains(expected), "no {expected} in:\n{said}");
    }
}

#[test]
fn a_hash_that_nobody_published_is_recorded_and_said() {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox.read("env.kdl");
    let at = manifest.find("            sha256").expect("a hash");
    let end = at + manifest[at..].find('\n').expect("a line") + 1;
    sandbox.write("env.kdl", format!("{}{}", &manifest[..at], &manifest[end..]));
    let archive = std::fs::read(sandbox.path("archives/hello-1.0.zip")).expect("the archive");
    let hash = support::sha256(&archive);
    let said = sandbox.succeed(&["lock"]);
    assert!(said.contains("no published hash") && said.contains(&hash), "{said}");
    assert!(sandbox.read(LOCK).contains(&hash));
    let again = sandbox.json(&["lock"]);
    assert_eq!(again["locks"][0]["recorded"].as_array().map(Vec::len), Some(0));
    std::fs::write(sandbox.path("archives/hello-1.0.zip"), "something else").expect("changed");
    sandbox.succeed(&["lock", "--check"]);
    assert!(sandbox.read(LOCK).contains(&hash), "what was recorded stays");
}

#[test]
fn an_optional_package_is_locked_and_built_only_when_asked_for() {
    let sandbox = Sandbox::greeting();
    sandbox.zip("extra.zip", &[("extra.txt", b"extra\n", 0o644)]);
    let hash = support::sha256(&std::fs::read(sandbox.path("archives/extra.zip")).expect("extra"));
    let manifest = sandbox.read("env.kdl").replacen(
        "    use \"hello\" \"1.0\"\n",
        "    use \"hello\" \"1.0\"\n    use \"extra\" \"1\" optional=#true\n",
        1,
    ) + &format!(
        "\npackage \"extra\" {{\n    version \"1\" {{\n        source {{\n            url \"file:archives/extra.zip\"\n            sha256 \"{hash}\"\n        }}\n    }}\n}}\n"
    );
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    assert!(sandbox.read(LOCK).contains("package \"extra\""));
    assert_eq!(sandbox.json(&["build"])["packages"], 2);
    let with = sandbox.json(&["build", "--with", "extra"]);
    assert_eq!((with["packages"].as_u64(), with["generation"].as_u64()), (Some(3), Some(2)));
    let said = sandbox.fail(&["build", "--with", "extras"]);
    assert!(said.contains("its optional packages: extra"), "{said}");
}

#[test]
fn versions_of_the_old_lock_stay_until_an_update_is_asked_for() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let manifest =
        sandbox.read("env.kdl").replacen("use \"greeting\" \"1.0\"", "use \"greeting\" \">=1\"", 1);
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    assert!(!sandbox.read(LOCK).contains("greeting-2.0"));
    let said = sandbox.succeed(&["lock", "--update"]);
    assert!(said.contains("1.0 → 2.0"), "{said}");
    assert!(sandbox.read(LOCK).contains("greeting-2.0"));
}

#[test]
fn a_cycle_is_refused_with_every_step_of_it() {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox
        .read("env.kdl")
        .replacen(
            "        overlay \"greeting.txt\"",
            "        overlay \"greeting.txt\"\n        requires \"hello\" \"1.0\"",
            1,
        )
        .replacen(
            "            strip 1\n        }\n",
            "            strip 1\n        }\n        requires \"greeting\" \"1.0\"\n",
            1,
        );
    sandbox.write("env.kdl", manifest);
    let said = sandbox.fail(&["lock"]);
    assert!(said.contains("greeting → hello → greeting"), "{said}");
}
