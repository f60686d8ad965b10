/** The scores of all records, for the table on the page and for the saved file. */

const decoder = new TextDecoder();

/** The scores, in the tables that the module returns. */
export class Scores {
  constructor(columns) {
    this.columns = columns;
    this.tables = [];
    this.count = 0;
    /** For each column, the number of records with their largest score in this column. */
    this.winners = [];
  }

  /** Adds a table. */
  add({ count, columns, scores, text }) {
    if (this.columns.length === 0) this.columns = Array.from({ length: columns }, (_, name) => String(name));
    this.tables.push({ start: this.count, scores, text, lines: null });
    this.count += count;
    for (let start = 0; start < scores.length; start += columns) {
      const winner = best(scores.subarray(start, start + columns));
      this.winners[winner] = (this.winners[winner] ?? 0) + 1;
    }
  }

  /** Returns the id and the scores of a record. */
  row(number) {
    const table = this.tables.findLast((each) => each.start <= number);
    const [row, width] = [number - table.start, this.columns.length];
    const line = this.#lines(table)[table.start === 0 ? row + 1 : row];
    return { id: line.split("\t", 1)[0], scores: table.scores.subarray(row * width, (row + 1) * width) };
  }

  /** Returns all tables as the content of a file. */
  file() {
    const parts = this.tables.map((table) => table.text);
    return new Blob(parts, { type: "text/tab-separated-values" });
  }

  /** Returns the lines of a table. Only the lines of the last requested table stay in memory. */
  #lines(table) {
    if (table.lines === null) {
      this.tables.forEach((each) => (each.lines = null));
      table.lines = decoder.decode(table.text).split("\n");
    }
    return table.lines;
  }
}

/** Returns the column of the largest score. */
export function best(scores) {
  return scores.reduce((winner, score, column) => (score > scores[winner] ? column : winner), 0);
}
