/** What seeds hold, ante by ante, and which seeds hold what one wants; every view has its link. */
import { useState } from "preact/hooks";
import { address, post, useGet } from "./api";
import { whole } from "./format";
import { Progress, useJob } from "./jobs";
import { Complaint, Empty, Scroll } from "./parts";
import { change, usePlace } from "./place";
import { CardFace, type Zone } from "./scenes";

interface SeedGame {
  id: string;
  title: string;
  how: string;
  example: string;
  choices: Record<string, string[]>;
  things: Record<string, string[]>;
}

interface SeedDocument {
  title: string;
  words: string;
  chapters: { title: string; zones: Zone[] }[];
}

const slug = (title: string): string => title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
const EXAMPLES = ["voucher:v_telescope@1 and joker:j_blueprint@<=2", "joker:any+negative@1", "not boss:\"The Needle\"@<=3 and tag:\"Negative Tag\"@<=2"];

export function Seeds() {
  const { query } = usePlace();
  const games = useGet<{ games: SeedGame[] }>("/api/seeds");
  const game = games.data?.games.find((one) => one.id === query.get("game")) ?? games.data?.games[0];
  if (!games.data) return games.error ? <Complaint text={games.error} /> : <p class="quiet">Looking…</p>;
  if (!game) return <Empty title="No seeds"><p>No game here can tell what its seeds hold.</p></Empty>;
  return (
    <>
      <header class="head"><h1>Seeds</h1><p class="lead">what {game.title} deals, before it is played</p></header>
      <Asking key={game.id} game={game} />
    </>
  );
}

function Asking({ game }: { game: SeedGame }) {
  const { query } = usePlace();
  const [seed, setSeed] = useState(query.get("seed") ?? "");
  const [question, setQuestion] = useState(query.get("find") ?? "");
  const [job, setJob] = useState<string | null>(null);
  const [refused, setRefused] = useState("");
  const chosen = Object.fromEntries(Object.entries(game.choices).map(([name]) => [name, query.get(name) ?? ""]));
  const options = Object.entries(chosen).filter(([, value]) => value);
  const shown = query.get("seed");
  const search = async (): Promise<void> => {
    change({ find: question }, false);
    const wanted = Object.fromEntries(options.map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]));
    try {
      setJob((await post<{ id: string }>("/api/seeds/search", { game: game.id, question, limit: 24, options: wanted })).id);
      setRefused("");
    } catch (problem) {
      setRefused((problem as Error).message);
    }
  };
  return (
    <>
      <div class="columns">
        <form class="box" onSubmit={(event) => { event.preventDefault(); change({ game: game.id, seed: seed.trim().toUpperCase() }, false); }}>
          <h2 class="h3">Look at a seed</h2>
          <label>Seed <input value={seed} placeholder={game.example} onInput={(event) => setSeed(event.currentTarget.value)} /></label>
          <div class="row">
            {Object.entries(game.choices).map(([name, values]) => (
              <label key={name}>{name} <select value={chosen[name]} onChange={(event) => change({ [name]: event.currentTarget.value || null })}><option value="">usual</option>{values.map((value) => <option key={value}>{value}</option>)}</select></label>
            ))}
          </div>
          <button type="submit" class="main" disabled={!seed.trim()}>Show</button>
        </form>
        <form class="box" onSubmit={(event) => { event.preventDefault(); if (question.trim()) void search(); }}>
          <h2 class="h3">Find seeds</h2>
          <Picker things={game.things} add={(condition) => setQuestion(question.trim() ? `${question.trim()} and ${condition}` : condition)} />
          <label>That hold <input value={question} placeholder={EXAMPLES[0]} onInput={(event) => setQuestion(event.currentTarget.value)} /></label>
          <p class="row">{EXAMPLES.map((one) => <button type="button" key={one} class="tag" onClick={() => setQuestion(one)}>{one}</button>)}</p>
          <button type="submit" class="main" disabled={!question.trim()}>Search</button>
          <Complaint text={refused} />
          <details><summary>How questions are written</summary><p>{game.how}</p></details>
          {job && <Found id={job} />}
        </form>
      </div>
      {shown && <Shown game={game} seed={shown} options={options} />}
    </>
  );
}

/** A condition chosen instead of written. */
function Picker({ things, add }: { things: Record<string, string[]>; add: (condition: string) => void }) {
  const kinds = Object.keys(things);
  const [kind, setKind] = useState(kinds[0] ?? "");
  const [name, setName] = useState("");
  const [ante, setAnte] = useState("2");
  const names = things[kind] ?? [];
  if (kinds.length === 0) return null;
  return (
    <fieldset class="picker">
      <legend>Choose a condition</legend>
      <label>Kind <select value={kind} onChange={(event) => { setKind(event.currentTarget.value); setName(""); }}>{kinds.map((one) => <option key={one}>{one}</option>)}</select></label>
      <label>Name <input list="things" value={name} placeholder={names[0]} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <datalist id="things">{names.map((one) => <option key={one} value={one} />)}</datalist>
      <label>By ante <input type="number" min={1} max={16} value={ante} onInput={(event) => setAnte(event.currentTarget.value)} /></label>
      <button type="button" disabled={!names.includes(name)} onClick={() => { add(`${kind}:"${name}"@<=${ante || 8}`); setName(""); }}>Add</button>
    </fieldset>
  );
}

function Found({ id }: { id: string }) {
  const job = useJob<{ seed: string; where: string[] }, { looked: number }>(id);
  if (!job) return null;
  return (
    <>
      <Progress id={id} job={job} words="seeds looked at" />
      <Complaint text={job.complaint} />
      {job.over && !job.complaint && <p class="quiet" role="status">{job.found.length} found, {whole(job.result?.looked ?? job.done)} seeds looked at{job.state === "cancelled" && ", then cancelled"}.</p>}
      {job.found.length > 0 && <Scroll label="Seeds that were found" kind="scroll"><ul class="found">
        {job.found.map(({ seed, where }) => (
          <li key={seed}>
            <button type="button" class="code" onClick={() => change({ seed }, false)}>{seed}</button>
            <span>{where.map((words) => <small key={words}>{words}</small>)}</span>
          </li>
        ))}
      </ul></Scroll>}
    </>
  );
}

function Shown({ game, seed, options }: { game: SeedGame; seed: string; options: [string, string][] }) {
  const [filter, setFilter] = useState("");
  const [kinds, setKinds] = useState<string[]>([]);
  const { data, error } = useGet<SeedDocument>(address(`/api/seeds/${game.id}`, { seed, options: options.map((pair) => pair.join("=")) }));
  if (!data) return error ? <Complaint text={error} /> : <p class="quiet">Looking into {seed}; the first look on a machine compiles the rules…</p>;
  const all = [...new Set(data.chapters.flatMap((chapter) => chapter.zones.map((zone) => zone.name)))];
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (card: Zone["cards"][number]): boolean => {
    const words = [card.name, card.kind, card.text ?? "", ...(card.marks ?? [])].join(" ").toLowerCase();
    return wanted.every((word) => words.includes(word));
  };
  const link = address("/watch", { game: game.id, policy: game.id, seed });
  return (
    <section aria-label={`Seed ${data.title}`}>
      <h2>{data.title}</h2>
      <p class="lead">{data.words} <a href={link}>Watch the policy play it</a></p>
      <div class="tools">
        <input type="search" class="short" placeholder="Filter: blueprint, negative, planet …" aria-label="Filter cards" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <fieldset class="choice"><legend>Show</legend>
          {all.map((kind) => <button type="button" key={kind} aria-pressed={kinds.includes(kind)} onClick={() => setKinds(kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind])}>{kind}</button>)}
        </fieldset>
      </div>
      <nav class="tabs" aria-label="Parts of this seed">{data.chapters.map((chapter) => <a key={chapter.title} href={`#${slug(chapter.title)}`}>{chapter.title}</a>)}</nav>
      {data.chapters.map((chapter) => {
        const zones = chapter.zones.filter((zone) => (kinds.length === 0 || kinds.includes(zone.name)) && (!wanted.length || zone.cards.some(fits)));
        return zones.length === 0 ? null : (
          <section key={chapter.title} id={slug(chapter.title)} class="scene felt chapter" aria-label={chapter.title}>
            <h3>{chapter.title}</h3>
            <div class="zones">
              {zones.map((zone, i) => (
                <div key={i} class={`zone z-${zone.name}`}>
                  <h4>{zone.title} {zone.note && <small>{zone.note}</small>}</h4>
                  <div class="cards">{zone.cards.map((card, place) => <span key={place} class={wanted.length && !fits(card) ? "faded" : ""}><CardFace card={card} /></span>)}</div>
                </div>
              ))}
            </div>
          </section>
        );
      })}
    </section>
  );
}
