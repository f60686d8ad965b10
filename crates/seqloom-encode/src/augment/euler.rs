//! A random Euler tour: another sequence of exactly the same k-mers.
//!
//! The words of `k - 1` letters are vertices, the k-mers edges, and the sequence
//! is one tour over all edges. Another tour is drawn as Altschul and Erickson do
//! (1985, Mol. Biol. Evol. 2:526): the last edges to leave each vertex must form
//! a tree towards the end; any such tree will do, and the other edges may have
//! any order. The tree is drawn by loop-erased random walks (Wilson 1996; so
//! does uShuffle, Jiang et al. 2008), so that each sequence of these k-mers is
//! equally likely. First and last word stay where they are.

use std::collections::HashMap;

use super::draw::Choices;

/// Which word begins at each position, and which edges leave each word.
struct KmerGraph {
    words: Vec<usize>,
    /// The edges that leave word `v` are `edges[starts[v]..starts[v + 1]]`; an
    /// edge is the position of its first letter.
    starts: Vec<usize>,
    edges: Vec<usize>,
}

/// The order in which the positions of the letters follow each other now.
pub(super) fn tour(letters: &[u8], width: usize, choices: &mut Choices) -> Vec<usize> {
    let mut graph = KmerGraph::new(letters, width);
    let tree = graph.tree(choices);
    graph.shuffle(&tree, choices);
    let mut order: Vec<usize> = (0..width).collect();
    order.extend(graph.walk().into_iter().map(|edge| edge + width));
    order
}

impl KmerGraph {
    fn new(letters: &[u8], width: usize) -> Self {
        let words = number_words(letters, width);
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

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn end(&self) -> usize {
        self.words[self.words.len() - 1]
    }

    fn degree(&self, word: usize) -> usize {
        self.starts[word + 1] - self.starts[word]
    }

    /// Where the `nth` edge that leaves a word arrives.
    fn target(&self, word: usize, nth: usize) -> usize {
        self.words[self.edges[self.starts[word] + nth] + 1]
    }

    /// For each word but the end, which of its edges leads towards the end.
    fn tree(&self, choices: &mut Choices) -> Vec<usize> {
        let mut exits = vec![0; self.count()];
        let mut is_reached = vec![false; self.count()];
        is_reached[self.end()] = true;
        for first in 0..self.count() {
            let mut word = first;
            while !is_reached[word] {
                exits[word] = choices.below(self.degree(word));
                word = self.target(word, exits[word]);
            }
            word = first;
            while !is_reached[word] {
                is_reached[word] = true;
                word = self.target(word, exits[word]);
            }
        }
        exits
    }

    /// Puts the edges of each word in random order, that of the tree last.
    fn shuffle(&mut self, tree: &[usize], choices: &mut Choices) {
        let end = self.end();
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

    /// Follows the edges of each word in their order.
    fn walk(&self) -> Vec<usize> {
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

/// Numbers the words of `width` letters by their first appearance.
fn number_words(letters: &[u8], width: usize) -> Vec<usize> {
    if width == 1 {
        return number_letters(letters);
    }
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let number = |word| {
        let fresh = numbers.len();
        *numbers.entry(word).or_insert(fresh)
    };
    letters.windows(width).map(number).collect()
}

/// The same for words of one letter, without a search.
fn number_letters(letters: &[u8]) -> Vec<usize> {
    let mut numbers = [usize::MAX; 256];
    let mut fresh = 0;
    let number = |letter: &u8| {
        let number = &mut numbers[usize::from(*letter)];
        if *number == usize::MAX {
            *number = fresh;
            fresh += 1;
        }
        *number
    };
    letters.iter().map(number).collect()
}
