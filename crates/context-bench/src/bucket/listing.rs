//! The XML of lists and errors, as much of it as we read.

/// One page of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListPage {
    pub(super) keys: Vec<String>,
    /// What the next page is asked for with.
    pub(super) next: Option<String>,
}

/// Reads a page; `None` if it is something else.
pub(super) fn page(text: &str) -> Option<ListPage> {
    let list = element(text, "ListBucketResult")?;
    let mut page = ListPage::default();
    let mut rest = list;
    while let Some((inside, after)) = next(rest, "Contents") {
        page.keys.extend(element(inside, "Key").map(unescaped));
        rest = after;
    }
    if element(list, "IsTruncated").is_some_and(|text| text.trim() == "true") {
        page.next = element(list, "NextContinuationToken").map(unescaped);
    }
    Some(page)
}

/// The code of an error, if it is one.
pub(super) fn error_code(text: &str) -> Option<String> {
    let code = element(element(text, "Error")?, "Code")?;
    let is_word = !code.is_empty()
        && code.len() <= 64
        && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    is_word.then(|| code.to_owned())
}

/// The region that an error says a bucket is in.
pub(super) fn error_region(text: &str) -> Option<String> {
    let region = element(element(text, "Error")?, "Region")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!region.is_empty() && region.len() <= 32 && region.chars().all(plain))
        .then(|| region.to_owned())
}

/// What is between the first tags of that name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    next(text, name).map(|(inside, _)| inside)
}

/// The same, and what follows.
fn next<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let open = format!("<{name}");
    let mut rest = text;
    loop {
        let (_, after) = rest.split_once(open.as_str())?;
        // Attributes may follow, but not more of a longer name.
        if !after.starts_with(|c: char| c == '>' || c.is_whitespace()) {
            rest = after;
            continue;
        }
        let (_, inside) = after.split_once('>')?;
        return inside.split_once(format!("</{name}>").as_str());
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let known = after.split_once(';').and_then(|(name, tail)| {
            let c = match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                number => {
                    let digits = number.strip_prefix('#')?;
                    let code = match digits.strip_prefix('x') {
                        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                        None => digits.parse().ok()?,
                    };
                    char::from_u32(code)?
                }
            };
            Some((c, tail))
        });
        match known {
            Some((c, tail)) => {
                out.push(c);
                rest = tail;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read() {
        let text = r#"<?xml version="1.0"?><ListBucketResult xmlns="x"><Name>b</Name>
            <KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>
            <Contents><Key>a/&lt;&amp;&#233;&#x1F600;</Key><Size>3</Size></Contents>
            <Contents><ETag>&quot;0&quot;</ETag><Key>b &unknown; &</Key></Contents>
            <NextContinuationToken>t&amp;1</NextContinuationToken></ListBucketResult>"#;
        let read = page(text).expect("a list");
        assert_eq!(read.keys, ["a/<&é😀", "b &unknown; &"]);
        assert_eq!(read.next.as_deref(), Some("t&1"));
        let last = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(page(last), Some(ListPage::default()));
    }

    #[test]
    fn other_texts_are_no_pages_and_no_panic() {
        for text in [
            "",
            "<",
            "<ListBucketResult",
            "<html></html>",
            "<ListBucketResult><Key>",
        ] {
            assert_eq!(page(text), None, "{text}");
        }
        assert_eq!(
            error_code("<Error><Code>NoSuchKey</Code></Error>").as_deref(),
            Some("NoSuchKey")
        );
        assert_eq!(error_code("<Error><Code>a b\u{1b}</Code></Error>"), None);
        assert_eq!(error_code("<Errors><Code>x</Code></Errors>"), None);
        assert_eq!(
            error_region("<Error><Region>eu-west-1</Region></Error>").as_deref(),
            Some("eu-west-1")
        );
    }
}
