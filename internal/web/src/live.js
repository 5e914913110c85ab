// The source of a program that watches. /events tells by server-sent events that there is a
// newer report, /report.json has it.

// The shortest and the longest time between two attempts to connect, in milliseconds. Chosen:
// a restart is hardly noticed, and a page that is left open for a night asks twice a minute.
const soon = 1000, late = 30000;

/** liveSource returns the source of the program that served the page. */
export function liveSource() {
  return {
    counts: true,
    load: async () => (await fetchReport("")).doc,
    exchange: async () => { throw new Error("Exchanges that are not in the report are over, and the program keeps none."); },
    watch: (tell, say = () => {}) => follow(tell, say),
  };
}

// fetchReport returns the report and its tag; without a report if tag is still its own.
async function fetchReport(tag) {
  const answer = await fetch("report.json", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
  if (answer.status === 304) return { tag };
  if (!answer.ok) throw new Error(`report.json: ${answer.status} ${answer.statusText}`);
  return { doc: await answer.json(), tag: answer.headers.get("ETag") ?? "" };
}

// follow tells of each newer report until the function that it returns is called. One is fetched
// at a time, and none while nobody sees the page: of several in between only the last is.
function follow(tell, say) {
  let events, timer, wait = soon, tag = "", at, isBusy = false, isStale = true, isOver = false;
  const fail = (err) => say({ fault: String(err.message ?? err), at });
  const update = async () => {
    if (isBusy || !isStale || document.hidden || isOver) return;
    [isBusy, isStale] = [true, false];
    try {
      const { doc, tag: newer } = await fetchReport(tag);
      if (isOver) return;
      [tag, at, wait] = [newer, Date.now(), soon];
      if (doc) tell(doc);
      say({ fault: "", at });
    } catch (err) {
      fail(err);
      reconnect();
    }
    isBusy = false;
    update();
  };
  const news = () => {
    isStale = true;
    update();
  };
  const connect = () => {
    events = new EventSource("events");
    events.onmessage = news;
    events.addEventListener("again", () => { events.close(); connect(); });
    events.onerror = () => { fail(new Error("The connection was lost.")); reconnect(); };
  };
  const reconnect = () => {
    events.close();
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(connect, wait + Math.random() * soon);
    wait = Math.min(2 * wait, late);
  };
  connect();
  document.addEventListener("visibilitychange", update);
  return () => {
    isOver = true;
    events.close();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", update);
  };
}
