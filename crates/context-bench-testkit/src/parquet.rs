//! Small Parquet files written by hand, with checksums of their pages or without:
//! writers in Rust know no checksums, and damage is only noticed where there are some.

/// Rows of a page.
const PAGE_ROWS: usize = 8;

/// A file, and where the bytes of its pages are.
#[derive(Clone, Debug)]
pub struct ParquetFile {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The bodies of pages, without their headers.
    pub pages: Vec<std::ops::Range<usize>>,
}

/// A file of one row group with text columns, plainly encoded.
///
/// # Panics
/// If rows differ in length.
pub fn texts(columns: &[&str], rows: &[Vec<String>], checksums: bool) -> ParquetFile {
    let mut bytes = b"PAR1".to_vec();
    let mut pages = Vec::new();
    let mut chunks = Vec::new();
    for at in 0..columns.len() {
        let start = bytes.len();
        for part in rows.chunks(PAGE_ROWS) {
            let mut body = Vec::new();
            for row in part {
                body.extend(number32(row[at].len()).to_le_bytes());
                body.extend(row[at].as_bytes());
            }
            page_header(part.len(), &body, checksums, &mut bytes);
            pages.push(bytes.len()..bytes.len() + body.len());
            bytes.extend(body);
        }
        chunks.push(start..bytes.len());
    }
    let footer = footer(columns, rows.len(), &chunks);
    bytes.extend(&footer);
    bytes.extend(number32(footer.len()).to_le_bytes());
    bytes.extend(b"PAR1");
    ParquetFile { bytes, pages }
}

fn page_header(values: usize, body: &[u8], checksums: bool, out: &mut Vec<u8>) {
    let mut page = Struct::new(out);
    page.i32(1, 0);
    page.i32(2, body.len());
    page.i32(3, body.len());
    if checksums {
        page.signed(4, 5, i64::from(crc32(body).cast_signed()));
    }
    page.open(5);
    let mut data = Struct::new(out);
    data.i32(1, values);
    data.i32(2, 0);
    data.i32(3, 3);
    data.i32(4, 3);
    data.end();
    out.push(0);
}

fn footer(columns: &[&str], rows: usize, chunks: &[std::ops::Range<usize>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut file = Struct::new(&mut out);
    file.i32(1, 1);
    file.list(2, 12, columns.len() + 1);
    let mut root = Struct::new(&mut out);
    root.text(4, "schema");
    root.i32(5, columns.len());
    root.end();
    for name in columns {
        let mut column = Struct::new(&mut out);
        column.i32(1, 6);
        column.i32(3, 0);
        column.text(4, name);
        column.i32(6, 0);
        column.end();
    }
    let mut file = Struct::after(&mut out, 2);
    file.i64(3, rows);
    file.list(4, 12, 1);
    let mut group = Struct::new(&mut out);
    group.list(1, 12, columns.len());
    for (name, chunk) in columns.iter().zip(chunks) {
        let mut column = Struct::new(&mut out);
        column.i64(2, chunk.start);
        column.open(3);
        let mut data = Struct::new(&mut out);
        data.i32(1, 6);
        data.list(2, 5, 1);
        data.out.push(0);
        data.list(3, 8, 1);
        varint(data.out, name.len() as u64);
        data.out.extend(name.as_bytes());
        data.i32(4, 0);
        data.i64(5, rows);
        data.i64(6, chunk.len());
        data.i64(7, chunk.len());
        data.i64(9, chunk.start);
        data.end();
        out.push(0);
    }
    let mut group = Struct::after(&mut out, 1);
    group.i64(2, chunks.iter().map(ExactSizeIterator::len).sum());
    group.i64(3, rows);
    group.end();
    out.push(0);
    out
}

/// A struct in Thrift's compact encoding: fields say how far they are from the last.
struct Struct<'o> {
    out: &'o mut Vec<u8>,
    last: u8,
}

impl<'o> Struct<'o> {
    fn new(out: &'o mut Vec<u8>) -> Self {
        Self::after(out, 0)
    }

    fn after(out: &'o mut Vec<u8>, last: u8) -> Self {
        Self { out, last }
    }

    fn field(&mut self, id: u8, kind: u8) {
        self.out.push(((id - self.last) << 4) | kind);
        self.last = id;
    }

    fn signed(&mut self, id: u8, kind: u8, value: i64) {
        self.field(id, kind);
        varint(self.out, ((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    fn i32(&mut self, id: u8, value: usize) {
        self.signed(id, 5, i64::from(number32(value)));
    }

    fn i64(&mut self, id: u8, value: usize) {
        self.signed(id, 6, i64::try_from(value).expect("small"));
    }

    fn text(&mut self, id: u8, text: &str) {
        self.field(id, 8);
        varint(self.out, text.len() as u64);
        self.out.extend(text.as_bytes());
    }

    fn list(&mut self, id: u8, kind: u8, len: usize) {
        self.field(id, 9);
        self.out.push((u8::try_from(len).expect("few") << 4) | kind);
    }

    fn open(&mut self, id: u8) {
        self.field(id, 12);
    }

    fn end(self) {
        self.out.push(0);
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number32(n: usize) -> u32 {
    u32::try_from(n).expect("small")
}

/// The checksum of gzip, a bit at a time.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
        crc
    })
}
