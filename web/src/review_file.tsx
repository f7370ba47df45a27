/** A review in a file of its own: what `jimbot review --html` writes, with nothing to fetch. */
import { render } from "preact";
import { ReviewBoard, type ReviewDocument } from "./review";
import type { Scene } from "./scenes";

const data = JSON.parse(document.getElementById("review")?.textContent ?? "null") as ReviewDocument & { scenes: (Scene | null)[] };
const place = document.getElementById("app");
if (place) {
  render(
    <main id="main">
      <header class="head"><h1>{data.title}</h1><p class="lead">reviewed by {data.by}</p></header>
      <ReviewBoard review={data} scenes={data.scenes} />
    </main>,
    place,
  );
}
