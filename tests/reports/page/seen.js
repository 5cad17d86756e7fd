// What a reader sees of a page, for test_browser.py, which puts these functions into every page that it opens.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const visible = (selector, within) => all(selector, within).filter(e => e.checkVisibility());
const box = e => e.getBoundingClientRect();
const style = (e, pseudo) => getComputedStyle(e, pseudo);

function expand() {
  for (const folded of all("details")) folded.open = true;
}

/** Return how often each selector is visible. */
function counts(...selectors) {
  return selectors.map(selector => visible(selector).length);
}

/** Return tag, text and contrast with what is behind it of every text: the computed colors. */
function contrasts() {
  const parse = color => {
    const numbers = color.match(/[\d.]+/g).map(Number);
    return {rgb: numbers.slice(0, 3), alpha: numbers[3] ?? 1};
  };
  const luminance = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(style(e).backgroundColor);
      if (color.alpha === 1) return color.rgb;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const found = [];
  for (const e of visible("body *")) {
    if (e.closest("svg")) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    found.push([e.tagName.toLowerCase(), e.textContent.slice(0, 40), contrast(parse(style(e).color).rgb, behind(e))]);
  }
  const roles = ["good", "bad", "plain", "change"].map(hue => `^='var(--${hue}`).concat("='var(--missing)");
  for (const svg of visible("svg")) {
    const cells = all(roles.map(role => `path[fill${role}']`).join(), svg);
    for (const text of all("text", svg)) {
      const bounds = text.getBBox();
      const middle = svg.createSVGPoint();
      middle.x = bounds.x + bounds.width / 2;
      middle.y = bounds.y + bounds.height / 2;
      const cell = text.hasAttribute("transform") ? null : cells.find(c => c.isPointInFill(middle));
      const ground = cell ? parse(style(cell).fill).rgb : behind(svg);
      found.push([cell ? "cell" : "svg", text.textContent, contrast(parse(style(text).fill).rgb, ground)]);
    }
  }
  return found;
}

/** Return the texts of drawings that overlap, and by how much. */
function overlaps() {
  return visible("svg").flatMap(svg => {
    const texts = all("text", svg).map(t => [t.textContent, box(t)]);
    const found = [];
    for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
      const [a, b] = [texts[i][1], texts[j][1]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Boxes of text are higher than their letters; upright ones are wider.
      if (wide > 4 && high > 4) found.push([svg.getAttribute("aria-label"), texts[i][0], texts[j][0], wide, high]);
    }
    return found;
  });
}

/** Return the texts that extend beyond their drawing. */
function beyondDrawings() {
  return visible("svg text").filter(text => {
    const [a, b] = [box(text), box(text.ownerSVGElement)];
    return a.left < b.left - 3 || a.right > b.right + 3 || a.top < b.top - 3 || a.bottom > b.bottom + 3;
  }).map(text => text.textContent);
}

/** Return each text of a drawing, and how large it is on the screen. */
function sizesOfTexts() {
  return visible("svg text").map(text => {
    const svg = text.ownerSVGElement;
    return [text.textContent, parseFloat(style(text).fontSize) * box(svg).width / svg.viewBox.baseVal.width];
  });
}

/** Return the name of each figure, and where its drawings are; what is folded is looked at, too. */
function drawings() {
  return all("figure").map(figure => {
    const folded = figure.querySelector(":scope > details:not(.numbers)");
    if (folded) folded.open = true;
    const boxes = visible("svg", figure).map(box).map(b => [b.left, b.right, b.width, b.height]);
    if (folded) folded.open = false;
    return [figure.id, boxes];
  });
}

/** Return the name of the figure of each table, how wide it is, how much of that is seen, and how wide its card is. */
function widthsOfTables() {
  return all("details.numbers").map(numbers => {
    numbers.open = true;
    const table = numbers.querySelector(".scroll");
    const widths = [table.closest("figure").id, table.scrollWidth, table.clientWidth, numbers.clientWidth];
    numbers.open = false;
    return widths;
  });
}

/** Return in how many places side by side the drawings of each figure begin. */
function columnsOfDrawings() {
  return all(".body").map(body => new Set(all(".panel", body).map(panel => box(panel).left)).size);
}

/** Return the cells that stick out to the right. */
function cellsOutside() {
  return all("td, th").filter(cell => box(cell).right > innerWidth).map(cell => cell.textContent);
}

/** Return how high the cells are that folded details have, which printing shows: 0 if they are not seen. */
function heightsOfFolded() {
  // Answers are printed on request, by opening them.
  return all("details:not([open])").filter(details => !details.closest(".examples"))
    .flatMap(details => all("td, pre, dd", details))
    // On paper, a table that is set in lines leaves out what there is no figure of.
    .filter(cell => cell.textContent.trim() && !cell.matches(".wide .no"))
    .map(cell => cell.checkVisibility({contentVisibilityAuto: true}) ? box(cell).height : 0);
}

/** Return what scrolls although the keyboard does not reach it. */
function outOfReach() {
  return all("pre, .scroll, .sideways").filter(e => e.tabIndex < 0 && [
    [style(e).overflowY, e.scrollHeight - e.clientHeight],
    [style(e).overflowX, e.scrollWidth - e.clientWidth],
  ].some(([overflow, hidden]) => /auto|scroll/.test(overflow) && hidden > 0)).map(e => e.outerHTML.slice(0, 80));
}

/** Return the text of each head of a table, how wide it is, and the size of its letters. */
function heads() {
  return all("thead th").map(head => [head.textContent, box(head).width, parseFloat(style(head).fontSize)]);
}

/** Return of each mark that tells something what that is, what its middle tells, and what a point beside that tells. */
function told(marks) {
  return all(marks).map(mark => {
    mark.scrollIntoView({block: "center", behavior: "instant"});
    const {left, top, width, height} = box(mark);
    const at = right => document.elementFromPoint(left + width / 2 + right, top + height / 2).textContent;
    return [mark.textContent, at(0), at(5)];
  });
}

Object.assign(window, {
  all, visible, box, style, expand, counts, contrasts, overlaps, beyondDrawings, sizesOfTexts, drawings, widthsOfTables,
  columnsOfDrawings, cellsOutside, heightsOfFolded, outOfReach, heads, told,
});
