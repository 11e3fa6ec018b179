import { createServer } from 'node:http'
import { Pool } from 'undici'
import { isAuthorized } from './check-token.mjs'

const pool = new Pool(process.env.UPSTREAM, { connections: 128, pipelining: 1 })
const DROPPED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'expect'])
const server = createServer((req, res) => {
  if (!isAuthorized(req.headers.authorization)) return void res.writeHead(401).end()
  const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !DROPPED.has(name)))
  const body = req.method === 'GET' || req.method === 'HEAD' ? null : req
  pool
    .stream({ path: req.url, method: req.method, headers, body }, ({ statusCode, headers }) => {
      delete headers.connection
      delete headers['keep-alive']
      res.writeHead(statusCode, headers)
      return res
    })
    .catch(() => res.destroy())
})
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT), '127.0.0.1')
