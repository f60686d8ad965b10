//! A random Euler tour, with which a sequence is shuffled without changing its k-mer
//! counts.
//!
//! In a graph whose vertices are words of `k - 1` residues and whose edges are k-mers,
//! a sequence is a tour over all edges. A random tour is sampled with the method of
//! Altschul and Erickson (Molecular Biology and Evolution 2:526, 1985). The edges that
//! the tour uses last at each vertex form a tree towards the final vertex, and all
//! other edges may have any order. The tree is sampled by loop-erased random walks
//! (Wilson 1996), as in uShuffle (Jiang and others, 2008). Every sequence with the same
//! k-mer counts is equally likely. The first and last `k - 1` residues do not change.

use std::collections::HashMap;

use super::random::RandomChoices;

/// The graph of a sequence: the word of `k - 1` residues at each position, and the
/// edges that leave each word.
struct KmerGraph {
    words: Vec<usize>,
    /// The edges that leave word `v` are `edges[starts[v]..starts[v + 1]]`. An edge is
    /// stored as the position of its first residue.
    starts: Vec<usize>,
    edges: Vec<usize>,
}

/// Returns the positions of the residues in the order of a random tour.
pub(super) fn sample_tour(letters: &[u8], width: usize, choices: &mut RandomChoices) -> Vec<usize> {
    let mut graph = KmerGraph::new(letters, width);
    let tree = graph.sample_tree(choices);
    graph.shuffle_edges(&tree, choices);
    let mut order: Vec<usize> = (0..width).collect();
    order.extend(graph.walk_tour().into_iter().map(|edge| edge + width));
    order
}

impl KmerGraph {
    fn new(letters: &[u8], width: usize) -> Self {
        let words = assign_word_ids(letters, width);
        let leaving = &words[..words.len() - 1];
        let mut starts = vec![0; words.iter().max().map_or(0, |last| last + 1) + 1];
        for &word in leaving {
            starts[word + 1] += 1;
        }
        for word in 1..starts.len() {
            starts[word] += starts[word - 1];
        }
        let (mut edges, mut next) = (vec![0; leaving.len()], starts.clone());
        for (edge, &word) in leaving.iter().enumerate() {
            edges[next[word]] = edge;
            next[word] += 1;
        }
        Self {
            words,
            starts,
            edges,
        }
    }

    fn word_count(&self) -> usize {
        self.starts.len() - 1
    }

    fn last_word(&self) -> usize {
        self.words[self.words.len() - 1]
    }

    fn degree(&self, word: usize) -> usize {
        self.starts[word + 1] - self.starts[word]
    }

    /// Returns the word to which the `nth` edge of a word leads.
    fn target_word(&self, word: usize, nth: usize) -> usize {
        self.words[self.edges[self.starts[word] + nth] + 1]
    }

    /// Samples a random tree that leads to the last word. Returns, for each word except
    /// the last one, the index of the edge from this word that is in the tree.
    fn sample_tree(&self, choices: &mut RandomChoices) -> Vec<usize> {
        let mut exits = vec![0; self.word_count()];
        let mut is_reached = vec![false; self.word_count()];
        is_reached[self.last_word()] = true;
        for first in 0..self.word_count() {
            let mut word = first;
            while !is_reached[word] {
                exits[word] = choices.next_below(self.degree(word));
                word = self.target_word(word, exits[word]);
            }
            word = first;
            while !is_reached[word] {
                is_reached[word] = true;
                word = self.target_word(word, exits[word]);
            }
        }
        exits
    }

    /// Shuffles the edges of each word, except that the edge of the tree is used last.
    fn shuffle_edges(&mut self, tree: &[usize], choices: &mut RandomChoices) {
        let end = self.last_word();
        for (word, &exit) in tree.iter().enumerate() {
            let edges = &mut self.edges[self.starts[word]..self.starts[word + 1]];
            match edges.split_last_mut() {
                Some((last, rest)) if word != end => {
                    if let Some(exit) = rest.get_mut(exit) {
                        std::mem::swap(exit, last);
                    }
                    choices.shuffle(rest);
                }
                _ => choices.shuffle(edges),
            }
        }
    }

    /// Returns the edges of the tour. The tour leaves each word by the edges of that
    /// word, in order.
    fn walk_tour(&self) -> Vec<usize> {
        let mut next = self.starts.clone();
        let mut word = 0;
        let step = |_| {
            let edge = self.edges[next[word]];
            next[word] += 1;
            word = self.words[edge + 1];
            edge
        };
        (0..self.edges.len()).map(step).collect()
    }
}

/// Numbers the distinct words of `width` residues in order of first occurrence.
fn assign_word_ids(letters: &[u8], width: usize) -> Vec<usize> {
    if width == 1 {
        return assign_residue_ids(letters);
    }
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let number = |word| {
        let next_number = numbers.len();
        *numbers.entry(word).or_insert(next_number)
    };
    letters.windows(width).map(number).collect()
}

/// Numbers the distinct residues in order of first occurrence, with a table instead of
/// a hash map.
fn assign_residue_ids(letters: &[u8]) -> Vec<usize> {
    let mut numbers = [usize::MAX; 256];
    let mut next_number = 0;
    let number = |letter: &u8| {
        let number = &mut numbers[usize::from(*letter)];
        if *number == usize::MAX {
            *number = next_number;
            next_number += 1;
        }
        *number
    };
    letters.iter().map(number).collect()
}
