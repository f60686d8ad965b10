/** Elements of the page: properties of the model, counts and scores. */

import { best } from "./scores.js";

/** Creates an element with a CSS class and its content. */
export function createElement(name, looks, ...content) {
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
  list.replaceChildren(...known.flatMap(([name, value]) => [createElement("dt", "", name), createElement("dd", "", value)]));
}

/** Shows the number of records of each class. */
export function showSummary(list, { winners, columns, count }) {
  list.hidden = columns.length < 2 || count === 0;
  const item = (column, index) => {
    const fraction = (winners[index] ?? 0) / count;
    const [name, amount] = [createElement("span", "class", column), createElement("span", "count", (winners[index] ?? 0).toLocaleString("en"))];
    return createElement("li", "", name, bar(fraction, index), amount);
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
  const head = createElement("tr", "", ...names.map((name, index) => heading(name, index >= names.length - columns.length)));
  const body = createElement("tbody", "");
  for (let number = rows[0]; number < rows[1]; number += 1) {
    const line = { ...scores.row(number), number, columns, isClass, isUnit: facts.task === "classify" || facts.task === "multilabel" };
    body.append(row(line, { isChosen: number === chosen, choose: facts.can_look ? choose : null }));
  }
  table.replaceChildren(createElement("thead", "", head), body);
}

function heading(name, isScore) {
  const cell = createElement("th", isScore ? "score" : "", name);
  cell.scope = "col";
  return cell;
}

function row({ id, scores, number, columns, isClass, isUnit }, { isChosen, choose }) {
  const winner = best(scores.subarray(0, columns.length));
  const name = createElement("th", "id", choose ? button(id, number, choose) : id);
  name.scope = "row";
  const cells = columns.map((_, index) => score(scores[index], { index, isUnit, isBest: isClass && index === winner }));
  const label = isClass ? [createElement("td", "winner", swatch(winner), columns[winner])] : [];
  const line = createElement("tr", isChosen ? "chosen" : "", name, ...label, ...cells);
  if (isChosen) line.setAttribute("aria-current", "true");
  return line;
}

function button(id, number, choose) {
  const element = createElement("button", "link", id);
  element.type = "button";
  element.title = "Show the attributions of this record";
  element.addEventListener("click", () => choose(number));
  return element;
}

function score(value, { index, isUnit, isBest }) {
  const text = createElement("span", isBest ? "value best" : "value", isUnit ? value.toFixed(4) : String(Number(value.toPrecision(5))));
  return createElement("td", "score", text, ...(isUnit ? [bar(value, index)] : []));
}

/** Creates a bar for a fraction from 0 to 1, in the colour of a class. */
function bar(fraction, index) {
  const fill = createElement("span", `fill class-${index % MAX_CLASSES}`);
  fill.style.inlineSize = `${(100 * Math.min(1, Math.max(0, fraction))).toFixed(1)}%`;
  const element = createElement("span", "bar", fill);
  element.setAttribute("aria-hidden", "true");
  return element;
}

function swatch(index) {
  return createElement("span", `dot class-${index % MAX_CLASSES}`);
}
