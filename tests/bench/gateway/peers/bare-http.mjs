import { Agent, createServer, request } from 'node:http'
import { isAuthorized } from './check-token.mjs'

const { hostname, port } = new URL(process.env.UPSTREAM)
const agent = new Agent({ keepAlive: true, maxSockets: 512 })
const server = createServer((req, res) => {
  if (!isAuthorized(req.headers.authorization)) return void res.writeHead(401).end()
  const { method, url: path, headers } = req
  const sent = request({ hostname, port, method, path, headers, agent }, (answer) => {
    res.writeHead(answer.statusCode, answer.headers)
    answer.pipe(res)
  })
  sent.on('error', () => res.destroy())
  req.pipe(sent)
})
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT), '127.0.0.1')
