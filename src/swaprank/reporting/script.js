
(() => {
  "use strict";
  const root = document.documentElement;
  const tip = document.getElementById("tip");

  // Light and dark: as the system says, until somebody says otherwise.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const nameTheme = () => { document.getElementById("theme-word").textContent = isDark() ? "Light" : "Dark"; };
  // Storage may be forbidden for files.
  const stored = (use) => { try { return use(localStorage); } catch { return null; } };
  const kept = stored((storage) => storage.getItem("swaprank-theme"));
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored((storage) => storage.setItem("swaprank-theme", root.dataset.theme));
    nameTheme();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();

  // What is pointed at, or stepped to, says what it is.
  let current = null;
  let byKey = false;
  const leave = () => {
    if (current) current.classList.remove("on");
    current = null;
    tip.hidden = true;
  };
  const enter = (mark, x, y) => {
    if (mark !== current) {
      leave();
      current = mark;
      mark.classList.add("on");
      tip.replaceChildren(...mark.dataset.tip.split("\n").map((line, number) => {
        const row = document.createElement(number ? "span" : "b");
        row.textContent = line;
        return row;
      }));
      tip.hidden = false;
    }
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    const top = y + 16 + height > innerHeight ? y - 16 - height : y + 16;
    tip.style.left = `${Math.max(6, Math.min(left, innerWidth - width - 6))}px`;
    tip.style.top = `${Math.max(6, top)}px`;
  };
  const point = (event) => {
    const mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    if (mark) {
      byKey = false;
      enter(mark, event.clientX, event.clientY);
    } else if (!byKey) leave();
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  root.addEventListener("pointerleave", leave);

  const enterByKey = (mark) => {
    byKey = true;
    const place = (mark.querySelector(".bar, .dot, .median") || mark).getBoundingClientRect();
    enter(mark, place.left + place.width / 2, place.top + Math.min(place.height / 2, 40));
  };
  addEventListener("scroll", () => (byKey && current ? enterByKey(current) : leave()), { passive: true });
  for (const box of document.querySelectorAll(".steps")) {
    const isList = box.tagName === "TABLE";
    box.addEventListener("keydown", (event) => {
      const marks = [...box.querySelectorAll("[data-tip]")];
      if (!marks.length) return;
      const at = marks.indexOf(current);
      const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1 };
      if (isList) Object.assign(moves, { ArrowDown: at + 1, ArrowUp: at - 1 });
      if (event.key === "Escape") leave();
      if (!(event.key in moves)) return;
      event.preventDefault();
      enterByKey(marks[Math.max(0, Math.min(marks.length - 1, moves[event.key]))]);
    });
    box.addEventListener("blur", leave);
  }

  // Where one is on the page. On a phone, the links are wider than the screen.
  const strip = document.querySelector("nav ul");
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(entry.target.id);
      link.setAttribute("aria-current", "true");
      strip.scrollLeft = link.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const part of document.querySelectorAll("main section")) seen.observe(part);
})();
