// A small HTTP server that plays an openai-compatible model. What it says is found by a mark `[[name]]` in
// the first message of the person and by the number of answers so far.

import http from 'node:http';

/** Scenarios by name: turns in order; the last one is repeated. */
export const scenes = {
  explain: [{ reasoning: 'Let me think.', text: ['It is ', 'a small project.'], usage: [120, 7] }],
  look: [
    { text: ['I look. '], calls: [['read_file', { path: 'src/a.txt' }], ['search', { query: 'beta' }]], usage: [50, 5] },
    { calls: [['list_files', {}], ['git_read', { command: 'status' }]], usage: [60, 5] },
    { text: ['Seen.'], usage: [70, 2] },
  ],
  edit: [
    { calls: [['propose_edit', { files: [
      { path: 'src/a.txt', edits: [{ search: 'beta', replace: 'delta' }] },
      { path: 'src/new.txt', edits: [{ search: '', replace: 'fresh\n' }] },
    ] }]] },
    { text: ['Edited.'] },
  ],
  shell: [
    { calls: [['shell', { command: 'touch made.txt' }]] },
    { calls: [['shell', { command: 'touch made.txt' }]] },
    { calls: [['shell', { command: 'touch other.txt' }]] },
    { calls: [['shell', { command: 'git push --force origin main' }]] },
    { text: ['Done.'] },
  ],
  odd: [
    { calls: [['no_such_tool', {}], ['read_file', '{"path": '], ['read_file', { pfad: 'x' }], ['shell', { command: 'ls' }],
      ['read_file', { path: '../../etc/passwd' }], ['read_file', { path: '.env' }]], ids: ['', 'x'.repeat(10000), '', 'a', 'a', 'é'] },
    { text: ['Odd.'] },
  ],
  vanish: [
    { calls: [['shell', { command: 'touch made.txt' }]] },
    { calls: [['read_file', { path: 'src/a.txt' }], ['list_files', {}], ['search', { query: 'beta' }]] },
    { text: ['It is gone.'] },
  ],
  checked: [{ text: ['I think it is done.'] }],
  many: [{ calls: [['list_files', { path: 'src' }], ['list_files', {}]] }],
  tokens: [{ text: ['long'], usage: [1000, 1000] }],
  hang: [{ hang: true }],
  sleeper: [{ calls: [['shell', { command: 'sleep 98761 & setsid sleep 98762 & sleep 98763' }]] }],
  loop: [{ calls: [['read_file', { path: 'src/a.txt' }]] }],
  auth: [{ status: 401, body: { error: { message: 'bad key' } } }],
  rate: [{ status: 429, headers: { 'retry-after': '0' }, body: { error: { message: 'slow down' } } }],
  long: [{ status: 400, body: { error: { message: 'maximum context length is 10 tokens', code: 'context_length_exceeded' } } }],
  bad: [{ status: 422, body: { error: { message: 'no' } } }],
  server: [{ status: 503, headers: { 'retry-after': '0' }, body: { error: { message: 'down' } } }],
  network: [{ destroy: true }],
  timeout: [{ status: 408, body: { error: { message: 'too slow' } } }],
  unknown: [{ status: 304 }],
  nonsense: [{ raw: 'data: {"choices": [{"delta": {"content": 5}}]}\n\ndata: nonsense\n\nevent: \u0000\n\n' }],
};

export const seen = { keys: new Set(), requests: 0 };

function chunk(delta, finish = null, more = {}) {
  const body = { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more };
  return `data: ${JSON.stringify(body)}\n\n`;
}

function play(turn, response) {
  if (turn.hang) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant', content: '' }));
    return;
  }
  if (turn.destroy) return response.destroy();
  if (turn.status) {
    response.writeHead(turn.status, { 'content-type': 'application/json', ...turn.headers });
    return response.end(turn.body && JSON.stringify(turn.body));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (turn.raw) return response.end(turn.raw);
  if (turn.reasoning) response.write(chunk({ reasoning_content: turn.reasoning }));
  for (const text of turn.text ?? []) response.write(chunk({ content: text }));
  (turn.calls ?? []).forEach(([name, args], index) => {
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    const id = turn.ids?.[index] ?? `call_${seen.requests}_${index}`;
    response.write(chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text.slice(0, 5) } }] }));
    response.write(chunk({ tool_calls: [{ index, function: { arguments: text.slice(5) } }] }));
  });
  response.write(chunk({}, turn.calls ? 'tool_calls' : 'stop'));
  if (turn.usage) {
    const [prompt_tokens, completion_tokens] = turn.usage;
    response.write(`data: ${JSON.stringify({ choices: [], usage: { prompt_tokens, completion_tokens } })}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}

/** Starts the server; gives its address. */
export function start() {
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => { body += piece; });
    request.on('end', () => {
      if (request.url.endsWith('/never')) return undefined;
      seen.keys.add(request.headers.authorization ?? '');
      seen.requests += 1;
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'application/json' });
        return response.end(JSON.stringify({ object: 'list', data: [{ id: 'play' }] }));
      }
      const { messages = [], model } = JSON.parse(body || '{}');
      const asked = JSON.stringify(messages.filter((message) => message.role === 'user').slice(0, 1));
      const name = /\[\[(\w+)\]\]/.exec(asked)?.[1] ?? (model === 'hanging' ? 'hang' : 'explain');
      const turns = scenes[name];
      const answers = messages.filter((message) => message.role === 'assistant').length;
      play(turns[Math.min(answers, turns.length - 1)], response);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({ server, url: `http://127.0.0.1:${server.address().port}/v1` }));
  });
}
