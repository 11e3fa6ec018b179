// What the gateway is compared with, and what is behind all of them, each as a process of its own: node peers.mjs NAME
import { createPublicKey } from 'node:crypto'
import { Agent, createServer, request } from 'node:http'
import jwt from 'jsonwebtoken'

const { JWKS = '{"keys":[]}', PORT, UPSTREAM } = process.env
const keys = new Map(
  JSON.parse(JWKS).keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]),
)
const known = new Map()

/** True if an `Authorization` header has a good token; such a token is remembered until it expires. */
function isAuthorized(authorization = '') {
  const expires = known.get(authorization)
  if (expires !== undefined && expires > Date.now()) return true
  try {
    const token = authorization.slice('Bearer '.length)
    const key = keys.get(jwt.decode(token, { complete: true })?.header.kid)
    const { exp } = jwt.verify(token, key, { algorithms: ['ES256'] })
    known.set(authorization, exp * 1000)
    return true
  } catch {
    return false
  }
}

function serve(handler) {
  const server = createServer(handler)
  server.keepAliveTimeout = 65_000
  server.listen(Number(PORT), '127.0.0.1')
}

const guarded = (handler) => (req, res) =>
  isAuthorized(req.headers.authorization) ? handler(req, res) : void res.writeHead(401).end()

const PEERS = {
  /** Answers everything at once with the same 250 bytes. */
  upstream() {
    const head = '{"data":[],"next":null,"padding":"'
    const body = `${head}${'x'.repeat(250 - head.length - 2)}"}`
    serve((req, res) => {
      req.resume()
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
      res.end(body)
    })
  },
  /** What nginx asks by auth_request. */
  tokenCheck() {
    serve((req, res) => void res.writeHead(isAuthorized(req.headers.authorization) ? 204 : 401).end())
  },
  bare() {
    const { hostname, port } = new URL(UPSTREAM)
    const agent = new Agent({ keepAlive: true, maxSockets: 512 })
    serve(
      guarded((req, res) => {
        const { method, url: path, headers } = req
        const sent = request({ hostname, port, method, path, headers, agent }, (answer) => {
          res.writeHead(answer.statusCode, answer.headers)
          answer.pipe(res)
        })
        sent.on('error', () => res.destroy())
        req.pipe(sent)
      }),
    )
  },
  async fastify() {
    const [{ default: fastify }, { default: proxy }] = [
      await import('fastify'),
      await import('@fastify/http-proxy'),
    ]
    const app = fastify()
    await app.register(proxy, {
      upstream: UPSTREAM,
      undici: { connections: 128, pipelining: 1 },
      preHandler: async (req, reply) => {
        if (!isAuthorized(req.headers.authorization)) await reply.code(401).send()
      },
    })
    await app.listen({ port: Number(PORT), host: '127.0.0.1' })
  },
  async undici() {
    const { Pool } = await import('undici')
    const pool = new Pool(UPSTREAM, { connections: 128, pipelining: 1 })
    const dropped = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'expect'])
    serve(
      guarded((req, res) => {
        const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !dropped.has(name)))
        const body = req.method === 'GET' || req.method === 'HEAD' ? null : req
        pool
          .stream({ path: req.url, method: req.method, headers, body }, ({ statusCode, headers }) => {
            delete headers.connection
            delete headers['keep-alive']
            res.writeHead(statusCode, headers)
            return res
          })
          .catch(() => res.destroy())
      }),
    )
  },
}
await PEERS[process.argv[2]]()
