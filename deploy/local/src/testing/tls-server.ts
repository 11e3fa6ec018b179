import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { generate } from 'selfsigned'
import { freshDirectory } from './test-servers.ts'

interface TlsServer {
  port: number
  /** The parameters of a URL that name the files to reach it with: `cacertfile=…&certfile=…&keyfile=…`. */
  files: string
  close(): Promise<void>
}

/** Ends TLS in front of a server of this machine, for `localhost` only and for those who show its certificate. */
export async function startTlsServer(target: { host: string; port: number }): Promise<TlsServer> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  })
  const sockets = new Set<Socket>()
  const server = createServer(
    { key, cert, ca: cert, requestCert: true, rejectUnauthorized: true },
    (incoming) => {
      const outgoing = connect(target)
      for (const [from, to] of [
        [incoming, outgoing],
        [outgoing, incoming],
      ] as const) {
        sockets.add(from)
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
        from.pipe(to)
      }
    },
  )
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    files: filesOf({ key, cert }),
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function filesOf({ key, cert }: { key: string; cert: string }): string {
  const directory = freshDirectory('tls')
  const file = (name: string, text: string) => {
    const path = join(directory, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const certificate = file('cert.pem', cert)
  return new URLSearchParams({
    cacertfile: certificate,
    certfile: certificate,
    keyfile: file('key.pem', key),
  }).toString()
}
