//! Files of live figures and pages of metrics from arbitrary bytes: no panic, and nothing that a terminal
//! would act on in what is read from them.

use arbitrary::Arbitrary;
use oarlock_engine::costs::published::Figures;
use oarlock_net::client::PageFigures;

fuzz_target!(|input: Input| {
    match input {
        Input::File(bytes) => file(&bytes),
        Input::Edited(edits) => {
            let mut bytes = example();
            for (at, byte) in edits {
                let at = at as usize % bytes.len();
                bytes[at] = byte;
            }
            file(&bytes);
        }
        Input::Page(text) => page(&text),
        Input::Lines(lines) => {
            let lines = lines.iter().map(|(name, device, value)| {
                let name = NAMES[usize::from(*name) % NAMES.len()];
                format!("oarlock_{name}{{device=\"{device}\",requests=\"{value}\"}} {value}\n")
            });
            page(&lines.collect::<String>());
        }
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    File(Vec<u8>),
    /// A file that is right, but for some bytes.
    Edited(Vec<(u32, u8)>),
    Page(String),
    Lines(Vec<(u8, String, u64)>),
}

fn file(bytes: &[u8]) {
    let Ok(figures) = Figures::parse(bytes) else {
        return;
    };
    assert!(plain(&figures.program));
    assert!(!figures.processes.is_empty());
    for device in &figures.devices {
        assert!(plain(&device.name));
    }
}

fn page(text: &str) {
    let Ok(figures) = PageFigures::parse(text) else {
        return;
    };
    for name in figures.devices.keys() {
        assert!(!name.chars().any(char::is_control));
    }
    for line in &figures.requests {
        let words = [&line.client, &line.operation, &line.code];
        assert!(words.iter().all(|it| !it.chars().any(char::is_control)));
    }
}

fn plain(text: &str) -> bool {
    text.len() <= 32 && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// The head of a file, of this version, and nothing counted.
fn example() -> Vec<u8> {
    let mut bytes = vec![0; Figures::FILE_BYTES];
    bytes[..16].copy_from_slice(&Figures::file_begin());
    bytes
}

const NAMES: [&str; 5] = [
    "batches",
    "device_up",
    "requests_total",
    "service_seconds_sum",
    "waiting",
];
