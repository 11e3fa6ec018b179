// The gateway beside other ways to put a token check in front of a service, each alone on a core.
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from '@parley/local/servers/apt'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { asFastAsPossible, atRate, inTurns, type Load, requestBytes } from '../../lab/load/http-lines.ts'
import { median, report, reportComparison, shown } from '../../lab/report/results.ts'
import { leaveLastCore, listening, onLastCore, outputOf } from '../../lab/system/processes.ts'
import { startServiceProcesses } from '../../lab/system/service-processes.ts'
import { registerWorkspace } from '../../lab/system/workspace.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(4).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 512 }).default(64).describe('Requests under way at a time'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
  RATE: integer({ min: 1, max: 20_000 }).default(1_000).describe('Requests a second of the latency rows'),
})
const { DURATION, CONNECTIONS, RUNS, RATE } = parseConfig(size, process.env)
const PACKAGES = ['fastify@5.12.8', '@fastify/http-proxy@11.6.3', 'undici@8.12.4', 'jsonwebtoken@9.0.3']
const NGINX_PORT = 18_435
const PATH = '/rest/jobs'
const NGINX = '/usr/sbin/nginx'

/** The servers that the gateway is compared with, by the names of their rows. */
const PEERS = {
  nginx: { title: 'nginx auth_request with a Node token check', reach: { least: 0.9 } },
  fastify: { title: '@fastify/http-proxy, tokens cached', reach: { least: 1 } },
  bare: { title: 'bare http.request, tokens cached', reach: { least: 0.8 } },
  undici: { title: 'undici Pool.stream, tokens cached' },
} as const
type Ports = Record<'gateway' | 'upstream' | keyof typeof PEERS, number>

leaveLastCore()
const system = await startServiceProcesses({ name: 'gateway' })
try {
  await measure(await startAll())
} finally {
  await system.stop()
}

/** Everything that is compared, ready; answers with where it is, and a bearer token that all of them take. */
async function startAll(): Promise<{ token: string; ports: Ports }> {
  const { directory } = system
  const install = ['install', '--prefix', directory, '--no-audit', '--no-fund', '--silent', ...PACKAGES]
  await outputOf('npm', install, {})
  const script = join(directory, 'peers.mjs')
  cpSync(join(import.meta.dirname, 'peers.mjs'), script)
  const upstream = await system.runListening(script, {}, { args: ['upstream'] })
  const identity = await system.startService('identity')
  const urls = ['WEBHOOK', 'CONFIGURATION', 'DISPATCHER'].map((name) => [`${name}_URL`, upstream.url])
  const gateway = await system.startService(
    'gateway',
    { IDENTITY_URL: identity.url, ...Object.fromEntries(urls) },
    { pinned: true },
  )
  const { token } = await registerWorkspace(gateway.url, 'bench')
  const JWKS = await (await fetch(`${identity.url}/.well-known/jwks.json`)).text()
  const startPeer = async (name: string) => {
    const running = { pinned: true, args: [name] }
    return (await system.runListening(script, { JWKS, UPSTREAM: upstream.url }, running)).port
  }
  const [command, args] = await nginxCommand({
    ...{ directory, port: NGINX_PORT, upstreamPort: upstream.port },
    tokenCheckPort: await startPeer('tokenCheck'),
  })
  system.runCommand(...onLastCore(args, command), {})
  await listening(`http://127.0.0.1:${NGINX_PORT}`)
  const ports = { gateway: gateway.port, upstream: upstream.port, nginx: NGINX_PORT }
  const [fastify, bare, undici] = [
    await startPeer('fastify'),
    await startPeer('bare'),
    await startPeer('undici'),
  ]
  return { token, ports: { ...ports, fastify, bare, undici } }
}

async function measure({ token, ports }: { token: string; ports: Ports }): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const request = inTurns([requestBytes({ method: 'GET', path: PATH, headers })])
  const names = ['gateway', 'nginx', 'fastify', 'bare', 'undici'] as const
  const perSecond = new Map<string, number[]>(names.map((name) => [name, []]))
  for (let turn = -1; turn < RUNS; turn++) {
    for (const name of names) {
      const until = performance.now() + DURATION * 1_000
      const goesOn = () => performance.now() < until
      const load = { port: ports[name], connections: CONNECTIONS, request, goesOn }
      const measured = requireAll(name, await asFastAsPossible(load))
      // The first turn warms up.
      if (turn >= 0) perSecond.get(name)?.push(measured.perSecond)
    }
  }
  const ours = perSecond.get('gateway') ?? []
  for (const [name, { title, ...aim }] of Object.entries(PEERS))
    reportComparison({
      row: `gateway, one core, beside ${title}`,
      ...{ ours, others: perSecond.get(name) ?? [], unit: '/s', ...aim },
    })
  console.table(
    Object.fromEntries(
      [...perSecond].map(([name, values]) => [
        name,
        { 'requests/s': shown(values, { unit: '/s' }), runs: values.map(Math.round).join(' ') },
      ]),
    ),
  )
  await latency(request, ports)
}

/** Measures the latency that the gateway adds to the upstream alone, both at the same steady rate. */
async function latency(request: ReturnType<typeof inTurns>, ports: Ports): Promise<void> {
  const at = async (name: 'gateway' | 'upstream') =>
    requireAll(
      name,
      await atRate({ port: ports[name], connections: CONNECTIONS, request, rate: RATE, seconds: DURATION }),
    )
  const rows: { gateway: Load; upstream: Load }[] = []
  for (let turn = 0; turn < RUNS; turn++)
    rows.push({ upstream: await at('upstream'), gateway: await at('gateway') })
  for (const part of ['p50', 'p99'] as const) {
    const added = rows.map(({ gateway, upstream }) => gateway[part] - upstream[part])
    const ms = (name: 'gateway' | 'upstream') => `${median(rows.map((row) => row[name][part])).toFixed(2)} ms`
    report({
      row: `gateway, ${part} added at ${RATE}/s, in ms`,
      parley: ms('gateway'),
      against: `upstream alone ${ms('upstream')}`,
      ratio: median(added),
      spread: [Math.min(...added), Math.max(...added)],
      ...(part === 'p50' ? { reach: { most: 0.6 } } : {}),
    })
    console.log(`${part} at ${RATE}/s: ${ms('gateway')} through the gateway, ${ms('upstream')} without`)
  }
}

function requireAll(name: string, load: Load): Load {
  if (load.failures > 0) throw new Error(`${name} failed ${load.failures} requests`)
  return load
}

/** Installs nginx where it is missing, and returns what runs it in the foreground with this set-up. */
async function nginxCommand(options: {
  directory: string
  port: number
  upstreamPort: number
  tokenCheckPort: number
}): Promise<[command: string, args: string[]]> {
  const { port, upstreamPort, tokenCheckPort } = options
  const directory = join(options.directory, 'nginx')
  if (!existsSync(NGINX)) {
    const { signal } = new AbortController()
    await installPackages(['nginx-light'], {
      directory: options.directory,
      ports: {},
      say: console.error,
      signal,
    })
  }
  mkdirSync(directory)
  writeFileSync(
    join(directory, 'nginx.conf'),
    `daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  keepalive_requests 100000000;
  upstream service { server 127.0.0.1:${upstreamPort}; keepalive 128; keepalive_requests 100000000; }
  upstream check { server 127.0.0.1:${tokenCheckPort}; keepalive 128; keepalive_requests 100000000; }
  limit_req_zone $http_authorization zone=token:10m rate=1000000r/s;
  server {
    listen 127.0.0.1:${port};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / {
      limit_req zone=token burst=1000000 nodelay;
      auth_request /check;
      proxy_pass http://service;
    }
    location = /check {
      internal;
      proxy_pass http://check;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
    }
  }
}
`,
  )
  return [NGINX, ['-c', join(directory, 'nginx.conf')]]
}
