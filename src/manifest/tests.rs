//! What a person sees of manifests that are wrong, and what right ones become.
