"use strict";

// This file reads the fields, calls politeTry and politeExplain, and shows what they return.
// All text is set as text, never as HTML.

const at = id => document.getElementById(id);
const lines = id => at(id).value.split("\n");
const say = text => { if (at("state").textContent !== text) at("state").textContent = text; };
let blocked = ""; // the text of blocked.md

function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function tryOut() {
  const r = JSON.parse(politeTry(JSON.stringify({
    robots: at("robots").value, answer: at("answer").value, profile: at("profile").value,
    tokens: lines("tokens"), urls: lines("urls"),
  })));
  if (r.error) return say(r.error);
  at("rows").replaceChildren(...r.rows.map(row));
  clearTimeout(later);
  later = setTimeout(remark, 200);
  const count = {allow: 0, disallow: 0, defer: 0};
  for (const x of r.rows) if (x.verdict) count[x.verdict]++;
  say(`${count.allow} allowed, ${count.disallow} disallowed, ${count.defer} deferred`);
}

let later; // the timer of remark

// remark shows what polite lint says about the file, and puts the fields into the link. It runs
// when the visitor stops typing.
function remark() {
  const found = at("answer").value === "file" ? JSON.parse(politeLint(at("robots").value, at("profile").value)) : [];
  at("remarks").replaceChildren(...(found.error ? [] : found).map(m => {
    const item = element("li");
    item.append(lineButton(m.line), " ", element("b", m.level, m.level), ": " + m.remark);
    return item;
  }));
  at("remarked").hidden = at("remarks").children.length === 0;
  link("try", fields);
}

// fields are the fields of the first page. They are in its link, up to maxLink characters.
const fields = ["robots", "answer", "profile", "tokens", "urls"];
const maxLink = 8000;

// link puts the text of fields into the fragment of the URL.
function link(page, ids) {
  if (location.hash.slice(1).split("?")[0] !== page && !(page === "try" && location.hash === "")) return;
  const text = new URLSearchParams(ids.map(id => [id, at(id).value])).toString();
  history.replaceState(null, "", "#" + page + (text.length > maxLink ? "" : "?" + text));
}

// fill writes the fields from the fragment of the URL.
function fill() {
  const text = location.hash.split("?")[1];
  for (const [id, value] of new URLSearchParams(text || "")) {
    if (fields.includes(id) || id === "decision") at(id).value = value;
  }
}

function row(x) {
  const tr = element("tr"), verdict = element("td"), line = element("td");
  if (x.verdict) verdict.append(element("span", x.verdict, "badge " + x.verdict));
  if (x.line) line.append(lineButton(x.line), " ", element("code", x.rule));
  tr.append(element("td", x.url, "url"), element("td", x.token), verdict, line, element("td", x.why, "why"));
  return tr;
}

// lineButton returns a button that selects a line of robots.txt.
function lineButton(n) {
  const b = element("button", "line " + n);
  b.type = "button";
  b.addEventListener("click", () => {
    const field = at("robots"), ends = /\r\n?|\n/g;
    let start = 0;
    for (let i = 1; i < n; i++) {
      if (!ends.exec(field.value)) break;
      start = ends.lastIndex;
    }
    const end = ends.exec(field.value);
    field.focus();
    field.setSelectionRange(start, end ? end.index : field.value.length);
  });
  return b;
}

function explain() {
  const written = at("decision").value;
  link("why", written ? ["decision"] : []);
  at("explained").hidden = true;
  if (written.trim() === "") return say("");
  const r = JSON.parse(politeExplain(written, blocked));
  if (r.error) return say(r.error);
  at("title").textContent = r.title;
  at("section").replaceChildren(...paragraphs(r.section));
  at("anchor").href = "blocked.md#" + r.anchor;
  at("parts").replaceChildren(...r.parts.flatMap(p => [element("dt", p.name), element("dd", p.text)]));
  at("line").textContent = r.line;
  at("explained").hidden = false;
  say(`${r.verdict}: ${r.title}`);
}

// paragraphs shows the Markdown that blocked.md uses: paragraphs, tables, bold, code, links.
function paragraphs(text) {
  return text.split(/\n\s*\n/).filter(p => p.trim()).map(p => {
    if (!p.startsWith("|")) return inline(element("p"), p.replace(/\n/g, " "));
    const list = element("ul");
    for (const l of p.split("\n").slice(2)) {
      list.append(inline(element("li"), l.replace(/^\||\|$/g, "").trim().replace(/ \| /, ": ")));
    }
    return list;
  });
}

function inline(into, text) {
  for (const part of text.split(/(`[^`]*`|\*\*[^*]*\*\*|\[[^\]]*\]\([^)]*\))/)) {
    if (part.startsWith("`")) into.append(element("code", part.slice(1, -1)));
    else if (part.startsWith("**")) into.append(element("b", part.slice(2, -2)));
    else if (part.startsWith("[")) into.append(part.slice(1, part.indexOf("]")));
    else into.append(part);
  }
  return into;
}

// turn shows the page that the fragment of the URL names.
function turn() {
  const why = location.hash.split("?")[0] === "#why";
  if (location.hash === "#main") return;
  fill();
  at("page-try").hidden = why;
  at("page-why").hidden = !why;
  for (const a of document.querySelectorAll("nav a")) {
    if ((a.hash === "#why") === why) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  (why ? explain : tryOut)();
}

async function start() {
  const go = new Go();
  const [program, page] = await Promise.all([fetch("play.wasm"), fetch("blocked.md")]);
  if (!program.ok || !page.ok) throw new Error("play.wasm or blocked.md is missing: build the page with go run ./docs/play -o DIR");
  blocked = await page.text();
  const {instance} = await WebAssembly.instantiate(await program.arrayBuffer(), go.importObject);
  go.run(instance);
  for (const id of ["robots", "tokens", "urls", "answer", "profile"]) at(id).addEventListener("input", tryOut);
  at("decision").addEventListener("input", explain);
  addEventListener("hashchange", turn);
  turn();
}

start().catch(e => say(e.message));
