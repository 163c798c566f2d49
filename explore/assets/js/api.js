// Requests to the server. Every answer is JSON; one that is no success throws an
// error with the server's message.

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

export async function get(path, params = {}, signal) {
  const query = new URLSearchParams(params).toString();
  return answer(await fetch(`api/${path}${query ? `?${query}` : ""}`, { signal }));
}

export async function post(path, body, signal) {
  return answer(
    await fetch(`api/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    }),
  );
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
