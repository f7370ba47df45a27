/** Moments of games, drawn by kind: a card table, a board, a battle of two sides, or words. */
import { Typed } from "./parts";

export interface Stat {
  name: string;
  value: string;
  of?: string;
  share?: number;
  note?: string;
  tone?: string;
}

export interface Card {
  name: string;
  kind: string;
  rank?: string;
  suit?: string;
  text?: string;
  foot?: string;
  marks?: string[];
  state?: string;
}

export interface Zone {
  name: string;
  title: string;
  cards: Card[];
  note?: string;
}

interface Names {
  title: string;
  items: string[];
}

interface Thing {
  label: string;
  tone: string;
  title: string;
}

interface Member {
  name: string;
  health: number;
  out: boolean;
  item?: string;
  tags: string[];
  notes: string[];
  moves: string[];
}

export type Scene =
  | { kind: "cards"; stats: Stat[]; zones: Zone[]; lists?: Names[] }
  | { kind: "board"; rows: number; cols: number; cells: { row: number; col: number; ground: string; label?: string; things: Thing[] }[]; stats: Stat[]; lists?: Names[] }
  | { kind: "battle"; sides: { title: string; notes: string[]; members: Member[] }[]; stats: Stat[] }
  | { kind: "text"; text: string };

export interface Picking {
  zone: string;
  picked: number[];
  toggle: (place: number) => void;
}

export function Drawn({ scene, picking }: { scene: Scene; picking?: Picking | undefined }) {
  if (scene.kind === "cards") return <Cards scene={scene} picking={picking} />;
  if (scene.kind === "board") return <Board scene={scene} />;
  if (scene.kind === "battle") return <Battle scene={scene} />;
  return <Typed kind="words" label="The game in words" text={scene.text} />;
}

function SceneStats({ stats }: { stats: Stat[] }) {
  return (
    <dl class="scene-stats">
      {stats.map((one) => (
        <div key={one.name} class={one.tone ? `tone-${one.tone}` : ""}>
          <dt>{one.name}</dt>
          <dd>{one.value}{one.of !== undefined && <small> / {one.of}</small>}
            {one.share !== undefined && <meter min={0} max={1} value={one.share} aria-label={`${one.name} so far`} />}
            {one.note && <small> {one.note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Lists({ lists }: { lists: Names[] | undefined }) {
  return lists?.length ? (
    <div class="lists">
      {lists.map((list) => <p key={list.title}><b>{list.title}</b> {list.items.join(" · ")}</p>)}
    </div>
  ) : null;
}

// --- cards ---

function Cards({ scene, picking }: { scene: Extract<Scene, { kind: "cards" }>; picking?: Picking | undefined }) {
  return (
    <div class="scene felt">
      <SceneStats stats={scene.stats} />
      {scene.zones.map((zone) => (
        <section key={zone.name} class={`zone z-${zone.name}`} aria-label={zone.title}>
          <h2 class="h4">{zone.title} {zone.note && <small>{zone.note}</small>}</h2>
          <div class="cards">
            {zone.cards.map((card, place) => {
              const pickable = picking?.zone === zone.name;
              return pickable ? (
                <button type="button" key={place} class={`pick ${picking.picked.includes(place) ? "picked" : ""}`} aria-pressed={picking.picked.includes(place)} aria-label={card.name} onClick={() => picking.toggle(place)}><CardFace card={card} /></button>
              ) : <CardFace key={place} card={card} />;
            })}
          </div>
        </section>
      ))}
      <Lists lists={scene.lists} />
    </div>
  );
}

export function CardFace({ card }: { card: Card }) {
  const classes = `card k-${card.kind.replace(/ /g, " k-")} ${card.state ? `is-${card.state}` : ""}`;
  if (card.state === "hidden") return <div class={classes} title="face down"><Back /><small class="foot">{card.foot}</small></div>;
  const words = [card.name, card.text, ...(card.marks ?? [])].filter(Boolean).join("\n");
  if (card.rank && card.suit) {
    const red = "♥♦".includes(card.suit);
    return (
      <div class={`${classes} playing ${red ? "red" : "black"}`} title={words}>
        <b class="corner">{card.rank}<i>{card.suit}</i></b>
        <span class="pip">{card.suit}</span>
        {card.marks?.map((mark) => <em key={mark}>{mark}</em>)}
        <small class="foot">{card.foot}</small>
      </div>
    );
  }
  return (
    <div class={classes} title={words}>
      <Emblem name={card.name} />
      <b class="label">{card.name}</b>
      {card.text && <span class="effect">{card.text}</span>}
      {card.marks?.map((mark) => <em key={mark}>{mark}</em>)}
      {card.foot && <small class="foot">{card.foot}</small>}
    </div>
  );
}

const Back = () => (
  <svg class="back" viewBox="0 0 40 56" aria-hidden="true">
    {[0, 1, 2, 3, 4].map((i) => <path key={i} d={`M${-8 + i * 12} 56L${12 + i * 12} 0`} />)}
    {[0, 1, 2, 3, 4].map((i) => <path key={i} d={`M${-8 + i * 12} 0L${12 + i * 12} 56`} />)}
  </svg>
);

/** A small drawing of its own for every name: the same name, the same drawing. */
function Emblem({ name }: { name: string }) {
  let seed = 2166136261;
  for (const letter of name) seed = Math.imul(seed ^ letter.charCodeAt(0), 16777619) >>> 0;
  const draw = (many: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * many);
  };
  const points = 3 + draw(6);
  const inner = 4 + draw(8);
  const turn = draw(360);
  const star = Array.from({ length: points * 2 }, (_, i) => {
    const angle = (Math.PI * i) / points;
    const size = i % 2 ? inner : 15;
    return `${(20 + size * Math.sin(angle)).toFixed(1)},${(20 - size * Math.cos(angle)).toFixed(1)}`;
  }).join(" ");
  return (
    <svg class="emblem" viewBox="0 0 40 40" aria-hidden="true">
      <polygon points={star} transform={`rotate(${turn} 20 20)`} />
      <circle cx="20" cy="20" r={2 + draw(4)} />
    </svg>
  );
}

// --- boards ---

function Board({ scene }: { scene: Extract<Scene, { kind: "board" }> }) {
  const rows = [...Array(scene.rows).keys()].toReversed();
  const cell = new Map(scene.cells.map((one) => [`${one.row},${one.col}`, one]));
  return (
    <div class="scene">
      <SceneStats stats={scene.stats} />
      <table class="board" aria-label="Board">
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              {[...Array(scene.cols).keys()].map((col) => {
                const here = cell.get(`${row},${col}`);
                return (
                  <td key={col} class={here?.ground ? `g-${here.ground}` : (row + col) % 2 ? "odd" : ""}>
                    {here?.things.map((thing, i) => <span key={i} class={`thing tone-${thing.tone}`} title={thing.title}>{thing.label}</span>)}
                    {here?.label && <small>{here.label}</small>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <Lists lists={scene.lists} />
    </div>
  );
}

// --- battles ---

function Battle({ scene }: { scene: Extract<Scene, { kind: "battle" }> }) {
  return (
    <div class="scene">
      <SceneStats stats={scene.stats} />
      {scene.sides.map((side) => (
        <section key={side.title} class="side" aria-label={side.title}>
          <h2 class="h4">{side.title} {side.notes.length > 0 && <small>{side.notes.join(", ")}</small>}</h2>
          <div class="members">
            {side.members.map((member, i) => <Fighter key={i} member={member} />)}
          </div>
        </section>
      ))}
    </div>
  );
}

function Fighter({ member }: { member: Member }) {
  const state = member.health <= 0 ? "fainted" : member.out ? "out" : "waiting";
  const level = member.health > 0.5 ? "good" : member.health > 0.2 ? "money" : "bad";
  return (
    <div class={`member ${state}`}>
      <b>{member.name}</b> <small>{member.tags.join("/")}</small>
      <div class={`health tone-${level}`} role="img" aria-label={`${Math.round(100 * member.health)} percent health`}><i style={{ width: `${100 * member.health}%` }} /></div>
      <small>{Math.round(100 * member.health)} %{member.notes.length > 0 && ` · ${member.notes.join(", ")}`}{member.item && ` · ${member.item}`}</small>
      {member.out && member.health > 0 && <small class="moves">{member.moves.join(" · ")}</small>}
    </div>
  );
}

// --- what changed ---

function count(cards: Card[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const card of cards) found.set(card.name, (found.get(card.name) ?? 0) + 1);
  return found;
}

/** From one moment to the next, in a few words each. */
export function changes(before: Scene | undefined, after: Scene): string[] {
  if (!before || before.kind !== after.kind || before.kind === "text" || after.kind === "text") return [];
  const old = new Map(before.stats.map((one) => [one.name, one.value]));
  const found = after.stats.filter((one) => old.has(one.name) && old.get(one.name) !== one.value).map((one) => `${one.name} ${old.get(one.name)} → ${one.value}`);
  if (before.kind === "cards" && after.kind === "cards") {
    const zones = new Map(before.zones.map((zone) => [zone.name, count(zone.cards)]));
    for (const zone of after.zones) {
      const had = zones.get(zone.name);
      if (!had) continue;
      const has = count(zone.cards);
      const come = [...has].filter(([name, many]) => many > (had.get(name) ?? 0)).map(([name]) => name);
      const gone = [...had].filter(([name, many]) => many > (has.get(name) ?? 0)).map(([name]) => name);
      if (come.length) found.push(`${zone.name} + ${come.join(", ")}`);
      if (gone.length) found.push(`${zone.name} − ${gone.join(", ")}`);
      const was = before.zones.find((one) => one.name === zone.name)?.cards ?? [];
      const chosen = (cards: Card[]): string[] => cards.filter((card) => card.state === "chosen").map((card) => card.name);
      const earlier = chosen(was);
      const fresh = chosen(zone.cards).filter((name) => !earlier.includes(name));
      if (fresh.length && zone.name !== "blinds") found.push(`chosen ${fresh.join(", ")}`);
      if (!come.length && !gone.length && was.map((card) => card.name).join() !== zone.cards.map((card) => card.name).join()) found.push(`${zone.name} in another order`);
    }
  }
  if (before.kind === "battle" && after.kind === "battle")
    after.sides.forEach((side, number) => {
      const had = new Map(before.sides[number]?.members.map((one) => [one.name, one]) ?? []);
      for (const one of side.members) {
        const was = had.get(one.name);
        if (was && Math.round(100 * was.health) !== Math.round(100 * one.health)) found.push(`${one.name} ${Math.round(100 * was.health)} → ${Math.round(100 * one.health)} %`);
        else if (was && !was.out && one.out) found.push(`${one.name} comes out`);
      }
    });
  return found;
}

