import { createServer } from 'node:http'

/** Answers everything at once with the same 250 bytes. */
const head = '{"data":[],"next":null,"padding":"'
const body = `${head}${'x'.repeat(250 - head.length - 2)}"}`
const server = createServer((req, res) => {
  req.resume()
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  res.end(body)
})
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT), '127.0.0.1')
