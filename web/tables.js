/** Elements of the page: properties of the model, counts and scores. */

import { best } from "./scores.js";

/** Creates an element with a CSS class and its content. */
export function make(name, looks, ...content) {
  const element = document.createElement(name);
  if (looks) element.className = looks;
  element.append(...content);
  return element;
}

const TASKS = {
  classify: "one class per record",
  multilabel: "yes or no for each class",
  regress: "numbers",
  custom: "outputs of the network",
};

const NAMES = { dna: "DNA", rna: "RNA", protein: "proteins" };

/** Shows the input and output of a model. */
export function showFacts(list, facts) {
  const length = facts.length === null ? "any" : facts.crops ? `${facts.length}; other sequences are cropped or padded` : `exactly ${facts.length}`;
  const lines = [
    ["Output", TASKS[facts.task]],
    ["Classes", facts.columns.join(", ")],
    ["Input", NAMES[facts.alphabet] ?? facts.letters ?? "no sequences"],
    ["Length", length],
    ["Weights", `${(facts.weight_bytes / 1000).toLocaleString("en", { maximumFractionDigits: 0 })} kB, ${facts.operations} operations`],
  ];
  const known = lines.filter(([, value]) => value);
  list.replaceChildren(...known.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}

/** Shows the number of records of each class. */
export function showSummary(list, { winners, columns, count }) {
  list.hidden = columns.length < 2 || count === 0;
  const item = (column, place) => {
    const fraction = (winners[place] ?? 0) / count;
    const [name, amount] = [make("span", "class", column), make("span", "count", (winners[place] ?? 0).toLocaleString("en"))];
    return make("li", "", name, bar(fraction, place), amount);
  };
  list.replaceChildren(...columns.slice(0, MAX_CLASSES).map(item));
}

/** Maximum number of classes with a column and a bar. */
const MAX_CLASSES = 8;

/** Shows some rows of scores. Clicking on an id calls `choose` with the number of its record. */
export function showTable(table, { scores, facts, chosen, rows, choose }) {
  const columns = scores.columns.slice(0, MAX_CLASSES);
  const isClass = facts.task === "classify" && columns.length > 1;
  const names = ["Record", ...(isClass ? ["Class"] : []), ...columns];
  const head = make("tr", "", ...names.map((name, place) => heading(name, place >= names.length - columns.length)));
  const body = make("tbody", "");
  for (let number = rows[0]; number < rows[1]; number += 1) {
    const line = { ...scores.row(number), number, columns, isClass, isUnit: facts.task === "classify" || facts.task === "multilabel" };
    body.append(row(line, { isChosen: number === chosen, choose: facts.can_look ? choose : null }));
  }
  table.replaceChildren(make("thead", "", head), body);
}

function heading(name, isScore) {
  const cell = make("th", isScore ? "score" : "", name);
  cell.scope = "col";
  return cell;
}

function row({ id, scores, number, columns, isClass, isUnit }, { isChosen, choose }) {
  const winner = best(scores.subarray(0, columns.length));
  const name = make("th", "id", choose ? button(id, number, choose) : id);
  name.scope = "row";
  const cells = columns.map((_, place) => score(scores[place], { place, isUnit, isBest: isClass && place === winner }));
  const label = isClass ? [make("td", "winner", swatch(winner), columns[winner])] : [];
  const line = make("tr", isChosen ? "chosen" : "", name, ...label, ...cells);
  if (isChosen) line.setAttribute("aria-current", "true");
  return line;
}

function button(id, number, choose) {
  const made = make("button", "link", id);
  made.type = "button";
  made.title = "Show the attributions of this record";
  made.addEventListener("click", () => choose(number));
  return made;
}

function score(value, { place, isUnit, isBest }) {
  const text = make("span", isBest ? "value best" : "value", isUnit ? value.toFixed(4) : String(Number(value.toPrecision(5))));
  return make("td", "score", text, ...(isUnit ? [bar(value, place)] : []));
}

/** Creates a bar for a fraction from 0 to 1, in the colour of a class. */
function bar(fraction, place) {
  const fill = make("span", `fill class-${place % MAX_CLASSES}`);
  fill.style.inlineSize = `${(100 * Math.min(1, Math.max(0, fraction))).toFixed(1)}%`;
  const made = make("span", "bar", fill);
  made.setAttribute("aria-hidden", "true");
  return made;
}

function swatch(place) {
  return make("span", `dot class-${place % MAX_CLASSES}`);
}
