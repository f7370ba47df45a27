/** The first page where nothing was trained yet: what JimBot is, and what can be done here and now. */
import { useEffect, useState } from "preact/hooks";
import { address, post, useGet } from "./api";
import { Doing, Typed } from "./parts";
import { CardFace } from "./scenes";

export interface Game {
  id: string;
  title: string;
  shipped: boolean;
  about: string;
}

const FAN: [string, string][] = [["10", "♠"], ["J", "♥"], ["Q", "♠"], ["K", "♦"], ["A", "♠"]];
const SENTENCES = 2;

const listed = (words: string[]): string => (words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : (words[0] ?? "games"));

/** The first sentences; the rest is for those who choose the game. */
const opening = (text: string): string => (text.match(/[^.]+\.(\s|$)/g) ?? [text]).slice(0, SENTENCES).join("").trim();

interface Training {
  game: string;
  minutes: number;
  command: string;
  state: "running" | "stopping" | "stopped" | "ended" | "failed";
  lines: string[];
}

/** Starts a training and stops it; what is shown is the command that runs. */
export function Train({ games }: { games: Game[] }) {
  const [game, setGame] = useState("");
  const [minutes, setMinutes] = useState(10);
  const [stamp, setStamp] = useState(0);
  const { data } = useGet<{ training: Training | null }>("/api/training", stamp);
  const training = data?.training ?? null;
  const runs = training?.state === "running" || training?.state === "stopping";
  const chosen = game || games.find((one) => one.id === "hackmatrix")?.id || (games[0]?.id ?? "");
  useEffect(() => {
    if (!runs) return;
    const timer = setTimeout(() => setStamp(stamp + 1), 2000);
    return () => clearTimeout(timer);
  }, [runs, stamp, data]);
  const start = async (): Promise<void> => {
    await post("/api/training", { game: chosen, minutes });
    setStamp(stamp + 1);
  };
  const stop = async (): Promise<void> => {
    await post("/api/training/stop", {});
    setStamp(stamp + 1);
  };
  return (
    <section class="box" aria-label="Training">
      <div class="training">
        <label>Game <select value={chosen} disabled={runs} onChange={(event) => setGame(event.currentTarget.value)}>{games.map((one) => <option key={one.id} value={one.id}>{one.title}</option>)}</select></label>
        <label>Minutes <input type="number" min={1} max={1440} value={minutes} disabled={runs} onInput={(event) => setMinutes(Number(event.currentTarget.value))} /></label>
        {runs ? <Doing label="Stop and save" work={stop} disabled={training?.state === "stopping"} /> : <Doing label="Start training" kind="main" work={start} disabled={!chosen || !(minutes >= 1)} />}
      </div>
      <Typed label="The command" text={runs && training ? training.command : `jimbot train ${chosen} --minutes ${minutes}`} />
      {training && <p role="status" class="quiet">{training.state === "running" ? "It trains; the run shows itself here with its first update." : training.state === "stopping" ? "It finishes its update, saves and ends." : training.state === "stopped" ? "It was stopped." : training.state === "ended" ? "It has ended; its run is saved." : "It failed:"}</p>}
      {training?.state === "failed" && <Typed label="Its last lines" text={training.lines.join("\n")} />}
    </section>
  );
}

export function Welcome({ roots }: { roots: string[] }) {
  const { data } = useGet<{ games: Game[] }>("/api/games");
  const games = data?.games.filter((one) => one.shipped) ?? [];
  return (
    <>
      <section class="hero">
        <div>
          <h1>JimBot learns to play{games.length > 0 && ` ${listed(games.map((one) => one.title))}`}.</h1>
          <p class="lead">Train a policy, watch it play move by move with what it thought, look into seeds, and see which of two is better, and how sure that is.</p>
          <p class="row">
            {games[0] && <a class="button main" href={address("/watch", { game: games[0].id, policy: games[0].id })}>Watch it play {games[0].title}</a>}
            <a class="button" href="/watch">More to watch, or play yourself</a>
          </p>
        </div>
        <div class="fan" aria-hidden="true">{FAN.map(([rank, suit]) => <CardFace key={rank} card={{ name: "", kind: "card", rank, suit }} />)}</div>
      </section>
      <div class="columns">
        {games.map((game) => (
          <section key={game.id} class="box game">
            <h2>{game.title}</h2>
            <p>{opening(game.about)}</p>
            <p class="row">
              <a class="button" href={address("/watch", { game: game.id, policy: game.id })}>Watch the shipped policy</a>
              <a class="button" href={address("/watch", { game: game.id, mode: "play" })}>Play it</a>
            </p>
          </section>
        ))}
      </div>
      <section>
        <h2>Train your own</h2>
        <p>No runs yet. This page fills by itself as soon as something trains, from here or in another terminal.</p>
        <Train games={games} />
        <p class="quiet">Runs are looked for in {roots.join(", ")}; <code>jimbot ui --runs FOLDER</code> looks elsewhere.</p>
      </section>
    </>
  );
}
