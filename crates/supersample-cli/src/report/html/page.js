"use strict";
(() => {
  const number = (text) => Number(text);
  const short = (value) => {
    if (value === 0 || !isFinite(value)) return String(value);
    const size = Math.abs(value);
    return size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(4))) : value.toPrecision(3);
  };
  // An axis as the figure says it: where it begins and ends on the paper and in numbers, and whether by powers of ten.
  const axis = (text) => {
    const [from, to, low, high, log] = text.split(" ").map(number);
    const at = (place) => {
      const part = (place - from) / (to - from);
      return log ? low * Math.pow(high / low, part) : low + part * (high - low);
    };
    return { from, to, at };
  };
  // The corners of a path of straight lines.
  const corners = (path) => {
    const found = [];
    let x = 0, y = 0;
    for (const [, command, rest] of path.getAttribute("d").matchAll(/([MLHV])([^MLHVZ]*)/g)) {
      const [a, b] = rest.trim().split(/[ ,]+/).map(number);
      if (command === "H") x = a;
      else if (command === "V") y = a;
      else [x, y] = [a, b];
      found.push([x, y]);
    }
    return found;
  };
  const heightAt = (points, x) => {
    if (!points.length || x < points[0][0] || x > points[points.length - 1][0]) return null;
    let low = 0, high = points.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (points[middle][0] <= x) low = middle;
      else high = middle;
    }
    const [[x0, y0], [x1, y1]] = [points[low], points[high]];
    return x1 > x0 ? y0 + ((x - x0) / (x1 - x0)) * (y1 - y0) : y1;
  };

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  for (const figure of document.querySelectorAll("svg[data-x]")) {
    const x = axis(figure.dataset.x), y = axis(figure.dataset.y);
    const across = figure.dataset.across || "x", up = figure.dataset.up || "y";
    let lines = null;
    figure.addEventListener("pointermove", (event) => {
      const matrix = figure.getScreenCTM();
      if (!matrix) return;
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      const inside = place.x >= x.from && place.x <= x.to && place.y <= y.from && place.y >= y.to;
      tip.hidden = !inside;
      if (!inside) return;
      lines = lines || [...figure.querySelectorAll("path[data-name]")].map((path) => [path.dataset.name, corners(path)]);
      const said = [`${across} ${short(x.at(place.x))}`];
      for (const [name, points] of lines) {
        const height = heightAt(points, place.x);
        if (height !== null) said.push(`${name} ${short(y.at(height))}`);
      }
      if (!lines.length) {
        let nearest = null, least = 64;
        for (const dot of figure.querySelectorAll("circle[data-t]:not([hidden])")) {
          const far = (dot.cx.baseVal.value - place.x) ** 2 + (dot.cy.baseVal.value - place.y) ** 2;
          if (far < least) [nearest, least] = [dot, far];
        }
        if (nearest) {
          said[0] = `${across} ${short(x.at(nearest.cx.baseVal.value))}`;
          said.push(`${up} ${short(y.at(nearest.cy.baseVal.value))}`, `point ${nearest.dataset.t}`);
        } else {
          said.push(`${up} ${short(y.at(place.y))}`);
        }
      }
      tip.textContent = said.join(" · ");
      const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
      tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, room))}px`;
      tip.style.top = `${event.clientY + 18}px`;
    });
    figure.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  const arrival = document.querySelector(".arrival");
  if (!arrival) return;
  const slider = arrival.querySelector("input"), told = arrival.querySelector("output");
  const curve = arrival.dataset.errors ? arrival.dataset.errors.split(" ").map((pair) => pair.split(":").map(number)) : [];
  const dots = [...document.querySelectorAll("circle[data-t]")];
  const show = () => {
    const first = number(slider.value);
    for (const dot of dots) dot.toggleAttribute("hidden", number(dot.dataset.t) > first);
    const known = curve.filter(([t]) => t === first)[0];
    told.textContent = `the first ${first} of ${slider.max}` + (known ? `, MMD ${short(known[1])}` : "");
  };
  slider.addEventListener("input", show);
  arrival.hidden = false;
})();
