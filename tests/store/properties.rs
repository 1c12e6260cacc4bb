//! What must hold of any contents.

use std::collections::BTreeMap;
use std::fs;

use drystone::model::{Entry, Kind, NoProgress, TreeBuilder};
use proptest::prelude::*;

use crate::scratch::{Scratch, contents, label, verify};

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_staged_tree_is_realised_byte_for_byte(
        files in proptest::collection::btree_map(
            "[a-e]{1,2}(/[f-j]{1,2}){0,3}",
            (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..40), 0usize..4000),
            0..30,
        )
    ) {
        let scratch = Scratch::new();
        let store = scratch.store();
        let staging = store.stage().expect("staging");
        let mut builder = TreeBuilder::default();
        let mut expected = BTreeMap::new();
        for (path, (executable, seed, repeat)) in &files {
            // Some contents are large enough to leave memory.
            let content = seed.repeat(*repeat);
            let executable = *executable && cfg!(unix);
            let kind = if executable { Kind::Executable } else { Kind::File };
            let (blob, size) = staging.add(&content, executable).expect("staged");
            builder.add(Entry::content(kind, size, blob, path.parse().expect("a path"))).expect("new");
            expected.insert(path.clone(), content);
        }
        if let Ok(tree) = builder.finish() {
            staging.commit(&[&tree], &[]).expect("committed");
            let realised = store.realise(&tree, &label(), &NoProgress).expect("realised");
            prop_assert_eq!(contents(&realised.path), expected);
            prop_assert!(verify(&store).is_clean());
            prop_assert_eq!(fs::read_dir(scratch.root().join("realised")).expect("listed").count(), 1);
        }
    }
}
