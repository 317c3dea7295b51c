//! Charts as SVG, which names no font except the reader's default.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::figures::{Along, CaseFigures, Scaling};
use crate::cases::Size;
use crate::error::Error;

/// The scale of the figures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Logarithmic,
}

/// Draws speed by size or depth, with a line for each implementation.
pub(super) fn by_point(figures: &CaseFigures<'_>, scale: Scale, of: &str) -> Result<String, Error> {
    draw(LINES_HEIGHT, |root| draw_by_point(root, figures, scale, of))
}

/// Draws speed relative to one thread, with a bar for each case and number of threads.
pub(super) fn by_threads(all: &[Scaling<'_>]) -> Result<String, Error> {
    let bars: usize = all.iter().map(|one| one.over_one.len()).sum();
    let height = (bars * BAR_HEIGHT + all.len() * GROUP_GAP) as u32 + AXIS_HEIGHT;
    draw(height, |root| draw_by_threads(root, all))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn draw(height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, Error> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)
            .and_then(|()| draw(&root))
            .and_then(|()| root.present())
            .map_err(|error| Error::Failed(format!("drawing a chart: {error}")))?;
    }
    Ok(svg)
}

fn draw_by_point(root: &Area<'_>, figures: &CaseFigures<'_>, scale: Scale, of: &str) -> Drawn {
    let (plot, _) = root.split_horizontally(LEGEND_LEFT);
    let points = figures.points();
    let names = figures.implementations();
    let all = names
        .iter()
        .flat_map(|name| points.iter().filter_map(|point| figures.rate(name, *point)));
    let most = all.clone().fold(f64::MIN_POSITIVE, f64::max);
    let least = all.fold(most, f64::min);
    let y_axis = match scale {
        Scale::Linear => Axis::linear(most),
        Scale::Logarithmic => Axis::logarithmic(least, most),
    };
    let y_of = |rate: f64| match scale {
        Scale::Linear => rate,
        Scale::Logarithmic => rate.log10(),
    };
    let x_of = |point: usize| (point as f64).log2();
    let marks: Vec<f64> = points.iter().map(|point| x_of(*point)).collect();
    let ends = marks.first().copied().zip(marks.last().copied());
    let (first, last) = ends.unwrap_or_default();
    let x_axis = Axis {
        range: first - 0.3..last + 0.3,
        marks,
    };

    let mut chart = ChartBuilder::on(&plot)
        .margin_top(16)
        .margin_right(24)
        .x_label_area_size(52)
        .y_label_area_size(72)
        .build_cartesian_2d(x_axis, y_axis)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK.stroke_width(1))
        .label_style(text(LABEL))
        .axis_desc_style(text(LABEL))
        .x_desc(of)
        .y_desc(figures.unit)
        .x_label_formatter(&|log| point_shown(figures.along, log.exp2().round() as usize))
        .y_label_formatter(&|y| match scale {
            Scale::Linear => figure_shown(*y),
            Scale::Logarithmic => figure_shown(10_f64.powf(*y)),
        })
        .draw()?;

    // Draw Oarlock last, so that no other line covers it.
    for name in names.iter().rev() {
        let look = Look::of(name);
        let points: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|point| Some((x_of(*point), y_of(figures.rate(name, *point)?))))
            .collect();
        let line = look.color.stroke_width(look.width);
        chart.draw_series([PathElement::new(points.clone(), line)])?;
        for point in points {
            root.draw(&look.marker_at(chart.backend_coord(&point)))?;
        }
    }
    for (row, name) in names.iter().enumerate() {
        let look = Look::of(name);
        let (x, y) = (LEGEND_LEFT, 34 + 26 * row as i32);
        let line = look.color.stroke_width(look.width);
        root.draw(&PathElement::new([(x, y), (x + 30, y)], line))?;
        root.draw(&look.marker_at((x + 15, y)))?;
        root.draw(&Text::new(
            shown_name(name).to_owned(),
            (x + 40, y),
            beside(),
        ))?;
    }
    Ok(())
}

fn draw_by_threads(root: &Area<'_>, all: &[Scaling<'_>]) -> Drawn {
    let counts = || all.iter().flat_map(|one| &one.over_one);
    let threads_max = counts().map(|(threads, _)| *threads).max().unwrap_or(1);
    let best = counts().map(|(_, ratio)| *ratio).fold(1.0, f64::max);
    let most = best.max(threads_max as f64);
    let height = root.dim_in_pixel().1 - AXIS_HEIGHT;
    let mut chart = ChartBuilder::on(root)
        .margin_right(24)
        .margin_top(12)
        .x_label_area_size(AXIS_HEIGHT - 12)
        .y_label_area_size(CASE_WIDTH)
        // The vertical axis points down, in pixels.
        .build_cartesian_2d(Axis::linear(most * 1.04), f64::from(height)..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK.stroke_width(1))
        .label_style(text(LABEL))
        .axis_desc_style(text(LABEL))
        .x_desc("times the speed of one thread")
        .x_label_formatter(&|x| figure_shown(*x))
        .draw()?;

    let mut top = 0.0;
    for group in all {
        let begins = top + GROUP_GAP as f64 / 2.0;
        top = begins;
        for (threads, ratio) in &group.over_one {
            let shade = THREADS[usize::ilog2(*threads) as usize % THREADS.len()];
            let bar = [(0.0, top + 2.0), (*ratio, top + BAR_HEIGHT as f64 - 2.0)];
            chart.draw_series([Rectangle::new(bar, shade.filled())])?;
            let middle = top + BAR_HEIGHT as f64 / 2.0;
            let label = format!("{ratio:.2}  with {threads} threads");
            let x = chart.backend_coord(&(0.0, middle));
            root.draw(&Text::new(label, (x.0 + 8, x.1), on_a_bar()))?;
            top += BAR_HEIGHT as f64;
        }
        let middle = chart.backend_coord(&(0.0, f64::midpoint(begins, top)));
        let name = group.case.to_owned();
        root.draw(&Text::new(name, (middle.0 - 8, middle.1), before()))?;
        top += GROUP_GAP as f64 / 2.0;
    }
    let one_thread = [(1.0, 0.0), (1.0, f64::from(height))];
    chart.draw_series([PathElement::new(one_thread, INK.stroke_width(1))])?;
    Ok(())
}

/// An axis with its marks.
struct Axis {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Axis {
    /// Creates an axis from 0, with marks at round figures.
    fn linear(most: f64) -> Self {
        let rough = most / 6.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0].map(|step| step * decade);
        let step = steps.into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(decade * 10.0);
        let count = (most / step).ceil() as usize;
        Self {
            range: 0.0..count as f64 * step,
            marks: (0..=count).map(|number| number as f64 * step).collect(),
        }
    }

    /// Creates an axis of decimal logarithms, with marks at 1, 2 and 5 of each decade.
    fn logarithmic(least: f64, most: f64) -> Self {
        let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
        let marks: Vec<f64> = decades
            .flat_map(|decade| [1.0, 2.0, 5.0].map(|step: f64| step.log10() + f64::from(decade)))
            .collect();
        let (least, most) = (least.log10(), most.log10());
        let from = marks.iter().copied().rfind(|mark| *mark <= least);
        let to = marks.iter().copied().find(|mark| *mark >= most);
        let (from, to) = (from.unwrap_or(least), to.unwrap_or(most));
        // A single figure needs a range too.
        let to = if to > from { to } else { from + 1.0 };
        let within = |mark: &f64| (from..=to).contains(mark);
        Self {
            range: from..to,
            marks: marks.into_iter().filter(within).collect(),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        from + (part * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// The appearance of an implementation: distinguished by the marker if not by colour.
struct Look {
    color: RGBColor,
    marker: &'static [(i32, i32)],
    width: u32,
}

impl Look {
    /// Returns the appearance. The colours can be told apart with every kind of colour blindness: Okabe and Ito, "Color
    /// Universal Design", 2008.
    fn of(name: &str) -> Self {
        let (color, marker) = match name {
            "oarlock" => (RGBColor(213, 94, 0), CIRCLE),
            "openssl" => (RGBColor(0, 114, 178), SQUARE),
            "aws-lc" => (RGBColor(0, 158, 115), TRIANGLE),
            "rustcrypto" => (RGBColor(204, 121, 167), DIAMOND),
            "ipsec-mb" => (RGBColor(0, 0, 0), CROSS),
            "prefetch" => (RGBColor(86, 180, 233), DIAMOND),
            "crypto-mb" => (RGBColor(0, 0, 0), CROSS),
            "ring" => (RGBColor(204, 121, 167), DIAMOND),
            "inline" => (RGBColor(110, 110, 110), TRIANGLE),
            _ => (RGBColor(230, 159, 0), CROSS),
        };
        Self {
            color,
            marker,
            width: if name == "oarlock" { 3 } else { 2 },
        }
    }

    /// Returns the marker at a place in pixels of the whole chart.
    fn marker_at(&self, (x, y): (i32, i32)) -> Polygon<(i32, i32)> {
        let shape = self
            .marker
            .iter()
            .map(|(right, down)| (x + right, y + down));
        Polygon::new(shape.collect::<Vec<_>>(), self.color.filled())
    }
}

/// Returns the public name of an implementation.
pub(super) fn shown_name(name: &str) -> &str {
    match name {
        "oarlock" => "Oarlock",
        "openssl" => "OpenSSL",
        "aws-lc" => "AWS-LC",
        "rustcrypto" => "RustCrypto",
        "ipsec-mb" => "intel-ipsec-mb",
        "crypto-mb" => "crypto_mb",
        "inline" => "Oarlock, inline",
        "stripe" => "Oarlock, stripes",
        "prefetch" => "Oarlock, prefetch",
        "kernel" => "Oarlock, kernels",
        other => other,
    }
}

pub(super) fn point_shown(along: Along, point: usize) -> String {
    match along {
        Along::Bytes => bytes_shown(point),
        Along::Depth => point.to_string(),
    }
}

pub(super) fn bytes_shown(bytes: usize) -> String {
    let size = Size(bytes).to_string();
    match size.strip_suffix(['k', 'm', 'g']) {
        Some(number) => format!("{number} {}iB", size[number.len()..].to_uppercase()),
        None => format!("{size} B"),
    }
}

/// Formats a figure with three significant digits.
pub(super) fn three_digits(figure: f64) -> String {
    let decimals = (2.0 - figure.abs().log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{figure:.decimals$}")
}

/// Formats a figure like [`three_digits`], without trailing zeros.
fn figure_shown(figure: f64) -> String {
    if figure == 0.0 {
        return "0".to_owned();
    }
    let text = three_digits(figure);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// Returns the style of a text to the right of its point, vertically centred.
fn beside() -> TextStyle<'static> {
    text(LABEL).pos(Pos::new(HPos::Left, VPos::Center))
}

fn before() -> TextStyle<'static> {
    text(LABEL).pos(Pos::new(HPos::Right, VPos::Center))
}

fn on_a_bar() -> TextStyle<'static> {
    let white = (FONT, LABEL).into_font().color(&WHITE);
    white.pos(Pos::new(HPos::Left, VPos::Center))
}

const WIDTH: u32 = 920;
const LINES_HEIGHT: u32 = 400;
const LEGEND_LEFT: i32 = 730;
const CASE_WIDTH: u32 = 200;
const AXIS_HEIGHT: u32 = 64;
const BAR_HEIGHT: usize = 24;
const GROUP_GAP: usize = 10;

const FONT: &str = "sans-serif";
const LABEL: u32 = 14;
const INK: RGBColor = RGBColor(26, 26, 26);
const GRID: RGBColor = RGBColor(222, 222, 222);
/// The colours of bars, dark enough for white text.
const THREADS: &[RGBColor] = &[
    RGBColor(0, 90, 140),
    RGBColor(0, 114, 178),
    RGBColor(166, 73, 0),
    RGBColor(0, 110, 80),
];

/// Markers, in pixels around their point.
const CIRCLE: &[(i32, i32)] = &[
    (5, 0),
    (5, 2),
    (4, 4),
    (2, 5),
    (0, 5),
    (-2, 5),
    (-4, 4),
    (-5, 2),
    (-5, 0),
    (-5, -2),
    (-4, -4),
    (-2, -5),
    (0, -5),
    (2, -5),
    (4, -4),
    (5, -2),
];
const SQUARE: &[(i32, i32)] = &[(-4, -4), (4, -4), (4, 4), (-4, 4)];
const TRIANGLE: &[(i32, i32)] = &[(0, -6), (6, 4), (-6, 4)];
const DIAMOND: &[(i32, i32)] = &[(0, -6), (6, 0), (0, 6), (-6, 0)];
const CROSS: &[(i32, i32)] = &[
    (0, -2),
    (4, -6),
    (6, -4),
    (2, 0),
    (6, 4),
    (4, 6),
    (0, 2),
    (-4, 6),
    (-6, 4),
    (-2, 0),
    (-6, -4),
    (-4, -6),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (figure, shown) in [
            (0.0, "0"),
            (0.0137, "0.0137"),
            (0.5, "0.5"),
            (1.0, "1"),
            (9.456, "9.46"),
            (28.17, "28.2"),
            (100.0, "100"),
            (1234.0, "1234"),
        ] {
            assert_eq!(figure_shown(figure), shown);
        }
        for (bytes, shown) in [
            (64, "64 B"),
            (1000, "1000 B"),
            (16 << 10, "16 KiB"),
            (4 << 20, "4 MiB"),
        ] {
            assert_eq!(bytes_shown(bytes), shown);
        }
    }

    #[test]
    fn axes_hold_their_figures() {
        for most in [1e-4, 0.013, 0.99, 1.0, 9.9, 28.0, 1000.0] {
            let Axis { range, marks } = Axis::linear(most);
            assert!(range.contains(&(most * 0.999)), "{most}");
            assert!((3..=12).contains(&marks.len()), "{most} {marks:?}");
            let Axis { range, marks } = Axis::logarithmic(most / 50.0, most);
            assert!(range.contains(&(most / 50.0 * 1.001).log10()), "{most}");
            assert!(range.end >= most.log10(), "{most}");
            assert!(marks.len() >= 3, "{most} {marks:?}");
        }
        assert!(!Axis::logarithmic(1.0, 1.0).range.is_empty());
    }
}
