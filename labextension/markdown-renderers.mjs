// Renders texts with the Markdown renderers of npm, for the tests of what Python writes: JSON with a list of texts on
// standard input, JSON with a list of pages for each renderer on standard output. Raw HTML passes where a renderer can
// let it pass, and addresses become links if it can make them links: a text has to be safe without any help.
import { text as whole } from "node:stream/consumers";
import MarkdownIt from "markdown-it";
import { Marked as MarkedHere } from "marked";
import { Marked } from "marked-jupyterlab";
import rehypeStringify from "rehype-stringify";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import showdown from "showdown";
import { unified } from "unified";

const remark = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkRehype, { allowDangerousHtml: true })
  .use(rehypeStringify, { allowDangerousHtml: true });
const marked = new Marked({ gfm: true });
const markedHere = new MarkedHere({ gfm: true });
const markdownIt = new MarkdownIt({ html: true, linkify: true });
const showdownPlain = new showdown.Converter();
const showdownGithub = new showdown.Converter({ tables: true, strikethrough: true, tasklists: true });
showdownGithub.setFlavor("github");

const RENDERERS = {
  "marked (JupyterLab)": (text) => marked.parse(text),
  marked: (text) => markedHere.parse(text),
  "remark-gfm": (text) => String(remark.processSync(text)),
  "markdown-it.js": (text) => markdownIt.render(text),
  showdown: (text) => showdownPlain.makeHtml(text),
  "showdown (GitHub)": (text) => showdownGithub.makeHtml(text),
};

const texts = JSON.parse(await whole(process.stdin));
const pages = Object.fromEntries(Object.entries(RENDERERS).map(([name, render]) => [name, texts.map(render)]));
process.stdout.write(JSON.stringify(pages));
