// Elements from plain values. Text is only ever set as text, so names from the stream stay names.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

// An SVG element; its title, where given, becomes a <title> of its own.
export function svg(tag, attributes = {}, ...children) {
  const { title, ...rest } = attributes;
  const element = fill(document.createElementNS(kSvg, tag), rest, children);
  if (title) element.prepend(fill(document.createElementNS(kSvg, "title"), {}, [title]));
  return element;
}

// columns: [{name, word, prose, title}], rows: [{lead, cells: [text | Node | {text, title}]}]; `kinds` are more classes:
// "stacked" makes a row of a narrow screen lines of "column value".
export function table(label, columns, rows, kinds = "") {
  const kind = (column) => (column.prose ? "prose" : column.word ? "word" : null);
  const head = columns.map((column) => html("th", { class: column.word || column.prose ? "word" : null, scope: "col",
    title: column.title }, column.name));
  const body = rows.map((row) => html("tr", { class: row.lead ? "lead" : null }, row.cells.map((cell, index) => {
    const rich = cell !== null && typeof cell === "object" && !(cell instanceof Node);
    const title = rich ? cell.title : columns[index].word ? cell : columns[index].title;
    const own = rich && cell.class ? cell.class : kind(columns[index]);
    return html("td", { class: own, "data-label": columns[index].name || null, title: cell instanceof Node ? null : title }, rich ? cell.text : cell);
  })));
  return html("div", { class: `scroll ${kinds}`.trim(), tabindex: "0", role: "region", "aria-label": label },
    html("table", {}, html("thead", {}, html("tr", {}, head)), html("tbody", {}, body)));
}
