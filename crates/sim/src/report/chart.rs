//! Pictures as SVG: lines and bars over axes, plain or logarithmic. Byte for byte the same for the same
//! figures.

use std::fmt::Write as _;

use evenkeel_core::math::ln;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;

/// Colours for so many series; later ones begin again.
pub(super) const COLOURS: usize = 10;

/// The rules of all pictures: light, dark and printed.
pub(super) const STYLE: &str = "\
.chart{--ink:#1b1f24;--faint:#d5d9de;--paper:#fff;--c0:#1f6feb;--c1:#d1242f;--c2:#1a7f37;--c3:#9a6700;--c4:#8250df;\
--c5:#0b7c8c;--c6:#bf3989;--c7:#57606a;--c8:#6f5b00;--c9:#3d5a98;font:12px system-ui,sans-serif;background:var(--paper)}\
@media (prefers-color-scheme:dark){.chart{--ink:#e6e9ed;--faint:#3a4047;--paper:#16191d;--c0:#6cb0ff;--c1:#ff7b72;--c2:#56d364;\
--c3:#e3b341;--c4:#d2a8ff;--c5:#56d4dd;--c6:#ff9bce;--c7:#a8b1bb;--c8:#d8c26a;--c9:#9db7f0}}\
@media print{.chart{--ink:#000;--faint:#bbb;--paper:#fff;--c0:#1f6feb;--c1:#d1242f;--c2:#1a7f37;--c3:#9a6700;--c4:#8250df;\
--c5:#0b7c8c;--c6:#bf3989;--c7:#57606a;--c8:#6f5b00;--c9:#3d5a98}}\
.chart text{fill:var(--ink)}.chart .grid{stroke:var(--faint);stroke-width:1}.chart .mark{stroke:var(--ink);stroke-dasharray:2 3;opacity:.55}\
.chart polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}";

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log,
}

/// One direction of a picture.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) title: String,
    pub(super) scale: Scale,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Axis {
    /// An axis over all values, from 0 or from the least one.
    pub(super) fn over(title: &str, scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let good =
            values.filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0));
        let (least, most) = good.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        let (from, to) = match scale {
            Scale::Linear => (0.0, if most > 0.0 { most * 1.05 } else { 1.0 }),
            Scale::Log if most <= 0.0 => (1.0, 10.0),
            Scale::Log => (power_below(least), power_above(most)),
        };
        Self {
            title: title.to_owned(),
            scale,
            from,
            to,
        }
    }

    /// Where a value lies, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => {
                let value = value.max(self.from);
                log10(value / self.from) / log10(self.to / self.from)
            }
        };
        share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.scale == Scale::Log {
            let powers = (-9..=18).map(power_of_ten);
            let within = self.from * 0.999_999..=self.to * 1.000_001;
            return powers.filter(|power| within.contains(power)).collect();
        }
        let step = step(self.to - self.from);
        let mut ticks = Vec::new();
        let mut at = (self.from / step).ceil() * step;
        while at <= self.to {
            ticks.push(at);
            at += step;
        }
        ticks
    }
}

fn log10(value: f64) -> f64 {
    ln(value) / std::f64::consts::LN_10
}

/// By the tables of the compiler, so that a tenth is a tenth.
fn power_of_ten(exponent: i32) -> f64 {
    let power = 10_f64.powi(exponent.abs());
    if exponent < 0 { 1.0 / power } else { power }
}

fn power_below(value: f64) -> f64 {
    let below = (-8..=18).rev().map(power_of_ten);
    below
        .into_iter()
        .find(|power| *power <= value)
        .unwrap_or(1e-9)
}

/// The power of ten above, so that there is always room.
fn power_above(value: f64) -> f64 {
    power_below(value) * 10.0
}

/// A round step that cuts a span into some five.
fn step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = power_below(rough.max(1e-8));
    let times = rough / power;
    let round = match times {
        ..=1.0 => 1.0,
        ..=2.0 => 2.0,
        ..=5.0 => 5.0,
        _ => 10.0,
    };
    power * round
}

/// A number as short as it can be told.
pub(super) fn short(value: f64) -> String {
    let text = match value.abs() {
        0.0 => return "0".to_owned(),
        ..0.001 => return format!("{value:.0e}"),
        ..0.1 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..100_000.0 => format!("{value:.1}"),
        _ => return format!("{:.0}k", value / 1000.0),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A line of a picture.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// A picture of lines.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    /// Moments that are marked, with their words.
    pub(super) marks: Vec<(f64, String)>,
}

impl Lines {
    pub(super) fn svg(&self) -> String {
        let mut svg = begin(&self.title, legend_rows(self.series.len()));
        axes(&mut svg, &self.x, &self.y);
        for (at, what) in &self.marks {
            let x = across(&self.x, *at);
            let _ = write!(
                svg,
                "<line class=\"mark\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{:.1}\"><title>{}</title></line>",
                HEIGHT - BOTTOM,
                escape(what)
            );
        }
        for (number, series) in self.series.iter().enumerate() {
            let _ = write!(
                svg,
                "<polyline stroke=\"var(--c{})\" points=\"",
                number % COLOURS
            );
            for (x, y) in &series.points {
                let _ = write!(svg, "{:.1},{:.1} ", across(&self.x, *x), down(&self.y, *y));
            }
            let _ = write!(svg, "\"><title>{}</title></polyline>", escape(&series.name));
        }
        legend(
            &mut svg,
            self.series.iter().map(|series| series.name.as_str()),
        );
        svg.push_str("</svg>");
        svg
    }
}

/// A picture of groups of bars.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    pub(super) title: String,
    pub(super) y: Axis,
    pub(super) groups: Vec<String>,
    pub(super) series: Vec<Series>,
}

impl Bars {
    pub(super) fn svg(&self) -> String {
        let mut svg = begin(&self.title, legend_rows(self.series.len()));
        let nothing = Axis {
            title: String::new(),
            scale: Scale::Linear,
            from: 0.0,
            to: 0.0,
        };
        axes(&mut svg, &nothing, &self.y);
        let room = (WIDTH - LEFT - RIGHT) / self.groups.len().max(1) as f64;
        let width = room * 0.8 / self.series.len().max(1) as f64;
        for (at, name) in self.groups.iter().enumerate() {
            let middle = LEFT + room * (at as f64 + 0.5);
            let y = HEIGHT - BOTTOM + 16.0;
            let name = escape(name);
            let _ = write!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>"
            );
        }
        for (number, series) in self.series.iter().enumerate() {
            for (group, value) in &series.points {
                let x = LEFT + room * (group + 0.1) + width * number as f64;
                let top = down(&self.y, *value);
                let height = HEIGHT - BOTTOM - top;
                let _ = write!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"var(--c{})\"><title>{}: {}</title></rect>",
                    number % COLOURS,
                    escape(&series.name),
                    short(*value)
                );
            }
        }
        legend(
            &mut svg,
            self.series.iter().map(|series| series.name.as_str()),
        );
        svg.push_str("</svg>");
        svg
    }
}

fn legend_rows(series: usize) -> usize {
    series.div_ceil(3)
}

fn begin(title: &str, rows: usize) -> String {
    let height = HEIGHT + 18.0 * rows as f64;
    format!(
        "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    )
}

fn axes(svg: &mut String, x: &Axis, y: &Axis) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in y.ticks() {
        let at = down(y, tick);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            short(tick)
        );
    }
    if x.to > x.from {
        for tick in x.ticks() {
            let at = across(x, tick);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                short(tick)
            );
        }
    }
    let middle = f64::midpoint(LEFT, right);
    let _ = write!(
        svg,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text><text transform=\"translate(12 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        bottom + 34.0,
        escape(&x.title),
        f64::midpoint(TOP, bottom),
        escape(&y.title)
    );
}

fn legend<'n>(svg: &mut String, names: impl Iterator<Item = &'n str>) {
    let room = (WIDTH - LEFT) / 3.0;
    for (number, name) in names.enumerate() {
        let x = LEFT + room * (number % 3) as f64;
        let y = HEIGHT + 12.0 + 18.0 * (number / 3) as f64;
        let _ = write!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"4\" fill=\"var(--c{})\"/><text x=\"{:.1}\" y=\"{y}\">{}</text>",
            y - 6.0,
            number % COLOURS,
            x + 18.0,
            escape(name)
        );
    }
}

fn across(axis: &Axis, value: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * axis.place(value)
}

fn down(axis: &Axis, value: f64) -> f64 {
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.place(value)
}

/// Text as it stands in SVG and HTML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A picture as a file of its own.
pub(super) fn alone(svg: &str) -> String {
    let (head, rest) = svg.split_once('>').unwrap_or((svg, ""));
    format!("{head}><style>{STYLE}</style>{rest}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let axis = Axis::over("", Scale::Linear, [0.0, 17.0].into_iter());
        assert_eq!(axis.ticks(), [0.0, 5.0, 10.0, 15.0]);
        let axis = Axis::over("", Scale::Log, [0.03, 40.0].into_iter());
        let ticks: Vec<String> = axis.ticks().into_iter().map(short).collect();
        assert_eq!(ticks, ["0.01", "0.1", "1", "10", "100"]);
        let axis = Axis::over("", Scale::Log, [1e-6, 0.5].into_iter());
        let ticks: Vec<String> = axis.ticks().into_iter().map(short).collect();
        assert_eq!(ticks[..3], ["1e-6", "1e-5", "1e-4"]);
        let axis = Axis::over("", Scale::Log, [0.03, 40.0].into_iter());
        assert!((axis.place(1.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn nothing_to_draw_is_a_picture_too() {
        let axis = |scale| Axis::over("x", scale, std::iter::empty());
        let lines = Lines {
            title: "<&>".to_owned(),
            x: axis(Scale::Linear),
            y: axis(Scale::Log),
            series: Vec::new(),
            marks: Vec::new(),
        };
        let svg = lines.svg();
        assert!(svg.contains("aria-label=\"&lt;&amp;&gt;\"") && svg.ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
