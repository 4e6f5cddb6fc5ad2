//! Tables of text: columns as wide as they must be, numbers to the right.

/// A table of text.
#[derive(Debug)]
pub(crate) struct Table {
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings; those that begin with `>` are columns of numbers.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let shown = headings
            .iter()
            .map(|heading| heading.trim_start_matches('>'));
        Self {
            right: headings
                .iter()
                .map(|heading| heading.starts_with('>'))
                .collect(),
            rows: vec![shown.map(str::to_owned).collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table, each line ended.
    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, after) = if *right {
                    (space.as_str(), "")
                } else {
                    ("", space.as_str())
                };
                line.push_str(&format!("{before}{cell}{after}  "));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["id", ">requests", "state"]);
        table.row(["ä".to_owned(), "7".to_owned(), "ready".to_owned()]);
        table.row(["long".to_owned(), "12345678901".to_owned(), String::new()]);
        assert_eq!(
            table.render(),
            "id       requests  state\n\
             ä               7  ready\n\
             long  12345678901\n"
        );
    }
}
