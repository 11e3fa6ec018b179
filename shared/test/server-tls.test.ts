import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, connect as connectPlain } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, expect, test } from '@jest/globals'
import { eventually, listen, makeServiceKeys } from '@parley/local/testing/service-under-test'
import { createAuthority, mountFiles, type TestAuthority } from '@parley/local/testing/test-authority'
import { Registry } from 'prom-client'
import { serveMetrics } from '../src/metrics-server.ts'
import { openServerTls } from '../src/server-tls.ts'
import { recordedLog } from './recorded-log.ts'

const HOST = '127.0.0.1'
const RELOAD_MS = 20
let authority: TestAuthority
const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const end of opened.splice(0).toReversed()) await end()
})
beforeAll(async () => {
  authority = await createAuthority()
})

const answer: RequestListener = (_req, res) => void res.end('served')

/** A server over TLS whose certificate is in files that can be replaced. */
async function startServer() {
  const files = mountFiles(await authority.issue(HOST))
  const { log, warnings } = recordedLog()
  const settings = { TLS_CERT_FILE: files.paths.cert, TLS_KEY_FILE: files.paths.key }
  const tls = await openServerTls(settings, { log, pauseMs: RELOAD_MS })
  const listening = await listen(answer, tls)
  const port = Number(new URL(listening.url).port)
  opened.push(async () => {
    await listening.close()
    await tls?.close()
  })
  return { files, warnings, port }
}

async function open(port: number): Promise<TLSSocket> {
  const socket = connect({ host: HOST, port, ca: authority.cert })
  opened.push(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** Sends one more request over a connection, and returns the response. */
async function ask(socket: TLSSocket, path = '/'): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  const [response] = await once(socket, 'data')
  return String(response)
}

async function serialOf(port: number): Promise<string> {
  const socket = await open(port)
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

test('with a certificate the server speaks TLS, and ends a connection that does not', async () => {
  const { port } = await startServer()
  const socket = await open(port)
  expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(await ask(socket)).toMatch(/served$/)
  socket.destroy()
  const plain = connectPlain(port, HOST)
  plain.end(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  expect(await text(plain)).not.toContain('HTTP/1.1')
})

test('metrics are served with the same certificate', async () => {
  const { paths } = mountFiles(await authority.issue(HOST))
  const settings = { TLS_CERT_FILE: paths.cert, TLS_KEY_FILE: paths.key }
  const tls = await openServerTls(settings, recordedLog())
  const server = await serveMetrics(new Registry(), { host: HOST, port: 0, tls })
  opened.push(() => Promise.all([tls?.close(), server.close()]))
  const socket = await open((server.address() as AddressInfo).port)
  expect(await ask(socket, '/metrics')).toMatch(/^HTTP\/1\.1 200 OK/)
})

test('new connections get a certificate that has replaced the one before, and open ones go on', async () => {
  const { files, port, warnings } = await startServer()
  const before = await serialOf(port)
  const socket = await open(port)
  await ask(socket)
  files.replace(await authority.issue(HOST))
  await eventually(async () => ((await serialOf(port)) === before ? undefined : true))
  expect(await ask(socket)).toContain('served')
  expect(warnings).toEqual([])
})

test('files that are no certificate and its key change nothing, are logged once, and may be repaired', async () => {
  const { files, port, warnings } = await startServer()
  const before = await serialOf(port)
  const [one, other] = [await authority.issue(HOST), await authority.issue(HOST)]
  files.replace({ cert: one.cert, key: other.key })
  await eventually(() => warnings.length > 0)
  files.replace({ cert: 'nothing', key: one.key })
  await eventually(() => warnings.length > 1)
  expect(await serialOf(port)).toBe(before)
  files.replace(one)
  await eventually(async () => ((await serialOf(port)) === before ? undefined : true))
  expect(warnings.map(({ reason }) => reason)).toEqual([
    'TLS_KEY_FILE: is not the key of the certificate in TLS_CERT_FILE',
    'TLS_CERT_FILE: has no certificate in PEM',
  ])
})

test('wrong settings and files are refused at the start, each with what is wrong', async () => {
  const [one, other] = [await authority.issue(HOST), await authority.issue(HOST)]
  const broken = one.cert.replace(/\n.{8}/, '\nAAAAAAAA')
  const { paths } = mountFiles({ ...one, other: other.key, none: 'nothing', broken })
  const mistakes = [
    [{ TLS_CERT_FILE: paths.cert }, 'TLS_CERT_FILE and TLS_KEY_FILE: set both, or neither'],
    [{ TLS_KEY_FILE: paths.key }, 'TLS_CERT_FILE and TLS_KEY_FILE: set both, or neither'],
    [{ TLS_CERT_FILE: '/nowhere', TLS_KEY_FILE: paths.key }, 'TLS_CERT_FILE: can not be read (ENOENT)'],
    [{ TLS_CERT_FILE: paths.cert, TLS_KEY_FILE: '/nowhere' }, 'TLS_KEY_FILE: can not be read (ENOENT)'],
    [{ TLS_CERT_FILE: paths.none, TLS_KEY_FILE: paths.key }, 'TLS_CERT_FILE: has no certificate in PEM'],
    [
      { TLS_CERT_FILE: paths.broken, TLS_KEY_FILE: paths.key },
      'TLS_CERT_FILE: has a certificate that can not be read',
    ],
    [
      { TLS_CERT_FILE: paths.cert, TLS_KEY_FILE: paths.none },
      'TLS_KEY_FILE: has no private key in PEM without a passphrase',
    ],
    [
      { TLS_CERT_FILE: paths.cert, TLS_KEY_FILE: paths.other },
      'TLS_KEY_FILE: is not the key of the certificate in TLS_CERT_FILE',
    ],
  ] as const
  const { log } = recordedLog()
  for (const [settings, mistake] of mistakes)
    await expect(
      openServerTls({ TLS_CERT_FILE: undefined, TLS_KEY_FILE: undefined, ...settings }, { log }),
    ).rejects.toThrow(`The configuration is wrong:\n  ${mistake}`)
})

/** A process as `serve` runs it. */
function startProcess(environment: Record<string, string>) {
  const keys = makeServiceKeys()
  const child = spawn(process.execPath, [fileURLToPath(new URL('streaming-service.ts', import.meta.url))], {
    env: {
      ...process.env,
      ...{ NODE_ENV: 'test', HOST, PORT: '0', LOG_LEVEL: 'info', METRICS_PORT: '0' },
      SERVICE_KEY: JSON.stringify(keys.own.webhook),
      SERVICE_JWKS: JSON.stringify(keys.jwks),
      ...environment,
    },
  })
  opened.push(() => child.kill('SIGKILL'))
  const running = { child, output: '', ended: once(child, 'exit') }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      running.output += part
    })
  return running
}

test('a process serves with the files that its environment names, and does not start with wrong ones', async () => {
  const { paths } = mountFiles(await authority.issue(HOST))
  const running = startProcess({ TLS_CERT_FILE: paths.cert, TLS_KEY_FILE: paths.key })
  const port = await eventually(() => /"port":(\d+)/.exec(running.output)?.[1])
  const socket = await open(Number(port))
  expect(await ask(socket)).toMatch(/^HTTP\/1\.1 404/)
  socket.destroy()
  running.child.kill('SIGTERM')
  expect(await running.ended).toEqual([0, null])
  const wrong = startProcess({ TLS_CERT_FILE: paths.cert })
  expect(await wrong.ended).toEqual([1, null])
  expect(wrong.output).toBe(
    'The configuration is wrong:\n  TLS_CERT_FILE and TLS_KEY_FILE: set both, or neither\n',
  )
})
