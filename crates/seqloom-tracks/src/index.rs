//! Reads and writes the trees of a bigWig file: the contigs, and the places of the blocks.

use seqloom_compression::disk::DiskFile;
use seqloom_core::error::Fault;
use seqloom_core::number::as_u64;

use crate::bytes::{ByteOrder, damage, read_bytes};
use crate::track::Contig;
use crate::write::BLOCK_ITEMS;

pub(crate) const CONTIG_TREE_MAGIC: u32 = 0x78CA_8C91;
const BLOCK_TREE_MAGIC: u32 = 0x2468_ACE0;
const NODE_HEADER_BYTES: usize = 4;
/// The number of items of a node in trees that are written, as in files of UCSC.
const NODE_ITEMS: usize = 256;
/// The maximum size of a contig name.
const MAX_NAME_BYTES: u32 = 1 << 16;

/// The place of a block in the file, and the positions that it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) contig: u32,
    pub(crate) start: u32,
    pub(crate) stop: u32,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Visits the nodes of a tree.
struct TreeReader<'a> {
    file: &'a DiskFile,
    order: ByteOrder,
    /// The number of bytes that may still be read; a tree with a cycle uses them up.
    budget: u64,
}

impl TreeReader<'_> {
    /// Calls `visit` with each item of each leaf. `sizes` are the sizes of an item of a
    /// leaf and of another node. An item of another node ends with the offset of a child.
    fn walk(
        &mut self,
        root: u64,
        sizes: [usize; 2],
        mut visit: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut nodes = vec![root];
        while let Some(at) = nodes.pop() {
            let head = read_bytes(self.file, at, NODE_HEADER_BYTES)?;
            let is_leaf = head.first().is_some_and(|byte| *byte == 1);
            let [leaf_size, inner_size] = sizes;
            let size = if is_leaf { leaf_size } else { inner_size };
            let count = usize::from(self.order.u16(&head, 2));
            let used = as_u64(NODE_HEADER_BYTES + size * count);
            self.budget = self.budget.checked_sub(used).ok_or_else(|| {
                damage(at, "the index has more nodes than the file has space for")
            })?;
            let items = read_bytes(self.file, at + as_u64(NODE_HEADER_BYTES), size * count)?;
            let items = items.chunks_exact(size);
            if is_leaf {
                items.into_iter().try_for_each(&mut visit)?;
            } else {
                nodes.extend(items.rev().map(|item| self.order.u64(item, size - 8)));
            }
        }
        Ok(())
    }
}

/// Reads the names, numbers and lengths of the contigs.
pub(crate) fn read_contigs(
    file: &DiskFile,
    order: ByteOrder,
    at: u64,
) -> Result<Vec<(u32, Contig)>, Fault> {
    let head = read_bytes(file, at, 32)?;
    let key_bytes = order.u32(&head, 8);
    let is_valid = order.u32(&head, 0) == CONTIG_TREE_MAGIC && order.u32(&head, 12) == 8;
    if !is_valid || key_bytes == 0 || key_bytes > MAX_NAME_BYTES {
        return Err(damage(
            at,
            "expected the tree of contigs; the file is damaged",
        ));
    }
    let key = key_bytes as usize;
    let mut found = Vec::new();
    let mut tree = TreeReader {
        file,
        order,
        budget: file.size(),
    };
    tree.walk(at + 32, [key + 8, key + 8], |item| {
        let name = item.get(..key).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let contig = Contig {
            name: String::from_utf8_lossy(name).into_owned(),
            length: Some(order.u32(item, key + 4)),
        };
        found.push((order.u32(item, key), contig));
        Ok(())
    })?;
    found.sort_by_key(|(number, _)| *number);
    Ok(found)
}

/// Reads the places of all blocks, sorted by contig and start.
pub(crate) fn read_block_places(
    file: &DiskFile,
    order: ByteOrder,
    at: u64,
) -> Result<Vec<BlockPlace>, Fault> {
    let head = read_bytes(file, at, 48)?;
    if order.u32(&head, 0) != BLOCK_TREE_MAGIC {
        return Err(damage(
            at,
            "expected the index of the values; the file is damaged",
        ));
    }
    let mut found = Vec::new();
    let mut tree = TreeReader {
        file,
        order,
        budget: file.size(),
    };
    tree.walk(at + 48, [32, 24], |item| {
        let (first, last) = (order.u32(item, 0), order.u32(item, 8));
        if first != last {
            return Err(damage(at, "a block has values of several contigs"));
        }
        found.push(BlockPlace {
            contig: first,
            start: order.u32(item, 4),
            stop: order.u32(item, 12),
            offset: order.u64(item, 16),
            size: order.u64(item, 24),
        });
        Ok(())
    })?;
    found.sort_by_key(|place| (place.contig, place.start));
    // A search by `stop` needs stops that increase, also where blocks overlap.
    let mut last = (0, 0);
    for place in &mut found {
        last = last.max((place.contig, place.stop));
        place.stop = last.1;
    }
    Ok(found)
}

/// Appends the tree of contigs, sorted by name, at offset `at` of a file. The number of a
/// contig is its index in `contigs`.
pub(crate) fn contig_tree(contigs: &[(String, u32)], at: u64) -> Vec<u8> {
    let longest = contigs.iter().map(|(name, _)| name.len()).max();
    let key_bytes = longest.unwrap_or_default().max(1);
    let mut order: Vec<(usize, &(String, u32))> = contigs.iter().enumerate().collect();
    order.sort_by_key(|(_, (name, _))| name.as_bytes());
    let to_key = |name: &str| {
        let mut key = name.as_bytes().to_vec();
        key.resize(key_bytes, 0);
        key
    };
    let items = order.iter().map(|(number, (name, length))| {
        let number = u32::try_from(*number).unwrap_or(u32::MAX);
        let numbers = [number.to_le_bytes(), length.to_le_bytes()].concat();
        (to_key(name), numbers)
    });
    let items: Vec<(Vec<u8>, Vec<u8>)> = items.collect();
    let mut out = Vec::new();
    let key_size = u32::try_from(key_bytes).unwrap_or(u32::MAX);
    for number in [CONTIG_TREE_MAGIC, node_items(), key_size, 8] {
        out.extend(number.to_le_bytes());
    }
    out.extend(as_u64(items.len()).to_le_bytes());
    out.extend([0; 8]);
    let first = |keys: &[Vec<u8>]| keys.first().cloned().unwrap_or_default();
    let at = at + as_u64(out.len());
    append_tree(&mut out, items, first, at);
    out
}

/// Returns the index of blocks, which are sorted, for offset `at` of a file.
pub(crate) fn block_tree(places: &[BlockPlace], at: u64) -> Vec<u8> {
    let bounds = |places: &[BlockPlace]| {
        let first = places.first().map_or([0; 2], |it| [it.contig, it.start]);
        let last = places.last().map_or([0; 2], |it| [it.contig, it.stop]);
        [first, last].concat()
    };
    let mut out = Vec::new();
    out.extend(BLOCK_TREE_MAGIC.to_le_bytes());
    out.extend(node_items().to_le_bytes());
    out.extend(as_u64(places.len()).to_le_bytes());
    for number in bounds(places) {
        out.extend(number.to_le_bytes());
    }
    out.extend(at.to_le_bytes()); // the end of the blocks
    out.extend(u32::try_from(BLOCK_ITEMS).unwrap_or_default().to_le_bytes());
    out.extend([0; 4]);
    let items = places.iter().map(|place| {
        let numbers = bounds(std::slice::from_ref(place));
        let key = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
        (
            key,
            [place.offset.to_le_bytes(), place.size.to_le_bytes()].concat(),
        )
    });
    let items = items.collect();
    // The bounds of a node are the first half of its first key, and the second half of its
    // last key, because blocks do not overlap.
    let join = |keys: &[Vec<u8>]| {
        let start = keys.first().and_then(|key| key.get(..8));
        let stop = keys.last().and_then(|key| key.get(8..));
        [start.unwrap_or_default(), stop.unwrap_or_default()].concat()
    };
    let at = at + as_u64(out.len());
    append_tree(&mut out, items, join, at);
    out
}

fn node_items() -> u32 {
    u32::try_from(NODE_ITEMS).unwrap_or_default()
}

/// Appends the nodes of a tree, which begin at offset `at` of the file: the root first, and
/// the leaves last. An item of a leaf is a key and a value. An item of another node is the
/// joined key of a child, and its offset.
#[expect(
    clippy::too_many_lines,
    reason = "the offsets of nodes depend on each other"
)]
fn append_tree(
    out: &mut Vec<u8>,
    items: Vec<(Vec<u8>, Vec<u8>)>,
    join: impl Fn(&[Vec<u8>]) -> Vec<u8>,
    at: u64,
) {
    let (keys, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    let mut levels = vec![keys];
    while let Some(keys) = levels.last().filter(|keys| keys.len() > NODE_ITEMS) {
        let joined = keys.chunks(NODE_ITEMS).map(&join).collect();
        levels.push(joined);
    }
    let start = out.len();
    let item_bytes = |depth: usize, keys: &[Vec<u8>]| {
        let value = if depth == 0 {
            values.first().map_or(0, Vec::len)
        } else {
            8
        };
        keys.first().map_or(0, Vec::len) + value
    };
    let node_bytes = |depth: usize, keys: &[Vec<u8>]| {
        as_u64(NODE_HEADER_BYTES + keys.len() * item_bytes(depth, keys))
    };
    let mut values = values.iter();
    for (depth, keys) in levels.iter().enumerate().rev() {
        let level_bytes: u64 = keys
            .chunks(NODE_ITEMS)
            .map(|keys| node_bytes(depth, keys))
            .sum();
        let mut child = at + as_u64(out.len() - start) + level_bytes;
        let below = depth
            .checked_sub(1)
            .and_then(|below| Some((below, levels.get(below)?)));
        let mut children = below.map(|(below, keys)| (below, keys.chunks(NODE_ITEMS)));
        let nodes: Vec<&[Vec<u8>]> = if keys.is_empty() {
            vec![&[]]
        } else {
            keys.chunks(NODE_ITEMS).collect()
        };
        for node in nodes {
            out.extend([u8::from(depth == 0), 0]);
            out.extend(u16::try_from(node.len()).unwrap_or(u16::MAX).to_le_bytes());
            for key in node {
                out.extend(key);
                match &mut children {
                    None => out.extend(values.next().into_iter().flatten()),
                    Some((below, chunks)) => {
                        out.extend(child.to_le_bytes());
                        child += chunks.next().map_or(0, |keys| node_bytes(*below, keys));
                    }
                }
            }
        }
    }
}
