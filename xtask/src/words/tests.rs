use super::*;

#[test]
fn words_of_a_document_are_found_with_their_lines() {
    let text =
        "Beside it.\nBesides, `beside` is code.\nA device-beside-a-hog; it waits in vain, anew.\n";
    let lines: Vec<usize> = document(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 3, 3]);
}

#[test]
fn comments_and_strings_of_a_source_count_and_code_does_not() {
    let text = "fn beside() {} // meanwhile\nlet a = \"anew \\\" likewise\";\n/* beside */ let b = r#\"for \" ever\"#;\nlet c = '\"'; beside();\n";
    let lines: Vec<usize> = source(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 2, 2, 3]);
}

#[test]
fn a_doc_comment_that_begins_without_its_subject_is_found() {
    let text = "/// Of a key.\nstruct A;\n/// A key.\n/// Of one.\nstruct B;\n// Of none.\n//! Who asks.\n";
    let lines: Vec<usize> = source(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 7]);
}
