//! The question "is this content here?" beside gc, as a model whose every interleaving is tried.
//!
//! What is modelled is rule 5 of the store: whoever wants a content writes that down, under the gc lock
//! that it shares for this step only, and asks afterwards; gc takes the lock alone, reads what is
//! wanted, and removes the rest. A model is not the program: it shows that the order of the steps is
//! right, and that another order would not be. `tests/races.rs` has real processes.

#![cfg(target_os = "linux")]

use loom::sync::{Arc, Mutex, RwLock};
use loom::thread;

/// A store of one content.
#[derive(Default)]
struct Store {
    gc: RwLock<()>,
    /// How many wrote down that they want it.
    roots: Mutex<u32>,
    is_here: Mutex<bool>,
}

impl Store {
    fn with_the_content() -> Self {
        Self { is_here: Mutex::new(true), ..Self::default() }
    }

    fn want(&self) {
        let _shared = self.gc.read().expect("no panic");
        *self.roots.lock().expect("no panic") += 1;
    }

    fn is_here(&self) -> bool {
        *self.is_here.lock().expect("no panic")
    }

    /// Writes it where it is not: under its name at once, as a rename does.
    fn put(&self) {
        *self.is_here.lock().expect("no panic") = true;
    }

    fn collect(&self) {
        let _alone = self.gc.write().expect("no panic");
        let wanted = *self.roots.lock().expect("no panic") > 0;
        if !wanted {
            *self.is_here.lock().expect("no panic") = false;
        }
    }
}

/// How a build makes sure of a content; what is told is whether it is there in the end.
fn built_beside_gc(store: fn() -> Store, build: fn(&Store)) -> bool {
    let lost = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = std::sync::Arc::clone(&lost);
    loom::model(move || {
        let store = Arc::new(store());
        let collector = Arc::clone(&store);
        let gc = thread::spawn(move || collector.collect());
        build(&store);
        gc.join().expect("no panic");
        if !store.is_here() {
            told.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    !lost.load(std::sync::atomic::Ordering::Relaxed)
}

fn wants_and_then_asks(store: &Store) {
    store.want();
    if !store.is_here() {
        store.put();
    }
}

#[test]
fn what_is_wanted_before_it_is_asked_for_is_never_lost() {
    assert!(built_beside_gc(Store::default, wants_and_then_asks));
    assert!(
        built_beside_gc(Store::with_the_content, wants_and_then_asks),
        "a content that was here"
    );
}

#[test]
fn two_that_want_the_same_content_lose_it_neither() {
    loom::model(|| {
        let store = Arc::new(Store::with_the_content());
        let others: Vec<_> = [wants_and_then_asks, Store::collect as fn(&Store)]
            .into_iter()
            .map(|work| {
                let store = Arc::clone(&store);
                thread::spawn(move || work(&store))
            })
            .collect();
        wants_and_then_asks(&store);
        assert!(store.is_here(), "it was wanted and made sure of");
        others.into_iter().for_each(|other| other.join().expect("no panic"));
        assert!(store.is_here());
    });
}

#[test]
fn the_model_finds_what_the_other_orders_lose() {
    let asks_first = |store: &Store| {
        if !store.is_here() {
            store.put();
        }
        store.want();
    };
    assert!(!built_beside_gc(Store::with_the_content, asks_first), "gc may come in between");
    let never_wants = |store: &Store| {
        if !store.is_here() {
            store.put();
        }
    };
    assert!(!built_beside_gc(Store::default, never_wants));
}
