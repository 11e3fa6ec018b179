// What nginx asks by auth_request.
import { createServer } from 'node:http'
import { isAuthorized } from './check-token.mjs'

const server = createServer((req, res) => {
  res.writeHead(isAuthorized(req.headers.authorization) ? 204 : 401).end()
})
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT), '127.0.0.1')
