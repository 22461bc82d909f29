// A picture as a file of its own, and the data behind it.
import { html } from "./dom";
import type { Child } from "./dom";

export interface Download {
  name: string;                            // of the file, without ending
  picture?: () => SVGElement | null;
  rows?: () => (string | number | null)[][];  // the first are the names
  data?: () => unknown;
}

const kProperties = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "font-size", "font-family", "font-weight", "text-anchor", "opacity"];

// The picture with what the style sheet says written into it.
function standalone(picture: SVGElement) {
  const copy = picture.cloneNode(true) as SVGElement;
  const from = [picture, ...picture.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const name of kProperties) {
      const value = style.getPropertyValue(name);
      if (value !== "") to[index]?.setAttribute(name, value);
    }
    to[index]?.removeAttribute("class");
  });
  const [, , width, height] = (picture.getAttribute("viewBox") ?? "0 0 600 300").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width ?? "600");
  copy.setAttribute("height", height ?? "300");
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  back.setAttribute("width", "100%");
  back.setAttribute("height", "100%");
  back.setAttribute("fill", getComputedStyle(document.body).getPropertyValue("--card").trim() || "#fff");
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}

// A spreadsheet must not take a name for a formula.
function csvCell(value: string | number | null) {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll("\"", "\"\"")}"` : safe;
}
export const csv = (rows: (string | number | null)[][]) => rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

function save(name: string, type: string, text: string) {
  const link = html("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (name: string) => name.replaceAll(/[^\w.-]+/g, "_").slice(0, 80) || "gapwatch";

export function downloads(title: string, what: Download): Child {
  const button = (kind: string, run: () => void) => {
    const element = html("button", { class: "plain", type: "button", "aria-label": `Download ${title} as ${kind}` }, kind);
    element.addEventListener("click", run);
    return element;
  };
  const name = fileName(what.name);
  const { picture, rows, data } = what;
  return html("span", { class: "downloads", role: "group", "aria-label": `Download ${title}` },
    picture ? button("SVG", () => {
      const drawn = picture();
      if (!drawn) return;
      const apart = !drawn.isConnected;  // what is no part of the page has no style
      if (apart) document.body.append(drawn);
      save(`${name}.svg`, "image/svg+xml", standalone(drawn));
      if (apart) drawn.remove();
    }) : null,
    rows ? button("CSV", () => save(`${name}.csv`, "text/csv", csv(rows()))) : null,
    data ? button("JSON", () => save(`${name}.json`, "application/json", JSON.stringify(data(), null, 1))) : null);
}

// A section with a heading and, in its corner, what can be downloaded of it.
export function card(title: string, download: Download | null, ...content: Child[]) {
  return html("section", { class: "card", "aria-label": title },
    html("div", { class: "head" }, html("h2", {}, title), download ? downloads(title, download) : null), content);
}
