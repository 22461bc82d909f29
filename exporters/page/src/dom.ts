// Elements from plain values. Text is only ever set as text, so names from the stream stay names.

const kSvg = "http://www.w3.org/2000/svg";
export type Child = Node | string | number | null | undefined | false | Child[];
export type Attributes = Record<string, string | number | boolean | null | undefined>;

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

function append(element: Element, children: Child[]) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(String(child));
  }
}

export function html<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]) {
  return fill(document.createElement(tag), attributes, children);
}

// An SVG element; its title, where given, becomes a <title> of its own.
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const { title, ...rest } = attributes;
  const element = fill(document.createElementNS(kSvg, tag), rest, children);
  if (title) element.prepend(fill(document.createElementNS(kSvg, "title"), {}, [String(title)]));
  return element;
}

export interface Column { name: string; word?: boolean; title?: string }
export interface RichCell { text: Child; title?: string; class?: string }
export type TableCell = RichCell | Node | string;
export interface Row { lead?: boolean; cells: TableCell[] }

// `kinds` are more classes: "stacked" makes a row of a narrow screen lines of "column value".
export function table(label: string, columns: Column[], rows: Row[], kinds = "") {
  const kind = (column: Column | undefined) => (column?.word ? "word" : null);
  const head = columns.map((column) => html("th", { class: kind(column), scope: "col",
    title: column.title }, column.name));
  const cellOf = (cell: TableCell, index: number) => {
    const column = columns[index];
    if (cell instanceof Node) return html("td", { class: kind(column), "data-label": column?.name || null }, cell);
    const rich: RichCell = typeof cell === "string" ? { text: cell } : cell;
    const title = rich.title ?? (column?.word && typeof rich.text === "string" ? rich.text : column?.title);
    return html("td", { class: rich.class ?? kind(column), "data-label": column?.name || null, title }, rich.text);
  };
  const body = rows.map((row) => html("tr", { class: row.lead ? "lead" : null }, row.cells.map(cellOf)));
  return html("div", { class: `scroll ${kinds}`.trim(), tabindex: "0", role: "region", "aria-label": `${label}, table` },
    html("table", {}, html("thead", {}, html("tr", {}, head)), html("tbody", {}, body)));
}

export function facts(items: [name: string, value: string, title: string][]) {
  return html("dl", { class: "facts" }, items.map(([name, value, title]) =>
    html("div", { title }, html("dt", {}, name), html("dd", {}, value))));
}
