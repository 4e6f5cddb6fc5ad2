//! The line that stands before the decisions of a generation.

use evenkeel_receipts::SnapshotLine;

use crate::clock::time_of_day;
use crate::cluster::View;
use crate::log::Heading;
use evenkeel_receipts::rfc3339;

impl Heading for View {
    fn key(&self) -> u64 {
        self.snapshot.serial()
    }

    fn write(&self, out: &mut Vec<u8>) {
        let time = rfc3339(time_of_day());
        let record = self.snapshot.record();
        let line = SnapshotLine {
            time: &time,
            record: &record,
        };
        line.write(out);
    }
}
