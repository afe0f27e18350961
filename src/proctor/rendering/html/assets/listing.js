// A list of any length, of which only what can be seen is drawn.

const HEADING_HEIGHT = 34;
const ENTRY_HEIGHT = 58;
const SPARE = 8;

/**
 * The list of cases. `draw` makes the content of an entry, `heading` the words above a group, and
 * `chosen` is called with an entry when it is selected.
 */
class Listing {
  constructor({ list, rows, draw, heading, chosen }) {
    Object.assign(this, { list, rows, draw, heading, chosen });
    this.items = [];
    this.tops = [0];
    this.selected = -1;
    this.drawn = new Map();
    list.addEventListener("scroll", () => this.paint(), { passive: true });
    list.addEventListener("keydown", (event) => this.key(event));
    rows.addEventListener("click", (event) => {
      const place = event.target.closest("[data-place]")?.dataset.place;
      if (place !== undefined) this.select(Number(place));
    });
    new ResizeObserver(() => this.paint()).observe(list);
  }

  /** Shows these entries, and keeps the selected one when it is among them. */
  show(entries) {
    const before = this.entry;
    const sizes = new Map();
    for (const one of entries) sizes.set(one.group, (sizes.get(one.group) ?? 0) + 1);
    this.items = [];
    let group = null;
    for (const [place, one] of entries.entries()) {
      if (one.group !== group) {
        group = one.group;
        this.items.push({ group, size: sizes.get(group) });
      }
      this.items.push({ entry: one, number: place + 1 });
    }
    this.total = entries.length;
    this.tops = [0];
    for (const item of this.items) {
      this.tops.push(this.tops.at(-1) + (item.entry ? ENTRY_HEIGHT : HEADING_HEIGHT));
    }
    this.rows.style.height = `${this.tops.at(-1)}px`;
    this.clear();
    const same = this.items.findIndex((item) => item.entry && item.entry === before);
    this.select(same >= 0 ? same : this.items.findIndex((item) => item.entry), { quiet: same >= 0 });
    this.paint();
  }

  get entry() {
    return this.items[this.selected]?.entry ?? null;
  }

  /** Selects an entry by its place among the items; `quiet` when its details are shown already. */
  select(place, { quiet = false } = {}) {
    const old = this.drawn.get(this.selected);
    if (old) old.setAttribute("aria-selected", "false");
    this.selected = place;
    if (place < 0) {
      this.list.removeAttribute("aria-activedescendant");
    } else {
      this.reveal(place);
      this.paint();
      this.drawn.get(place)?.setAttribute("aria-selected", "true");
      this.list.setAttribute("aria-activedescendant", `entry-${place}`);
    }
    if (!quiet) this.chosen(this.entry);
  }

  /** Selects the entry that is `steps` further, headings not counted. */
  move(steps) {
    const way = Math.sign(steps);
    let [place, left] = [this.selected, Math.abs(steps)];
    for (let next = place + way; left > 0 && next >= 0 && next < this.items.length; next += way) {
      if (this.items[next].entry) [place, left] = [next, left - 1];
    }
    if (place !== this.selected) this.select(place);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ENTRY_HEIGHT) - 1);
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -this.items.length,
      End: this.items.length,
    }[event.key];
    if (steps === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.move(steps);
  }

  reveal(place) {
    const isFirst = this.items[place - 1] && !this.items[place - 1].entry;
    const top = this.tops[isFirst ? place - 1 : place];
    const bottom = this.tops[place + 1];
    const { scrollTop, clientHeight } = this.list;
    if (top < scrollTop) this.list.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) this.list.scrollTop = bottom - clientHeight;
  }

  clear() {
    this.rows.replaceChildren();
    this.drawn.clear();
  }

  /** The place of the item at a height, found by halving. */
  at(height) {
    let [low, high] = [0, this.items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= height) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  paint() {
    const { scrollTop, clientHeight } = this.list;
    const first = Math.max(0, this.at(scrollTop) - SPARE);
    const last = Math.min(this.items.length, this.at(scrollTop + clientHeight) + SPARE + 1);
    for (const [place, row] of this.drawn) {
      if (place < first || place >= last) {
        row.remove();
        this.drawn.delete(place);
      }
    }
    let isNew = false;
    for (let place = first; place < last; place += 1) {
      if (this.drawn.has(place)) continue;
      this.drawn.set(place, this.row(place));
      isNew = true;
    }
    // In the order they are read in, wherever the list was scrolled from.
    if (isNew) {
      this.rows.append(...[...this.drawn].sort(([one], [other]) => one - other).map(([, row]) => row));
    }
  }

  row(place) {
    const { entry, group, size, number } = this.items[place];
    const row = entry
      ? element(
          "div",
          {
            id: `entry-${place}`,
            class: "entry",
            role: "option",
            "data-place": place,
            "aria-selected": `${place === this.selected}`,
            "aria-setsize": this.total,
            "aria-posinset": number,
          },
          this.draw(entry),
        )
      : element("div", { class: "group", role: "presentation" }, this.heading(group, size));
    row.style.transform = `translateY(${this.tops[place]}px)`;
    return row;
  }
}
