// Keeps the page, so that it works without a network. The build writes the version and the files.

const kept = "zinc-VERSION";
const files = FILES;

addEventListener("install", (e) => {
  skipWaiting();
  e.waitUntil(caches.open(kept).then((c) => c.addAll(files.map((f) => new Request(f, { cache: "no-cache" })))));
});

addEventListener("activate", (e) => {
  const old = (names) => Promise.all(names.filter((n) => n !== kept).map((n) => caches.delete(n)));
  e.waitUntil(caches.keys().then(old).then(() => clients.claim()));
});

addEventListener("fetch", (e) => {
  const found = caches.open(kept).then((c) => c.match(e.request, { ignoreSearch: true }));
  e.respondWith(found.then((r) => r || fetch(e.request)));
});
