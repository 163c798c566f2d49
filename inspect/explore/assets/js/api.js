// Requests to the server, or to the page around this one if that has zinc in it. Every answer is JSON; one that is no
// success throws an error with the server's message.

async function answer(response) {
  let body;
  try {
    body = await response.json();
  } catch {
    throw new Error(`the server's answer (status ${response.status}) is not JSON`);
  }
  if (!response.ok) throw new Error(body.error || `status ${response.status}`);
  return body;
}

const request = (path, how) => (parent.zincFetch ?? fetch)(path, how);

export async function get(path, params = {}, signal) {
  const query = new URLSearchParams(params).toString();
  return answer(await request(`api/${path}${query ? `?${query}` : ""}`, { signal }));
}

export async function post(path, body, signal, headers = {}) {
  return answer(
    await request(`api/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal,
    }),
  );
}

const ASK = 300; // ms between questions how far a request is

// follow posts a request under a name and tells how far it is until it is answered.
export async function follow(path, body, signal, tell) {
  const job = crypto.randomUUID?.() || String(Math.random()).slice(2);
  let ended = false;
  (async () => {
    for (;;) {
      await new Promise((r) => setTimeout(r, ASK));
      if (ended) return;
      const p = await get("progress", { job }).catch(() => null);
      if (ended) return;
      if (p?.running) tell(p);
    }
  })();
  try {
    return await post(path, body, signal, { "X-Zinc-Job": job });
  } finally {
    ended = true;
  }
}

// rows reads a list to its end, page by page.
export async function rows(path, params = {}, signal) {
  const out = [];
  for (;;) {
    const page = await get(path, { ...params, offset: out.length }, signal);
    for (const row of page.rows) out.push(row);
    if (page.rows.length === 0 || out.length >= page.total) return out;
  }
}
