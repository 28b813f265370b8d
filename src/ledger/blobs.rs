//! Large bodies, by content: configs, logs, evidence, definitions.

use crate::model::{Digest, digest_bytes};
use rusqlite::{Connection, OptionalExtension, params};
use std::cell::RefCell;
use zstd::bulk::{Compressor, Decompressor};

/// Largest body kept, in bytes; a larger one is cut by whoever makes it.
pub const MAX_BLOB_BYTES: usize = 16 * 1024 * 1024;

/// How hard bodies are compressed.
const LEVEL: i32 = 3;

thread_local! {
    // Making a context costs more than packing a small body with it, so each thread keeps its own.
    static PACK: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(LEVEL).ok());
    static UNPACK: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
}

/// The body compressed; empty when that fails, so that it is kept as it is.
fn pack(bytes: &[u8]) -> Vec<u8> {
    PACK.with_borrow_mut(|own| own.as_mut().and_then(|own| own.compress(bytes).ok()))
        .unwrap_or_default()
}

fn unpack_zstd(data: &[u8], size: usize) -> Result<Vec<u8>, String> {
    UNPACK.with_borrow_mut(|own| match own {
        Some(own) => own
            .decompress(data, size)
            .map_err(|error| error.to_string()),
        None => Err("no memory to decompress it".to_owned()),
    })
}

/// Shorter bodies gain nothing that the work would be worth.
const WORTH_PACKING: usize = 256;

/// Stores a body unless it is there; compressed when that makes it smaller.
pub(super) fn put(conn: &Connection, digest: &Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    let mut known = conn.prepare_cached("SELECT 1 FROM blobs WHERE digest = ?1")?;
    if known.exists(params![digest.as_str()])? {
        return Ok(());
    }
    let packed = if bytes.len() < WORTH_PACKING {
        Vec::new()
    } else {
        pack(bytes)
    };
    let (coding, data) = if packed.is_empty() || packed.len() >= bytes.len() {
        ("raw", bytes)
    } else {
        ("zstd", packed.as_slice())
    };
    conn.prepare_cached("INSERT INTO blobs(digest, size, coding, data) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![digest.as_str(), bytes.len() as i64, coding, data])?;
    Ok(())
}

/// A body, or why it cannot be trusted.
pub(super) fn get(
    conn: &Connection,
    digest: &Digest,
) -> rusqlite::Result<Option<Result<Vec<u8>, String>>> {
    let row = conn
        .prepare_cached("SELECT size, coding, data FROM blobs WHERE digest = ?1")?
        .query_row(params![digest.as_str()], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, Vec<u8>>(2)?,
            ))
        })
        .optional()?;
    Ok(row.map(|(size, coding, data)| unpack(digest, size, &coding, data)))
}

fn unpack(digest: &Digest, size: i64, coding: &str, data: Vec<u8>) -> Result<Vec<u8>, String> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size > MAX_BLOB_BYTES {
        return Err(format!("blob {} claims {size} bytes", digest.short()));
    }
    let bytes = match coding {
        "raw" => data,
        "zstd" => unpack_zstd(&data, size)?,
        other => {
            return Err(format!(
                "blob {} has the unknown coding {other}",
                digest.short()
            ));
        }
    };
    if digest_bytes(&bytes) == *digest {
        Ok(bytes)
    } else {
        Err(format!("blob {} does not match its digest", digest.short()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_met_garbage_packs_and_unpacks_the_next_body() {
        let body = b"the same words ".repeat(200);
        let packed = pack(&body);
        assert!(packed.len() < body.len() / 10);
        assert!(unpack_zstd(b"no frame at all", 100).is_err());
        assert!(unpack_zstd(&packed, body.len() - 1).is_err());
        assert_eq!(unpack_zstd(&packed, body.len()).unwrap(), body);
        assert_eq!(pack(&body), packed);
    }
}
