package metrics

// scrapesAtOnce is how many scrapes are answered at a time. Chosen: two Prometheus servers, and a
// curl.
const scrapesAtOnce = 4
