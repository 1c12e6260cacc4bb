//! A tree's text: it is refused, or is the one text of that tree.

use drystone::model::{Kind, Tree, TreeBuilder};

/// Parses the bytes as a tree's text.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let tree = match Tree::parse(text) {
        Ok(tree) => tree,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(tree.to_string(), text, "two texts of one tree");
    let mut builder = TreeBuilder::default();
    for entry in tree.entries().iter().rev() {
        builder.add(entry.clone()).expect("an entry of a tree");
        assert_eq!(tree.get(&entry.path), Some(entry));
        assert_eq!(entry.blob.is_none(), entry.kind == Kind::Directory);
    }
    let built = builder.finish().expect("the entries of a tree");
    assert_eq!(built.id(), tree.id());
    assert!(tree.differences(&built).is_empty());
    assert_eq!(Tree::default().differences(&tree).len(), tree.entries().len());
    let _sizes = (tree.size(), tree.file_count());
}
