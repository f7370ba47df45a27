/** Work that takes a while: followed until it is over, ended when a person wants. */
import { useEffect, useState } from "preact/hooks";
import { get, post } from "./api";
import { whole } from "./format";

export interface Job<Found, Result> {
  about: Record<string, unknown>;
  state: string;
  over: boolean;
  done: number;
  of: number | null;
  found: Found[];
  result: Result | null;
  complaint: string;
}

export function useJob<Found, Result>(id: string | null): Job<Found, Result> | null {
  const [job, setJob] = useState<Job<Found, Result> | null>(null);
  useEffect(() => {
    setJob(null);
    if (!id) return;
    let timer = 0;
    const stop = new AbortController();
    const look = (): void => {
      get<Job<Found, Result>>(`/api/jobs/${encodeURIComponent(id)}`, {}, stop.signal).then(
        (found) => {
          setJob(found);
          if (!found.over) timer = window.setTimeout(look, 400);
        },
        (problem: Error) => {
          if (problem.name !== "AbortError") setJob((old) => ({ about: {}, done: 0, of: null, found: [], result: null, ...old, state: "failed", over: true, complaint: problem.message }));
        },
      );
    };
    look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return job;
}

export function Progress({ id, job, words }: { id: string; job: Job<unknown, unknown>; words: string }) {
  if (job.over) return null;
  return (
    <p class="row" role="status">
      <progress max={job.of ?? undefined} value={job.of ? job.done : undefined} aria-label="Progress" />
      <span>{whole(job.done)}{job.of ? ` of ${whole(job.of)}` : ""} {words}</span>
      <button type="button" onClick={() => void post(`/api/jobs/${id}/cancel`, {})}>Cancel</button>
    </p>
  );
}
