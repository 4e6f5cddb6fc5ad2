//! Puts the dashboard into the crate, if it was built (`dashboard/dist/page`), else a page that says how to
//! build it. Never runs npm and never writes into the source tree: whoever has only cargo gets a gateway.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let dist = here.join("../../dashboard/dist");
    let placeholder = here.join("src/page/placeholder.html");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", placeholder.display());
    // The folder is there without a build too: cargo would run this each time for one that is missing.
    if dist.is_dir() {
        println!("cargo::rerun-if-changed={}", dist.display());
    }
    let page = dist.join("page");
    let index = page.join("index.html");
    let is_built = index.is_file();
    let mut files = String::new();
    if is_built {
        files += &entry("/", &index)?;
        let assets = page.join("assets");
        let mut names: Vec<PathBuf> = fs::read_dir(&assets)?
            .map(|found| found.map(|found| found.path()))
            .collect::<Result<_, _>>()?;
        names.sort();
        for path in names {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.ok_or("a file of the dashboard has a name that is no text")?;
            if path.extension().is_none_or(|end| end != "gz") {
                files += &entry(&format!("/assets/{name}"), &path)?;
            }
        }
    } else {
        files += &entry("/", &placeholder)?;
    }
    let table =
        format!("const IS_BUILT: bool = {is_built};\nconst FILES: &[File] = &[\n{files}];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("page.rs"), table)?;
    Ok(())
}

/// The line of a file in the table.
fn entry(path: &str, file: &Path) -> Result<String, Box<dyn Error>> {
    let bytes = fs::read(file)?;
    let kind = match file.extension().and_then(|end| end.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        other => return Err(format!("{}: what is {other:?}?", file.display()).into()),
    };
    let mut name = file.as_os_str().to_owned();
    name.push(".gz");
    let packed = PathBuf::from(name);
    let mut line = format!("    File {{ path: {path:?}, kind: {kind:?}, ");
    write!(line, "tag: \"\\\"{:016x}\\\"\", ", tag(&bytes))?;
    write!(line, "plain: include_bytes!({:?}), ", file.canonicalize()?)?;
    if packed.is_file() {
        write!(
            line,
            "packed: Some(include_bytes!({:?}))",
            packed.canonicalize()?
        )?;
    } else {
        line += "packed: None";
    }
    line += " },\n";
    Ok(line)
}

/// FNV-1a: tells one build of a file from another, and nothing hangs on who could forge it.
fn tag(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
