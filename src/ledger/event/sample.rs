//! What a person is asked to look at.

use crate::model::{ClauseId, Digest, OperationId};
use serde::{Deserialize, Serialize};

/// A person is asked to look at chosen rows of a staging run. The fields are the validity key of the
/// verdict to come: a change to any of them takes the question back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleAsked {
    /// Its id.
    pub sample: String,
    /// The clause.
    pub clause: ClauseId,
    /// Digest of the clause.
    pub clause_digest: Digest,
    /// Digest of the config judged.
    pub config: Digest,
    /// Digest of the lineage judged under.
    pub lineage: Digest,
    /// Digest of what chose the rows.
    pub checker: Digest,
    /// The staging run judged.
    pub operation: OperationId,
    /// Rows chosen.
    pub rows: u32,
    /// Blob of the rows, old beside new, with the queries that read them.
    pub detail: Digest,
    /// What the person reads.
    pub text: String,
    /// Queries spent; the rest of the reservation is given back.
    pub spent: u64,
    /// Queries that were reserved.
    pub reserved: u64,
    /// The day they count for, `YYYY-MM-DD` in the goal's zone.
    pub day: String,
}
