// node runbook.mjs RUNBOOK.md OUT.html: the runbook as a page of its own, without script, for whom an alert has called.
import { readFileSync, writeFileSync } from "node:fs";
import { Marked } from "marked";

const [from, to] = process.argv.slice(2);
const marked = new Marked({
  renderer: {
    // Alerts link to a section by the name of the alert in small letters.
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // Other files of the sources are named, and are not there to follow.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return /^(https?:|#)/.test(href) ? `<a href="${href}">${text}</a>` : text;
    },
  },
});
const markdown = readFileSync(from, "utf8");
const sections = [...markdown.matchAll(/^## (\S+)$/gm)].map(([, name]) => `<li><a href="#${name.toLowerCase()}">${name}</a></li>`);

writeFileSync(to, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Runbook · gapwatch</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/runbook.css">
</head>
<body>
<header><a href="/">gapwatch</a></header>
<nav aria-label="Alerts"><ul>${sections.join("")}</ul></nav>
<main>
${marked.parse(markdown)}</main>
</body>
</html>
`);
