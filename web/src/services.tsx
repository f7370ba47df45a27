/** How the decision service and the bus are, and what was decided lately. */
import { useEffect, useState } from "preact/hooks";
import { address, useGet } from "./api";
import { date, percent, short, whole } from "./format";
import { Complaint } from "./parts";

interface State {
  live: { address: string; game: string; well: boolean; words: string };
  decision: { address: string; well: boolean; words: string; policies: { game: string; name: string; version: string; status: string; share: number }[] };
  bus: {
    address: string; well: boolean; there: boolean; words: string;
    topics: { name: string; events: number }[];
    readers: { name: string; lag: number; live: boolean }[];
    decisions: { time: number; game: string; policy: string; move: string; confidence: number; milliseconds: number; refusal: string }[];
  };
}

export function Services() {
  const [beat, setBeat] = useState(0);
  const { data, error } = useGet<State>("/api/services", beat);
  useEffect(() => {
    const timer = setInterval(() => setBeat((old) => old + 1), 4000);
    return () => clearInterval(timer);
  }, []);
  if (!data) return error ? <Complaint text={error} /> : <p class="quiet">Asking the services…</p>;
  const { decision, bus, live } = data;
  return (
    <>
      <header class="head"><h1>Services</h1><p class="lead">who decides and who listens, asked every few seconds</p></header>
      <Complaint text={error} />
      <section class="box">
        <h2 class="h3"><i class={`lamp ${decision.well ? "live" : "away"}`} />Decision service <small>{decision.address}</small></h2>
        <p class={decision.well ? "" : "quiet"}>{decision.words}</p>
        {decision.policies.length > 0 && (
          <table><thead><tr><th>game</th><th>policy</th><th>version</th><th>status</th></tr></thead>
            <tbody>{decision.policies.map((one, i) => <tr key={i}><td>{one.game}</td><td>{one.name}</td><td>{one.version}</td><td>{one.status}{one.share > 0 && ` ${percent(one.share)}`}</td></tr>)}</tbody></table>
        )}
      </section>
      <section class="box spaced">
        <h2 class="h3"><i class={`lamp ${bus.well ? "live" : bus.there ? "away" : ""}`} />Bus <small>{bus.address}</small></h2>
        <p class={bus.well ? "" : "quiet"}>{bus.words}</p>
        <div class="columns">
          {bus.topics.length > 0 && <table><thead><tr><th>topic</th><th class="n">events</th></tr></thead><tbody>{bus.topics.map((one) => <tr key={one.name}><td>{one.name}</td><td class="n">{whole(one.events)}</td></tr>)}</tbody></table>}
          {bus.readers.length > 0 && <table><thead><tr><th>reader</th><th class="n">behind</th><th>live</th></tr></thead><tbody>{bus.readers.map((one) => <tr key={one.name}><td>{one.name}</td><td class="n">{whole(one.lag)}</td><td>{one.live ? "yes" : "no"}</td></tr>)}</tbody></table>}
        </div>
      </section>
      <section class="box spaced">
        <h2 class="h3"><i class={`lamp ${live.well ? "live" : ""}`} />Hosted game <small>{live.address}</small></h2>
        <p class={live.well ? "" : "quiet"}>{live.well ? <>{live.words} <a href={address("/watch", { game: live.game, follow: live.address })}>Look on</a></> : <>{live.words} <code>jimbot host {live.game}</code> starts one.</>}</p>
      </section>
      <section>
        <h2>Recent decisions</h2>
        {bus.decisions.length === 0 ? <p class="quiet">None on the bus. A service started with <code>--bus</code> tells of them.</p> : (
          <div class="wide"><table><thead><tr><th>when</th><th>game</th><th>policy</th><th>move</th><th class="n">sure</th><th class="n">ms</th></tr></thead>
            <tbody>{bus.decisions.map((one, i) => <tr key={i}><td>{date(one.time)}</td><td>{one.game}</td><td>{one.policy}</td><td>{one.refusal || one.move}</td><td class="n">{one.refusal ? "" : percent(one.confidence)}</td><td class="n">{short(one.milliseconds)}</td></tr>)}</tbody></table></div>
        )}
      </section>
    </>
  );
}
