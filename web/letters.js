/** The attributions of a record: residues in the colour of their importance, and an axis of positions. */

import { best } from "./scores.js";
import { createElement } from "./tables.js";

/** Maximum number of residues on the page. */
const MAX_RESIDUES = 6000;

/** Number of strongest positions in the text. */
const LISTED_POSITIONS = 5;

/** The displayed record, its model, and the number of residues per line. */
let shown = null;

/** Shows the attributions of a record. */
export function showAttributions(attributions, facts) {
  shown = { attributions, facts, width: 0 };
  const choice = document.getElementById("look-class");
  const options = attributions.columns.map((column, index) => new Option(`${column} (${format(attributions.scores[index])})`, String(index)));
  choice.replaceChildren(...options);
  choice.value = String(best(Float32Array.from(attributions.scores)));
  choice.onchange = draw;
  draw();
}

/** Draws the residues, coloured for the selected class. */
function draw() {
  const { attributions } = shown;
  const column = Number(document.getElementById("look-class").value);
  const importance = (position) => attributions.importances[Math.floor(position / attributions.step) * attributions.columns.length + column];
  const values = Array.from(attributions.letters.slice(0, MAX_RESIDUES), (_, position) => importance(position));
  const greatest = Math.max(...values.map(Math.abs), Number.MIN_VALUE);
  const box = document.getElementById("letters");
  shown.width = residuesPerLine(box);
  box.style.setProperty("--per-line", shown.width);
  box.replaceChildren(...lines(attributions.letters, values.map((value) => value / greatest), values));
  describe(attributions, values, column);
}

/** Returns the number of residues that fit on a line, as a multiple of ten. */
function residuesPerLine(box) {
  const letter = parseFloat(getComputedStyle(box).fontSize) * 1.05;
  const fitting = Math.floor(box.clientWidth / letter / 10) * 10;
  return Math.min(60, Math.max(10, fitting));
}

/** Creates the lines of residues, each below its axis. */
function lines(letters, weights, values) {
  const drawn = [];
  for (let start = 0; start < values.length; start += shown.width) {
    const end = Math.min(start + shown.width, values.length);
    const positions = Array.from({ length: end - start }, (_, position) => start + position);
    const cells = positions.map((position) => letter(letters[position], { position, weight: weights[position], value: values[position] }));
    drawn.push(createElement("div", "line", axis(start, end), ...cells));
  }
  return drawn;
}

/** Creates an axis that labels every tenth position. */
function axis(start, end) {
  const ticks = [];
  for (let position = start; position < end; position += 10) ticks.push(createElement("span", "tick", String(position + 1)));
  const element = createElement("div", "axis", ...ticks);
  element.setAttribute("aria-hidden", "true");
  return element;
}

function letter(text, { position, weight, value }) {
  const element = createElement("span", weight < 0 ? "letter against" : "letter for", text);
  element.style.setProperty("--weight", Math.abs(weight).toFixed(3));
  element.title = `position ${position + 1}, ${text}: ${format(value)}`;
  return element;
}

/** Describes the strongest positions and the colours in words. */
function describe(attributions, values, column) {
  const { letters, step } = attributions;
  const positions = values.map((_, position) => position).filter((position) => position % step === 0);
  positions.sort((one, other) => Math.abs(values[other]) - Math.abs(values[one]));
  const named = positions.slice(0, LISTED_POSITIONS).map((position) => {
    const until = Math.min(position + step, letters.length);
    const where = step === 1 ? `${position + 1} ${letters[position]}` : `${position + 1} to ${until}`;
    return `${where} (${values[position] < 0 ? "" : "+"}${format(values[position])})`;
  });
  const of = attributions.columns[column];
  text("strongest", `Strongest positions for ${of}: ${named.join(", ")}.`);
  text("legend-for", `raises the score of ${of}`);
  text("legend-against", "lowers the score");
  const covered = step === 1 ? "a residue" : `${step} neighbouring residues`;
  const cut = letters.length > MAX_RESIDUES ? ` The page shows the first ${MAX_RESIDUES} residues.` : "";
  text("look-how", `The decrease of the score if ${covered} ${step === 1 ? "is" : "are"} replaced by ${describeMask(attributions.cover)}. The strongest colour is the largest change.${cut}`);
}

function describeMask(cover) {
  return cover.length === 1 ? `${cover} (unknown)` : "each residue of the alphabet, on average";
}

function format(value) {
  return Math.abs(value) < 0.0005 && value !== 0 ? value.toExponential(1) : value.toFixed(3);
}

function text(id, content) {
  document.getElementById(id).textContent = content;
}

new ResizeObserver(([entry]) => {
  if (shown && entry.contentRect.width > 0 && residuesPerLine(entry.target) !== shown.width) draw();
}).observe(document.getElementById("letters"));
