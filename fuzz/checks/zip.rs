//! A zip archive, sniffed or declared, with names in UTF-8 or in Shift JIS.

use drystone::model::ArchiveFormat;

use super::archive::{self, How};

/// Unpacks the bytes as the first of them says.
pub fn check(bytes: &[u8]) {
    let Some((how, archive)) = How::of(bytes) else { return };
    let mut options = how.options();
    options.format = how.declares_format().then_some(ArchiveFormat::Zip);
    options.encoding = how.own().then(|| "shift_jis".to_owned());
    archive::check(archive, how, &options);
}
