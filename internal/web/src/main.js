// The page starts: with the report that it carries, with those of the program that served it, or
// as the page that makes one of a file.
import { html, render } from "./html.js";
import { embeddedSource } from "./source.js";
import { App } from "./app.js";
import { Empty } from "./ui/bits.js";
import { Home } from "./home/home.js";
import { Live } from "./home/live.js";
import { liveSource } from "./live.js";
import "./style/index.css";

const root = document.getElementById("app");
const carried = document.getElementById("report");

async function start() {
  if (document.getElementById("live")) return render(html`<${Live} source=${liveSource()} />`, root);
  if (!carried) return render(html`<${Home} />`, root);
  const source = embeddedSource(carried.textContent);
  render(html`<${App} doc=${await source.load()} source=${source} />`, root);
}

const advice = "The file may have been cut on its way. Make it again with qsniff report FILE -o report.html.";

start().catch((err) => {
  const fault = html`<${Empty} title=${String(err.message ?? err)}>${advice}<//>`;
  render(html`<main><h1>This report cannot be shown</h1>${fault}</main>`, root);
});
