// The whole protocol over real standard input and output: every method, every event type, every failure
// reason, each message checked against the committed schema. `node session.mjs PROGRAM SCHEMA`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import Ajv from 'ajv/dist/2020.js';
import rpc from 'vscode-jsonrpc/node.js';
import { seen, start } from './model.mjs';

const [program, schemaPath] = process.argv.slice(2);
const schema = JSON.parse(fs.readFileSync(schemaPath, 'utf8'));
const ajv = new Ajv.default({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'wire', $defs: schema.$defs, error: schema.error });
const validators = new Map();
const problems = [];

function check(reference, value, what) {
  const pointer = `wire${reference.$ref}`;
  if (!validators.has(pointer)) validators.set(pointer, ajv.compile({ $ref: pointer }));
  const validate = validators.get(pointer);
  if (!validate(value)) problems.push(`${what}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 300)}`);
}

/** One running service and the client's view of it. */
class Session {
  static all = [];
  static methods = new Set();
  static events = new Set();
  static reasons = new Set();

  /** `around` are the words before the program, as those of a shell that limits it. */
  constructor(root, flags = [], around = []) {
    this.root = root;
    const [first, ...rest] = [...around, program, '--log-level', 'info', '--reasoning', ...flags];
    this.child = spawn(first, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.log = '';
    this.child.stderr.on('data', (piece) => { this.log += piece; });
    this.exited = new Promise((resolve) => this.child.on('exit', (code, signal) => resolve({ code, signal })));
    const reader = new rpc.StreamMessageReader(this.child.stdout);
    const writer = new rpc.StreamMessageWriter(this.child.stdin);
    const sent = new Map();
    const look = (message) => this.received(message, sent);
    const listen = reader.listen.bind(reader);
    reader.listen = (callback) => listen((message) => { look(message); callback(message); });
    const write = writer.write.bind(writer);
    writer.write = (message) => {
      if (message.method && message.id !== undefined) sent.set(message.id, message.method);
      return write(message);
    };
    this.tasks = new Map();
    this.logs = [];
    this.waiting = [];
    this.secrets = [];
    this.connection = rpc.createMessageConnection(reader, writer);
    this.connection.onRequest('secrets.get', ({ ref }) => {
      this.secrets.push(ref);
      return { value: ref === 'secret:key' ? 'sk-of-the-session-123456' : null };
    });
    this.connection.onNotification('log', (params) => this.logs.push(params));
    this.connection.onNotification('task.event', (event) => this.event(event));
    this.connection.listen();
    Session.all.push(this);
  }

  received(message, sent) {
    if (message.jsonrpc !== '2.0') problems.push('a message without its version');
    if (message.method === 'secrets.get') return check(schema.reverseMethods['secrets.get'].params, message.params, 'secrets.get');
    if (message.method) return check(schema.notifications[message.method], message.params, message.method);
    const method = sent.get(message.id);
    if (method === undefined) problems.push(`an answer to nothing: ${JSON.stringify(message).slice(0, 300)}`);
    if (message.error) {
      const { code, message: text } = message.error;
      if ([-32602, -32603].includes(code) && !text.includes(method)) problems.push(`${method} is not named: ${text}`);
      return check({ $ref: '#/error' }, message.error, `the error of ${method}`);
    }
    Session.methods.add(method);
    return check(schema.methods[method].result, message.result, method);
  }

  event(event) {
    const { taskId, seq, type } = event;
    const task = this.tasks.get(taskId) ?? { events: [], open: new Set(), closed: new Set(), state: null };
    this.tasks.set(taskId, task);
    if (seq !== task.events.length) problems.push(`${taskId}: seq ${seq} where ${task.events.length} was due`);
    if (['done', 'failed', 'cancelled'].includes(task.state)) problems.push(`${taskId}: ${type} after the end`);
    task.events.push(event);
    Session.events.add(type);
    if (type === 'state_changed') {
      if (event.from !== task.state) problems.push(`${taskId}: from ${event.from} where it was ${task.state}`);
      task.state = event.to;
      if (event.reason) Session.reasons.add(event.reason);
      if (['done', 'failed', 'cancelled'].includes(event.to) && task.open.size) problems.push(`${taskId}: calls never finished`);
    }
    if (type === 'tool_call_started') {
      if (task.open.has(event.call.id) || task.closed.has(event.call.id)) problems.push(`${taskId}: an id twice`);
      task.open.add(event.call.id);
    }
    if (type === 'tool_call_finished') {
      if (task.closed.has(event.result.callId)) problems.push(`${taskId}: finished twice`);
      task.open.delete(event.result.callId);
      task.closed.add(event.result.callId);
    }
    this.waiting = this.waiting.filter((wait) => !wait());
  }

  request(method, params, token) {
    return token ? this.connection.sendRequest(method, params, token) : this.connection.sendRequest(method, params);
  }

  async refuse(method, params, code) {
    await assert.rejects(this.request(method, params), (error) => {
      assert.equal(error.code, code, `${method}: ${error.message}`);
      return true;
    });
  }

  initialize(version = '1.0.0') {
    const client = { name: 'session', version: '1' };
    return this.request('initialize', { protocolVersion: version, client, workspaceRoots: [this.root] });
  }

  /** Waits for the first event of a task that the test accepts; `after` events are passed over. */
  until(taskId, accepts, after = 0) {
    return new Promise((resolve, reject) => {
      const clock = setTimeout(() => {
        const events = this.tasks.get(taskId)?.events.map((event) => `${event.type} ${event.to ?? ''}`);
        reject(new Error(`task ${taskId}: nothing came; ${JSON.stringify(events)}\n${this.log.slice(-2000)}`));
      }, 60_000);
      const wait = () => {
        const found = this.tasks.get(taskId)?.events.slice(after).find(accepts);
        if (found) { clearTimeout(clock); resolve(found); }
        return Boolean(found);
      };
      if (!wait()) this.waiting.push(wait);
    });
  }

  /** Starts a scene. */
  async create(scene, more = {}) {
    const { task } = await this.request('task.create', { kind: 'other', instruction: `[[${scene}]] please`, ...more });
    assert.equal(task.state, 'queued');
    return task.id;
  }

  end(taskId) {
    return this.until(taskId, (event) => event.type === 'state_changed' && ['done', 'failed', 'cancelled'].includes(event.to));
  }

  async close() {
    const begin = Date.now();
    this.connection.end();
    this.child.stdin.end();
    const { code, signal } = await this.exited;
    assert.equal(signal, null);
    assert.equal(code, 0);
    assert.ok(Date.now() - begin < 1900, `the end took ${Date.now() - begin} ms`);
  }
}

const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'shellgate-client-')));
const { server, url } = await start();

function workspace(name, project) {
  const root = path.join(folder, name);
  fs.mkdirSync(path.join(root, 'src'), { recursive: true });
  fs.mkdirSync(path.join(root, '.desiide'), { recursive: true });
  fs.writeFileSync(path.join(root, 'src/a.txt'), 'alpha\nbeta\ngamma\n');
  fs.writeFileSync(path.join(root, 'check.sh'), 'echo one test failed; exit 1\n');
  fs.writeFileSync(path.join(root, '.env'), 'KEY=of-a-secret-file\n');
  if (project) fs.writeFileSync(path.join(root, '.desiide/project.json'), JSON.stringify(project));
  return root;
}

const capabilities = { streaming: true, toolCalls: true, contextTokens: 32000 };
const model = { id: 'play', provider: 'openai-compatible', model: 'play', baseUrl: url, apiKey: 'secret:key', capabilities };
const settings = {
  models: [model, { ...model, id: 'hanging', model: 'hanging' }, { ...model, id: 'keyless', apiKey: 'secret:unset' }],
  roles: { cheap: 'play', strong: 'play' },
};
const tools = ['read_file', 'list_files', 'search', 'propose_edit', 'shell', 'run_tests', 'lint', 'git_read'];

async function handshake(session) {
  await session.refuse('health.ping', {}, -32002);
  await session.refuse('no.such', {}, -32002);
  await session.refuse('initialize', {}, -32602);
  await assert.rejects(session.initialize('2.0.0'), (error) => error.code === -32001 && error.data.serverVersion === '1.0.0');
  const { server: name } = await session.initialize('1.4.2');
  assert.equal(name.name, 'desiide-orchestrator');
  await assert.rejects(session.initialize(), (error) => error.code === -32600);
  await session.refuse('no.such', {}, -32601);
  await session.refuse('health.ping', { more: 1 }, -32602);
  assert.ok((await session.request('health.ping', {})).uptimeMs >= 0);
  await session.request('config.update', { ...settings, gating: { thresholds: { 'no.such': 2 } } });
  await session.request('health.ping', {});
  assert.ok(session.logs.some((line) => line.level === 'warn' && line.message.includes('no.such')), 'a warning about the threshold');
  await session.request('config.update', settings);
}

async function methods(session) {
  const { models } = await session.request('models.list', { discover: true });
  assert.deepEqual(models.map((entry) => entry.id), ['play', 'hanging', 'keyless']);
  const tested = await session.request('models.test', { modelId: 'play' });
  assert.equal(tested.ok, true, JSON.stringify(tested));
  assert.ok(session.secrets.includes('secret:key'));
  assert.ok(seen.keys.has('Bearer sk-of-the-session-123456'));
  const keyless = await session.request('models.test', { modelId: 'keyless' });
  assert.equal(keyless.error.kind, 'auth', JSON.stringify(keyless));
  const source = new rpc.CancellationTokenSource();
  const hanging = session.request('models.test', { modelId: 'hanging' }, source.token);
  setTimeout(() => source.cancel(), 200);
  assert.equal((await hanging).error.kind, 'cancelled');
  assert.equal((await session.request('jev.test', {})).ok, false);
  for (const pack of ['workflow_select@1', 'risk_gate@1', 'cost_route@1']) {
    assert.equal((await session.request('jev.preview', { pack })).state.pack, pack);
  }
}

async function tasks(session) {
  const explain = await session.create('explain', { kind: 'explain' });
  assert.equal((await session.end(explain)).to, 'done');
  const text = session.tasks.get(explain).events.filter((event) => event.type === 'text_delta');
  assert.equal(text.map((event) => event.delta).join(''), 'It is a small project.');

  const look = await session.create('look');
  assert.equal((await session.end(look)).to, 'done');

  const edit = await session.create('edit');
  const { proposal } = await session.until(edit, (event) => event.type === 'edit_proposed');
  await session.refuse('edits.report', { taskId: edit, proposalId: 'wrong', files: [{ path: 'src/a.txt', status: 'applied' }] }, -32005);
  await session.refuse('edits.report', { taskId: edit, proposalId: proposal.id, files: [{ path: 'foreign', status: 'applied' }] }, -32602);
  fs.writeFileSync(path.join(session.root, 'src/a.txt'), 'alpha\ndelta\ngamma\n');
  await session.request('edits.report', { taskId: edit, proposalId: proposal.id, files: [{ path: 'src/a.txt', status: 'stale' }] });
  await session.request('edits.report', { taskId: edit, proposalId: proposal.id, files: [{ path: 'src/a.txt', status: 'applied' }] });
  await session.request('edits.report', { taskId: edit, proposalId: proposal.id, files: [{ path: 'src/new.txt', status: 'rejected', reason: 'not now' }] });
  assert.equal((await session.end(edit)).to, 'done');
  await session.refuse('edits.report', { taskId: edit, proposalId: proposal.id, files: [{ path: 'src/a.txt', status: 'applied' }] }, -32005);

  const shell = await session.create('shell', { allowedTools: tools });
  const first = await session.until(shell, (event) => event.type === 'approval_required');
  await session.refuse('task.approve', { taskId: shell, approvalId: 'wrong', scope: 'once' }, -32005);
  await session.refuse('task.approve', { taskId: 'wrong', approvalId: first.approvalId, scope: 'once' }, -32004);
  await session.request('task.approve', { taskId: shell, approvalId: first.approvalId, scope: 'task' });
  const second = await session.until(shell, (event) => event.type === 'approval_required' && event.approvalId !== first.approvalId);
  assert.equal(second.call.args.command, 'touch other.txt');
  await session.request('task.reject', { taskId: shell, approvalId: second.approvalId, reason: 'no' });
  assert.equal((await session.end(shell)).to, 'done');
  assert.ok(fs.existsSync(path.join(session.root, 'made.txt')));
  assert.ok(!fs.existsSync(path.join(session.root, 'other.txt')));
  const results = session.tasks.get(shell).events.filter((event) => event.type === 'tool_call_finished').map((event) => event.result);
  assert.deepEqual(results.map((result) => result.error?.kind ?? 'ok'), ['ok', 'ok', 'rejected', 'blocked']);

  const odd = await session.create('odd');
  assert.equal((await answering(session, odd, 'reject')).to, 'done');
  const kinds = session.tasks.get(odd).events.filter((event) => event.type === 'tool_call_finished').map((event) => event.result);
  assert.equal(kinds.length, 6);
  assert.ok(kinds.every((result) => !result.ok && !result.output.includes('of-a-secret-file')));

  const hang = await session.create('hang');
  await session.until(hang, (event) => event.to === 'running');
  assert.equal((await session.request('task.cancel', { taskId: hang })).cancelled, true);
  assert.equal((await session.end(hang)).to, 'cancelled');
  assert.equal((await session.request('task.cancel', { taskId: hang })).cancelled, false);
  await session.refuse('task.cancel', { taskId: 'nobody' }, -32004);
  const { tasks: listed } = await session.request('task.list', {});
  assert.equal(listed.length, 6);
  assert.deepEqual(listed.map((task) => task.state), ['done', 'done', 'done', 'done', 'done', 'cancelled']);
}

async function decisions(session) {
  const all = await session.request('decisions.list', { limit: 500 });
  assert.ok(all.decisions.length > 5);
  const pages = [];
  let cursor;
  do {
    const page = await session.request('decisions.list', cursor ? { limit: 2, cursor } : { limit: 2 });
    pages.push(...page.decisions);
    cursor = page.nextCursor;
  } while (cursor);
  assert.deepEqual(pages.map((record) => record.id), all.decisions.map((record) => record.id));
  const blocked = await session.request('decisions.list', { pack: 'risk_gate@1', outcome: 'block' });
  assert.ok(blocked.decisions.length >= 1);
  for (const record of [blocked.decisions[0], ...all.decisions.slice(0, 3)]) {
    const replay = await session.request('decisions.replay', { id: record.id });
    assert.equal(replay.differs, false, JSON.stringify(replay));
  }
  // A replay that asks a service which never answers can be taken back.
  await session.request('config.update', { ...settings, jev: { enabled: true, endpoint: `${url}/never` } });
  const source = new rpc.CancellationTokenSource();
  const hanging = session.request('decisions.replay', { id: all.decisions.find((record) => record.question !== 'policy').id }, source.token);
  setTimeout(() => source.cancel(), 200);
  const begin = Date.now();
  await assert.rejects(hanging, (error) => error.code === -32603 && error.message.includes('cancelled'));
  assert.ok(Date.now() - begin < 1400, 'it waited for the service');
  await session.request('config.update', settings);
  await session.refuse('decisions.list', { cursor: '%' }, -32602);
  await session.refuse('decisions.replay', { id: 'nobody' }, -32602);
}

/** Approves or rejects whatever a task asks, until it ends; approvals that were answered before are passed over. */
async function answering(session, taskId, word, seenApprovals = new Set()) {
  for (;;) {
    const event = await session.until(taskId, (one) => (one.type === 'approval_required' && !seenApprovals.has(one.approvalId))
      || (one.type === 'state_changed' && ['done', 'failed', 'cancelled'].includes(one.to)));
    if (event.type === 'state_changed') return event;
    seenApprovals.add(event.approvalId);
    const answer = { taskId, approvalId: event.approvalId };
    if (word === 'approve') await session.request('task.approve', { ...answer, scope: 'once' });
    else await session.request('task.reject', answer);
  }
}

async function failures(session) {
  const fails = async (reason, scene, more = {}, word = 'approve') => {
    const id = await session.create(scene, { allowedTools: tools, ...more });
    const end = await answering(session, id, word);
    assert.equal(end.to, 'failed', `${reason}: ${JSON.stringify(end)}`);
    assert.equal(end.reason, reason);
    assert.equal(session.tasks.get(id).events.at(-2).type, 'error', reason);
  };
  await fails('budget:maxToolCalls', 'many', { budget: { maxToolCalls: 1 } });
  await fails('budget:maxTokens', 'tokens', { budget: { maxTokens: 100 } });
  await fails('budget:wallClockMs', 'hang', { budget: { wallClockMs: 400 } });
  await fails('loop_detected', 'loop');
  const kinds = { auth: 'auth', rate: 'rate_limit', long: 'context_length', bad: 'bad_request', server: 'server', network: 'network', timeout: 'timeout', unknown: 'unknown' };
  await Promise.all(Object.entries(kinds).map(([scene, kind]) => fails(`model_error:${kind}`, scene)));
  const nonsense = await session.create('nonsense');
  const { to, reason } = await session.end(nonsense);
  assert.equal(to, 'failed');
  assert.match(reason, /^model_error:/);
  await fails('no_check_command', 'checked', { success: { lintClean: true } });
  const checks = { success: { testsPass: true }, budget: { maxIterations: 2 } };
  await fails('verification_rejected', 'checked', checks, 'reject');
  await fails('budget:maxIterations', 'checked', checks);
  fs.writeFileSync(path.join(session.root, '.desiide/project.json'), JSON.stringify({ testCommand: 'git push --force origin main' }));
  await fails('verification_blocked', 'checked', checks);
  await session.request('config.update', { ...settings, roles: { cheap: 'play', strong: 'nobody' } });
  await fails('model_unavailable', 'explain', { preference: 'quality' });
  await session.request('config.update', settings);
}

function processes(pattern) {
  return fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try { return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').includes(pattern); } catch { return false; }
  });
}

const step = async (name, work) => {
  const begin = Date.now();
  await work();
  console.log(`ok  ${name} (${Date.now() - begin} ms)`);
};

try {
  const root = workspace('main', { testCommand: 'sh check.sh' });
  const session = new Session(root);
  await step('handshake', () => handshake(session));
  await step('methods', () => methods(session));
  await step('tasks', () => tasks(session));
  await step('decisions', () => decisions(session));
  await step('failures', () => failures(session));
  await step('end with standard input', () => session.close());
  await step('history after a restart', async () => {
    const again = new Session(root);
    await again.initialize();
    const { tasks: listed } = await again.request('task.list', {});
    assert.equal(listed.length, session.tasks.size);
    assert.ok(listed.every((task) => ['done', 'failed', 'cancelled'].includes(task.state)));
    await again.close();
  });
  await step('a workspace that is not there', async () => {
    const lost = new Session(path.join(folder, 'nowhere'));
    await lost.initialize();
    await lost.request('config.update', settings);
    const id = await lost.create('explain');
    assert.equal((await lost.end(id)).reason, 'no_workspace');
    await lost.close();
  });
  await step('a task database that cannot be written', async () => {
    const file = path.join(folder, 'no-directory');
    fs.writeFileSync(file, '');
    const broken = new Session(root, ['--data-dir', file]);
    await broken.initialize();
    await broken.request('config.update', settings);
    const id = await broken.create('explain');
    assert.equal((await broken.end(id)).reason, 'internal_error');
    await broken.close();
  });
  await step('a log directory that cannot be written', async () => {
    const file = path.join(folder, 'no-log-directory');
    fs.writeFileSync(file, '');
    const quiet = new Session(root, ['--log-dir', file, '--log-level', 'debug']);
    await quiet.initialize();
    await quiet.request('config.update', settings);
    assert.equal((await quiet.end(await quiet.create('explain'))).to, 'done');
    await quiet.close();
    assert.equal(quiet.log.split('no log file').length, 2, 'told once');
  });
  await step('a workspace that vanishes', async () => {
    const gone = new Session(workspace('vanishes'));
    await gone.initialize();
    await gone.request('config.update', settings);
    const id = await gone.create('vanish', { allowedTools: tools });
    const { approvalId } = await gone.until(id, (event) => event.type === 'approval_required');
    fs.rmSync(gone.root, { recursive: true });
    await gone.request('task.approve', { taskId: id, approvalId, scope: 'once' });
    assert.equal((await answering(gone, id, 'approve', new Set([approvalId]))).to, 'done');
    const results = gone.tasks.get(id).events.filter((event) => event.type === 'tool_call_finished').map((event) => event.result);
    assert.deepEqual(results.map((result) => result.error?.kind), ['failed', 'failed', 'failed', 'failed']);
    assert.ok(results.every((result) => result.output.includes('is gone')), JSON.stringify(results));
    assert.ok(gone.logs.some((line) => line.level === 'warn' && line.message.includes('history')), 'a warning about the history');
    assert.equal((await gone.end(await gone.create('explain'))).reason, 'no_workspace');
    workspace('vanishes');
    assert.equal((await gone.end(await gone.create('explain'))).to, 'done');
    await gone.close();
  });
  // No file may grow beyond that many KiB, and the signal that says so is passed over, as a full disk does.
  const limited = (kilobytes) => ['bash', '-c', `trap "" XFSZ; ulimit -f ${kilobytes}; exec "$@"`, 'bash'];
  await step('a disk that is full from the start', async () => {
    const full = new Session(workspace('full'), [], limited(2));
    await full.initialize();
    await full.request('config.update', settings);
    for (const scene of ['look', 'explain']) assert.equal((await full.end(await full.create(scene))).to, 'done');
    assert.ok(full.logs.some((line) => line.level === 'warn' && line.message.includes('the history of tasks ends with this process')),
      JSON.stringify(full.logs));
    assert.ok((await full.request('health.ping', {})).ok);
    assert.equal((await full.request('task.list', {})).tasks.length, 2);
    await full.close();
    const named = new Session(workspace('full-named'), ['--data-dir', path.join(folder, 'full-data')], limited(2));
    await named.initialize();
    await named.request('config.update', settings);
    assert.equal((await named.end(await named.create('explain'))).reason, 'internal_error');
    await named.close();
  });
  await step('a disk that fills up', async () => {
    const filling = new Session(workspace('filling'), [], limited(200));
    await filling.initialize();
    await filling.request('config.update', settings);
    assert.equal((await filling.end(await filling.create('explain'))).to, 'done');
    let last;
    for (let tries = 0; tries < 200 && last?.to !== 'failed'; tries += 1) last = await filling.end(await filling.create('look'));
    assert.equal(last.reason, 'internal_error');
    assert.ok((await filling.request('health.ping', {})).ok);
    await filling.close();
  });
  await step('a client that reads no more', async () => {
    const deaf = new Session(root);
    await deaf.initialize();
    deaf.child.stdout.destroy();
    // The answer has nowhere to go, which is how the service finds out.
    deaf.request('task.list', {}).catch(() => {});
    const late = new Promise((resolve) => setTimeout(() => resolve({ code: 'none within 3 s' }), 3000));
    const { code } = await Promise.race([deaf.exited, late]);
    assert.equal(code, 0);
  });
  for (const signal of ['SIGTERM', 'SIGINT']) {
    await step(`${signal} leaves no child`, async () => {
      const doomed = new Session(workspace(signal));
      await doomed.initialize();
      await doomed.request('config.update', settings);
      const id = await doomed.create('sleeper', { allowedTools: ['shell'] });
      const { approvalId } = await doomed.until(id, (event) => event.type === 'approval_required');
      await doomed.request('task.approve', { taskId: id, approvalId, scope: 'once' });
      for (let tries = 0; processes('sleep 9876').length < 3 && tries < 100; tries += 1) await new Promise((done) => setTimeout(done, 50));
      assert.ok(processes('sleep 98762').length >= 1);
      const begin = Date.now();
      doomed.child.kill(signal);
      const { code } = await doomed.exited;
      assert.equal(code, 0);
      assert.ok(Date.now() - begin < 1700, `the end took ${Date.now() - begin} ms`);
      assert.deepEqual(processes('sleep 9876'), []);
      assert.equal((await doomed.end(id)).to, 'cancelled');
    });
  }
  for (const method of Object.keys(schema.methods)) assert.ok(Session.methods.has(method), `no answer of ${method}`);
  const types = schema.$defs.TaskEvent.oneOf.map((variant) => variant.properties.type.const);
  for (const type of types) assert.ok(Session.events.has(type), `no event ${type}`);
  const reasons = ['budget:maxIterations', 'budget:maxToolCalls', 'budget:maxTokens', 'budget:wallClockMs', 'loop_detected',
    'model_unavailable', 'verification_rejected', 'verification_blocked', 'no_check_command', 'no_workspace', 'internal_error',
    ...['auth', 'rate_limit', 'context_length', 'bad_request', 'server', 'network', 'timeout', 'unknown'].map((kind) => `model_error:${kind}`)];
  for (const reason of reasons) assert.ok(Session.reasons.has(reason), `no failure ${reason}`);
  assert.ok(Session.all.every((one) => !one.log.includes('sk-of-the-session')), 'a secret in the log');
  assert.deepEqual(problems, []);
  console.log(`ok  ${Session.methods.size} methods, ${Session.events.size} event types, ${Session.reasons.size} failure reasons`);
} finally {
  Session.all.forEach((session) => session.child.kill('SIGKILL'));
  server.closeAllConnections();
  server.close();
  fs.rmSync(folder, { recursive: true, force: true });
}
process.exit(problems.length ? 1 : 0);
