/** The first page where nothing was trained yet: what JimBot is, and what can be done here and now. */
import { address, useGet } from "./api";
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

/** The first sentences; the rest is for whoever chooses the game. */
const opening = (text: string): string => (text.match(/[^.]+\.(\s|$)/g) ?? [text]).slice(0, SENTENCES).join("").trim();

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
        <p>No runs yet. This page fills by itself as soon as something trains; in another terminal:</p>
        <pre>jimbot train hackmatrix --minutes 10</pre>
        <p class="quiet">Runs are looked for in {roots.join(", ")}; <code>jimbot ui --runs FOLDER</code> looks elsewhere.</p>
      </section>
    </>
  );
}
