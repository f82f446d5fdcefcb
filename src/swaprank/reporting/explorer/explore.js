
(() => {
  "use strict";
  const ROW = 56;
  const PAGE = 100;
  const byId = (id) => document.getElementById(id);
  const [box, rows, found, view] = ["queries", "rows", "found", "view"].map(byId);
  const controls = [...document.querySelectorAll(".filters select, .filters input")];
  let pages = new Map();
  let coming = new Map(); // pages that are being fetched, or were
  let total = 0;
  let reach = 1;
  let at = -1; // the place in the list
  let open = null; // the number of the query that is shown
  let version = 0;
  let shown = 20;
  let chosen = []; // documents: at most two, of one ranking
  let asked = 0;

  const fetchJson = async (what, given) => {
    const answer = await fetch(`${what}?${new URLSearchParams(given)}`);
    const values = await answer.json();
    if (!answer.ok) throw new Error(values.error);
    return values;
  };
  const make = (name, style, text) => {
    const element = document.createElement(name);
    element.className = style;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const number = (value, signed) => (value === null ? "–" : `${signed && value >= 0 ? "+" : ""}${value.toFixed(4)}`);
  const metric = () => byId("metric").value;
  const filters = () => {
    const given = { metric: metric(), order: byId("order").value, text: byId("text").value };
    for (const each of controls) if (each.dataset.segment && each.value) given[`segment:${each.dataset.segment}`] = each.value;
    return given;
  };

  // The list of queries: only the rows in view exist, and pages are fetched when they come into view.
  const load = (page) => {
    if (!coming.has(page)) coming.set(page, fetchPage(page));
    return coming.get(page);
  };
  const fetchPage = async (page) => {
    const mine = version;
    const values = await fetchJson("queries", { ...filters(), first: page * PAGE, count: PAGE });
    if (mine !== version) return;
    pages.set(page, values.queries);
    ({ total, reach } = values);
    if (values.summary) byId("summary").innerHTML = values.summary;
    found.textContent = `${total.toLocaleString("en")} ${total === 1 ? "query" : "queries"}`;
    draw();
  };
  const bar = (change) => {
    const picture = make("span", "swing");
    const part = make("span", change > 0 ? "up" : "down");
    part.style.width = `${(50 * Math.abs(change || 0)) / (reach || 1)}%`;
    picture.append(part);
    return picture;
  };
  const row = (place, each) => {
    const element = make("div", "row");
    element.id = `row-${place}`;
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", String(place === at));
    element.style.top = `${place * ROW}px`;
    if (!each) return element;
    const style = each.change > 0 ? "up" : each.change < 0 ? "down" : "same";
    const name = make("bdi", "one-line id", each.id);
    if (each.text) name.append(make("span", "more", ` ${each.text}`));
    element.append(name, make("span", `change ${style}`, number(each.change, true)));
    element.append(make("span", "values", `${number(each.old)} → ${number(each.new)}`), bar(each.change));
    element.addEventListener("click", async () => {
      await choose(place);
      // On a phone, the query is below the list.
      if (innerWidth < 1000) view.scrollIntoView();
    });
    return element;
  };
  const draw = () => {
    rows.style.height = `${total * ROW}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 5);
    const last = Math.min(total, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + 5);
    const drawn = [];
    for (let place = first; place < last; place += 1) {
      const page = pages.get(Math.floor(place / PAGE));
      if (!page) load(Math.floor(place / PAGE));
      drawn.push(row(place, page ? page[place % PAGE] : null));
    }
    rows.replaceChildren(...drawn);
    if (at >= 0) box.setAttribute("aria-activedescendant", `row-${at}`);
    else box.removeAttribute("aria-activedescendant");
  };
  const restart = async () => {
    version += 1;
    [pages, coming] = [new Map(), new Map()];
    at = -1;
    box.scrollTop = 0;
    await load(0);
    if (total && innerWidth >= 1000) choose(0);
    else if (!total) view.replaceChildren(make("p", "note", "No query fits."));
  };
  const choose = async (place) => {
    at = Math.max(0, Math.min(total - 1, place));
    const top = at * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
    draw();
    await load(Math.floor(at / PAGE));
    const page = pages.get(Math.floor(at / PAGE));
    if (page) await show(page[at % PAGE].query);
  };
  box.addEventListener("scroll", draw, { passive: true });
  addEventListener("resize", draw);
  box.addEventListener("keydown", (event) => {
    const jump = Math.max(1, Math.floor(box.clientHeight / ROW) - 1);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + jump, PageUp: at - jump, Home: 0, End: total - 1 };
    if (!(event.key in moves) || !total) return;
    event.preventDefault();
    choose(moves[event.key]);
  });
  let pause = 0;
  for (const each of controls) {
    each.addEventListener(each.id === "text" ? "input" : "change", () => {
      clearTimeout(pause);
      pause = setTimeout(restart, each.id === "text" ? 150 : 0);
    });
  }

  // One query: two lists, and what is chosen in them.
  const complain = (error) => make("p", "note", error.message);
  const show = async (query, count = 20) => {
    const mine = (asked += 1);
    try {
      const values = await fetchJson("query", { query, metric: metric(), shown: count });
      if (mine !== asked) return;
      [open, shown, chosen] = [query, count, []];
      view.innerHTML = values.html;
    } catch (error) { view.replaceChildren(complain(error)); }
  };
  const fill = async (id, what, given) => {
    const mine = asked;
    const place = byId(id);
    try {
      const values = await fetchJson(what, { query: open, metric: metric(), ...given });
      if (mine !== asked || !place.isConnected) return null;
      place.innerHTML = values.html;
      return values;
    } catch (error) {
      place.replaceChildren(complain(error));
      return null;
    }
  };
  const pick = async (line) => {
    const ranking = line.closest("article").dataset.ranking;
    const number = line.dataset.document;
    const same = chosen.filter((each) => each.ranking === ranking);
    const again = same.some((each) => each.number === number);
    chosen = again ? same.filter((each) => each.number !== number) : [...same, { ranking, number }].slice(-2);
    for (const each of view.querySelectorAll("tr[data-document]")) {
      const inList = each.closest("article").dataset.ranking === ranking;
      const isChosen = inList && chosen.some((one) => one.number === each.dataset.document);
      each.classList.toggle("chosen", isChosen);
      each.querySelector("button").setAttribute("aria-pressed", String(isChosen));
      each.querySelector(".swap").textContent = "";
    }
    byId("pair").replaceChildren();
    byId("document").replaceChildren();
    if (!chosen.length) return;
    const last = chosen[chosen.length - 1].number;
    if (chosen.length === 2 && line.closest("article").dataset.model) {
      fill("pair", "pair", { ranking, a: chosen[0].number, b: last });
    }
    const values = await fill("document", "document", { ranking, document: last });
    if (!values) return;
    for (const each of view.querySelectorAll(`article[data-ranking="${ranking}"] tr[data-document]`)) {
      const cell = each.querySelector(".swap");
      const text = values.swaps[each.dataset.document] || "";
      cell.textContent = text;
      cell.className = `swap ${text.startsWith("+") ? "up" : text ? "down" : ""}`;
    }
  };
  const edit = () => {
    const given = { ...chosen[chosen.length - 1] };
    const values = { ranking: given.ranking, document: given.number };
    for (const field of view.querySelectorAll("input[data-feature]")) {
      const isEdited = field.value !== field.dataset.value;
      field.classList.toggle("edited", isEdited);
      if (isEdited) values[`value:${field.dataset.feature}`] = field.value;
    }
    fill("effect", "edit", values);
  };
  view.addEventListener("click", (event) => {
    if (event.target.closest("#more")) show(open, 1000);
    const line = event.target.closest("tr[data-document]");
    if (line) pick(line);
  });
  view.addEventListener("change", (event) => { if (event.target.matches("input[data-feature]")) edit(); });
  view.addEventListener("keydown", (event) => {
    const button = event.target.closest("button.choose");
    if (!button || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const all = [...button.closest("table").querySelectorAll("button.choose")];
    const place = all.indexOf(button);
    const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: all.length - 1 }[event.key];
    all[Math.max(0, Math.min(all.length - 1, next))].focus();
  });
  const highlight = (event) => {
    const marked = event.target.closest ? event.target.closest("[data-document]") : null;
    const number = marked ? marked.dataset.document : null;
    for (const each of view.querySelectorAll("[data-document]")) each.classList.toggle("same-document", each.dataset.document === number);
  };
  view.addEventListener("pointerover", highlight);
  view.addEventListener("focusin", highlight);
  view.addEventListener("pointerleave", highlight);
  restart();
})();
